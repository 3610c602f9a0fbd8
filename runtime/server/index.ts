// The page, the metrics and the health of a running site.
export { createLiveView } from './live-view.ts';
export { createSiteMetrics } from './metrics.ts';
export { openSiteServer } from './site-server.ts';

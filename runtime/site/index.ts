// Sites: many cameras in one process, as one file describes them.
export { checkClasses } from './check-classes.ts';
export { checkReview } from './check-review.ts';
export { ClipFolder } from './clips/clip-folder.ts';
export { diffSite, type SiteChange } from './diff-site.ts';
export { createDriftMonitor, type DriftMonitor } from './drift/drift-monitor.ts';
export type { CameraState, ReviewReason, SiteEvent, SiteObject } from './events.ts';
export { readSite, type SiteFile } from './read-site.ts';
export { type RunSiteOptions, runSite, type SiteControl, type SiteSink } from './run-site.ts';
export {
  createEventsFile,
  createMqttSink,
  createReviewSets,
  createSnapshots,
  createWebhook,
  type ResultObserver,
} from './sinks/index.ts';
export type { Site, SiteCamera } from './site.ts';

// The page of a site, as it is sent to a browser: nothing from elsewhere, no build step.
export { PAGE_HTML } from './html.ts';
export { PAGE_SCRIPT } from './script.ts';
export { PAGE_STYLE } from './style.ts';

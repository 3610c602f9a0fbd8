// Where a site's events and pictures go.
export { createEventsFile } from './events-file.ts';
export { createMqttSink } from './mqtt/mqtt-sink.ts';
export type { ResultObserver } from './object-pictures.ts';
export { createReviewSets } from './review-set.ts';
export { createSnapshots } from './snapshots.ts';
export { createWebhook } from './webhook.ts';

// What a site file asks for besides cameras: where its events and pictures go.
import {
  createEventsFile,
  createMqttSink,
  createReviewSets,
  createSnapshots,
  createWebhook,
  type ResultObserver,
  type Site,
  type SiteControl,
  type SiteSink,
} from '#runtime/site';
import { say } from './output.ts';

export interface SiteParts {
  readonly sinks: readonly SiteSink[];
  /** See every result while its picture is there. */
  readonly observers: readonly ResultObserver[];
  /** To be called when the site starts. */
  start(control: SiteControl): void;
  close(): Promise<void>;
}

/**
 * @param classNames of the model
 * @throws ConfigError, DataError where a place cannot be written or an address is none
 */
export function openSiteParts(site: Site, classNames: readonly string[]): SiteParts {
  const { events, mqtt, webhook, snapshots, cameras } = site;
  let running: SiteControl | undefined;
  const messages =
    mqtt &&
    createMqttSink({
      mqtt,
      classNames,
      watchesDrift: site.drift !== undefined,
      keepsClips: site.clips !== undefined,
      onNotice: say,
    });
  const sinks = [
    ...(events ? [createEventsFile({ ...events, onNotice: say })] : []),
    ...(messages ? [messages] : []),
    ...(webhook ? [createWebhook({ ...webhook, onNotice: say })] : []),
  ];
  const observers = [
    ...(snapshots ? [createSnapshots({ ...snapshots, onNotice: say })] : []),
    ...(cameras.some(({ review }) => review?.folder !== undefined)
      ? [createReviewSets({ classNames, cameras, camera: (name) => running?.camera(name), onNotice: say })]
      : []),
  ];
  return {
    sinks,
    observers,
    start(control) {
      running = control;
      messages?.start(control);
    },
    async close() {
      await Promise.all(observers.map((observer) => observer.close()));
    },
  };
}

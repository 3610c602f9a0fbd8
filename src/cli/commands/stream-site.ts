// `edge-detect stream config=site.yaml`: every camera of a site until it is told to stop.
import { ConfigError } from '#core';
import type { OpenDetector } from '#runtime';
import { createLiveView, createSiteMetrics, openSiteServer } from '#runtime/server';
import {
  checkClasses,
  createEventsFile,
  readSite,
  runSite,
  type Site,
  type SiteControl,
  type SiteEvent,
  type SiteFile,
  type SiteSink,
} from '#runtime/site';
import { type Config, readConfig } from '../config.ts';
import { openConfiguredDetector } from '../open.ts';
import { OPTIONS } from '../options.ts';
import { say } from '../output.ts';
import { packageVersion } from '../package-version.ts';
import { watchSite } from '../watch-site.ts';

/** What may stand beside `config=`: everything else is said in the file. */
const BESIDE = ['config', 'verbose', 'ort_library', 'provider_options', 'ffmpeg'];

export async function streamSite(config: Config, signal: AbortSignal): Promise<void> {
  refuseOthers(config);
  const path = config.required('config');
  const file = await readSite(path);
  const { site } = file;
  const detector = await openConfiguredDetector(detectorConfig(site, config));
  const view = createLiveView();
  const metrics = createSiteMetrics(packageVersion());
  const sinks: SiteSink[] = [metrics, { accept: sayEvent, close: async () => undefined }];
  let stopWatching = () => {};
  try {
    checkClasses(file, detector.classNames);
    expectSameScore(file, detector);
    if (site.events !== undefined) sinks.push(createEventsFile({ ...site.events, onNotice: say }));
    await runSite(site, {
      detector,
      sinks,
      signal,
      async onStart(control) {
        metrics.watch(control);
        await openServer(site, { control, metrics, view }, sinks);
        stopWatching = watchSite(path, site, { control, classNames: detector.classNames });
        say(`${path}: ${site.cameras.length} cameras; Ctrl-C stops them`);
      },
      onResult(camera, result) {
        metrics.observe(camera, result);
        view.observe(camera, result);
      },
    });
  } finally {
    stopWatching();
    await detector.close();
  }
  signal.throwIfAborted();
}

function refuseOthers(config: Config): void {
  const other = OPTIONS.find(
    ({ key, commands }) =>
      commands.includes('stream') &&
      !BESIDE.includes(key) &&
      (config.text(key) ?? config.number(key) ?? config.flag(key) ?? config.size(key)) !== undefined,
  );
  if (other === undefined && config.classConf.size === 0) return;
  throw new ConfigError(`${other?.key ?? 'conf'}= does not go together with config=`, {
    hint: 'say it in the site file, or leave config= away',
  });
}

/** Thresholds chosen on one kind of score mean nothing on the other. */
function expectSameScore({ path, score }: SiteFile, { model }: OpenDetector): void {
  const has = model.calibrator === undefined ? 'raw' : 'calibrated';
  if (score === undefined || score === has) return;
  throw new ConfigError(
    `${path}: its thresholds file holds for ${score} scores, and the model gives ${has} ones`,
    {
      hint: 'write the thresholds again with `compare` or `val` on this model',
    },
  );
}

/** The words with which a command line would open the same model. */
function detectorConfig(site: Site, config: Config): Config {
  const { model, device, sessions, threads, iou, suppression } = site;
  const words: readonly (readonly [string, string | number | undefined])[] = [
    ['model', model],
    ['device', device],
    ['sessions', sessions],
    ['threads', threads],
    ['iou', iou ?? suppression?.iou],
    ['nms', suppression?.suppression.kind],
    ['agnostic_nms', suppression && String(suppression.agnostic)],
    ['ort_library', config.text('ort_library')],
    ['provider_options', config.list('provider_options')?.join(',')],
    ['verbose', config.flag('verbose') === true ? 'True' : undefined],
  ];
  const given = words.flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as const]));
  return readConfig('stream', new Map(given), []);
}

async function openServer(
  { server, snapshots }: Site,
  parts: {
    readonly control: SiteControl;
    readonly metrics: ReturnType<typeof createSiteMetrics>;
    readonly view: ReturnType<typeof createLiveView>;
  },
  sinks: SiteSink[],
): Promise<void> {
  if (server === undefined) return;
  const open = await openSiteServer({
    ...server,
    ...parts,
    ...(snapshots && { snapshots: snapshots.folder }),
  });
  sinks.push(open);
  say(`page: ${open.url}`);
}

/** What an operator reads on the terminal or in the journal: states, not every object. */
function sayEvent(event: SiteEvent): void {
  if (event.kind === 'camera')
    say(`${event.camera}: ${event.state}${event.reason ? ` (${event.reason})` : ''}`);
  else if (event.kind === 'light')
    say(`${event.camera}: light ${event.before ? `${event.before} to ` : ''}${event.state}`);
  else if (event.kind === 'notice') say(`${event.camera}: ${event.message}`);
}

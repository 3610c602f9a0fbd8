// `edge-detect stream config=site.yaml`: every camera of a site until it is told to stop.
import { ConfigError } from '#core';
import { locateFfmpeg, type OpenDetector } from '#runtime';
import { createLiveView, createSiteMetrics, openSiteServer } from '#runtime/server';
import {
  ClipFolder,
  checkClasses,
  checkReview,
  createDriftMonitor,
  type DriftMonitor,
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
import { openSiteParts, type SiteParts } from '../site-parts.ts';
import { watchSite } from '../watch-site.ts';

/** What may stand beside `config=`: everything else is said in the file. */
const BESIDE = ['config', 'verbose', 'ort_library', 'provider_options', 'ffmpeg'];

export async function streamSite(config: Config, signal: AbortSignal): Promise<void> {
  refuseOthers(config);
  const path = config.required('config');
  const file = await readSite(path);
  const { site } = file;
  // Laws of scores are there in any case: a changed file may ask for them (`review.bimodal`).
  const detector = await openConfiguredDetector(detectorConfig(site, config), { scoreLaws: true });
  const view = createLiveView();
  const metrics = createSiteMetrics(packageVersion());
  const sinks: SiteSink[] = [metrics, { accept: sayEvent, close: async () => undefined }];
  let stopWatching = () => {};
  let parts: SiteParts | undefined;
  let drift: DriftMonitor | undefined;
  try {
    checkClasses(file, detector.classNames);
    checkReview(file, detector.capabilities);
    expectSameScore(file, detector);
    parts = openSiteParts(site, detector.classNames);
    sinks.push(...parts.sinks);
    if (site.drift !== undefined) {
      const modelSha256 = detector.model.file.sha256;
      drift = createDriftMonitor({ ...site.drift, modelSha256, onEvent: tellAll(sinks), onNotice: say });
    }
    const ffmpegPath = config.text('ffmpeg');
    const source = ffmpegPath !== undefined && { ffmpeg: await locateFfmpeg({ ffmpeg: ffmpegPath }) };
    const clips = site.clips && new ClipFolder({ ...site.clips, ...source, onNotice: say });
    await runSite(site, {
      ...(source && { source }),
      ...(clips && { clips }),
      detector,
      sinks,
      signal,
      async onStart(control) {
        metrics.watch(control);
        drift?.watch(control);
        parts?.start(control);
        await openServer(site, { control, metrics, view }, sinks);
        const { classNames, capabilities } = detector;
        stopWatching = watchSite(path, site, { control, classNames, capabilities });
        say(`${path}: ${site.cameras.length} cameras; Ctrl-C stops them`);
      },
      onResult(camera, result, objects) {
        drift?.observe(camera, result, objects);
        metrics.observe(camera, result);
        view.observe(camera, result);
        for (const observer of parts?.observers ?? []) observer.observe(camera, result, objects);
      },
    });
  } finally {
    stopWatching();
    await parts?.close();
    await drift?.close();
    await detector.close();
  }
  signal.throwIfAborted();
}

function tellAll(sinks: readonly SiteSink[]): (event: SiteEvent) => void {
  return (event) => {
    for (const sink of sinks) sink.accept(event);
  };
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
  { server, snapshots, clips }: Site,
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
    ...(clips && { clips: clips.folder }),
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
  else if (event.kind === 'drift') say(`${event.camera}: ${driftWords(event)}`);
  else if (event.kind === 'notice') say(`${event.camera}: ${event.message}`);
}

function driftWords(event: Extract<SiteEvent, { kind: 'drift' }>): string {
  const { measure, light, state, change, w1, w1Expected, psi, psiExpected, tracks } = event;
  const what = measure === 'std' ? 'standard deviations of scores' : 'scores';
  const by = light === undefined ? '' : ` by ${light}`;
  const way = state === 'begins' ? 'have left' : 'are back at';
  const figures = `W1 ${w1} (by chance ${w1Expected}), PSI ${psi} (${psiExpected})`;
  return `${what}${by} ${way} what was learned: ${change < 0 ? '' : '+'}${change} on average, ${figures}, ${tracks} tracks`;
}

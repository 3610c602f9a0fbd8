// One model over two clips without labels: frames predicted and tracked, blocks of time compared.
import { describeRun, openPredictor, type PredictOptions, type RanWith } from '../predict.ts';
import { clipNames, pairedByTime, planClips, type ReadClip, readClip } from './clip-frames.ts';
import { type CompareOptions, compareSlices } from './compare.ts';
import type { CompareContext, CompareRequest, ModelComparison } from './compare-model.ts';
import { inChosenOrder } from './slice-rules.ts';

export interface CompareClipsRequest extends Pick<CompareRequest, 'model' | 'reference' | 'predict'> {
  /** Files of videos. */
  readonly clips: readonly [first: string, second: string];
  /** `time`: the clips show one scene at the same time, counted from their first frames. Default: nothing is paired. */
  readonly pairs?: 'time';
  /** Every n-th frame of both. Default: as many as are held at once, at equal steps of time. */
  readonly stride?: number;
  /** `timeBlocks` says how long a block is. */
  readonly options?: CompareOptions;
}

/** Boxes below count in no figure of unlabelled slices, and are not held. */
const LEAST_SCORE = 0.05;

/**
 * @throws what `openSource` does for a clip that cannot be read; DataError where no frame comes, or with `pairs` the
 * sizes differ; ConfigError for one clip twice; ModelError where the file is no detector known here; the reason of the
 * signal
 */
export async function compareClips(
  { model, clips, pairs, stride, reference, predict = {}, options = {} }: CompareClipsRequest,
  context: CompareContext = {},
): Promise<ModelComparison> {
  const names = clipNames(...clips);
  const chosen = { ...(reference !== undefined && { reference }) };
  // Before the clips are read: a word that is wrong should not cost the whole run.
  inChosenOrder(
    names.map((name) => ({ name, pictures: [] })),
    chosen,
  );
  const plan = await planClips(clips, stride);
  const { read, classNames, ran } = await readClips({ model, clips, names, predict }, plan, context);
  const slices = inChosenOrder(pairs === 'time' ? pairedByTime(read) : read, chosen);
  const report = compareSlices(
    slices,
    { model: classNames },
    { ...options, timeBlocks: options.timeBlocks ?? {} },
  );
  return {
    ranWith: ran,
    classNames,
    source: clips.join(', '),
    rule: 'clips',
    reference: slices[0]?.name ?? '',
    report,
    remarks: remarksOf(read, plan, { report, pairs }),
    options,
  };
}

async function readClips(
  {
    model,
    clips,
    names,
    predict,
  }: {
    readonly model: string;
    readonly clips: readonly [string, string];
    readonly names: readonly [string, string];
    readonly predict: PredictOptions;
  },
  { strides, frames }: Awaited<ReturnType<typeof planClips>>,
  { signal, onPicture }: CompareContext,
): Promise<{ read: [ReadClip, ReadClip]; classNames: readonly string[]; ran: RanWith }> {
  const detector = await openPredictor(model, { ...predict, conf: predict.conf ?? LEAST_SCORE });
  try {
    let done = 0;
    const onFrame = () => {
      done++;
      onPicture?.('predicted', done, Math.max(done, frames ?? 0));
    };
    const one = (place: 0 | 1, firstTrackId: number) =>
      readClip(detector, clips[place], {
        name: names[place],
        stride: strides[place],
        firstTrackId,
        onFrame,
        ...(signal && { signal }),
      });
    const first = await one(0, 0);
    const second = await one(1, first.lastTrackId);
    return { read: [first, second], classNames: detector.classNames, ran: describeRun(model, detector) };
  } finally {
    await detector.close();
  }
}

function remarksOf(
  read: readonly [ReadClip, ReadClip],
  { strides }: Awaited<ReturnType<typeof planClips>>,
  { report, pairs }: { readonly report: ModelComparison['report']; readonly pairs: 'time' | undefined },
): string[] {
  const { timeBlocks } = report.convention;
  const blocks = report.slices.map(({ name, blocks: count }) => `${count} of ${name}`).join(' and ');
  const from =
    timeBlocks?.chosenBy === 'stated'
      ? 'as stated'
      : 'from the autocorrelation of scores and numbers of boxes; block_seconds= states another';
  const taken = read.map(({ name }, place) =>
    strides[place] === 1 ? `every frame of ${name}` : `every ${strides[place]}th frame of ${name}`,
  );
  const [untracked] = read.filter(({ tracked }) => !tracked);
  return [
    `frames of a clip resemble each other: whole blocks of ${timeBlocks?.seconds.toFixed(2)} s or more are drawn and exchanged (${from}): ${blocks}`,
    `${taken.join(' and ')}; boxes from a score of ${LEAST_SCORE} on; both clips count as of one camera`,
    pairs === 'time'
      ? 'frames are paired by their time since the first: right only where both clips show the same scene at the same time'
      : 'nothing is paired, so the traffic may differ as well as the light; pairs=time is for clips of the same moments',
    ...(untracked === undefined
      ? []
      : [`no tracks, so no flicker: ${untracked.step.toFixed(2)} s lie between frames`]),
    ...(untracked === undefined && Math.abs(read[0].step - read[1].step) > 0.05 * read[0].step
      ? [
          `frames lie ${read.map(({ name, step }) => `${step.toFixed(3)} s apart in ${name}`).join(', ')}: flicker from frame to frame is not the same in both`,
        ]
      : []),
    ...read.flatMap(({ oddities }) => oddities),
  ];
}

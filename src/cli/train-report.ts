// What a person reads while a training goes on: one line per epoch, and a bar where a person looks at it.
import type { RunEvent, StartFacts } from '#training';
import { print, say } from './output.ts';
import { createProgressBar } from './progress-bar.ts';

export interface TrainingReport {
  tell(event: RunEvent): void;
  stop(): void;
}

const HEADER =
  '  epoch     time      box      cls      dfl  quality        P        R    mAP50 mAP50-95   LaECE0';

export function startTrainingReport(): TrainingReport {
  const bar = createProgressBar();
  return {
    stop: () => bar.stop(),
    tell(event) {
      switch (event.type) {
        case 'note':
          bar.stop();
          say(event.text);
          break;
        case 'caching':
          bar.show('features of the frozen part', event.done, event.total, 'pictures');
          break;
        case 'started':
          bar.stop();
          for (const line of startLines(event.facts)) say(line);
          say(HEADER);
          break;
        case 'step':
          bar.show(`epoch ${event.epoch + 1}`, event.stepOfEpoch, event.stepsPerEpoch, 'steps');
          break;
        case 'skipped':
          bar.stop();
          say(`step ${event.step} skipped: its loss or gradient was not finite (${event.names.join(', ')})`);
          break;
        case 'epoch':
          break;
        case 'saved':
          bar.stop();
          say(epochLine(event.row, event.isKept ? event.isBest : undefined));
          break;
        case 'stopped':
          if (event.reason === 'patience')
            say(`no better result for some time: ended after epoch ${event.epoch + 1} (patience=)`);
          break;
        case 'finished':
          bar.stop();
          say(`results in ${event.files.folder}; run the best with:`);
          say(`  edge-detect stream model=${event.files.bestPath} source=…`);
          print(event.files.bestPath);
          break;
        default:
          event satisfies never;
      }
    },
  };
}

function startLines({ headed: { spec, freeze }, ...facts }: StartFacts): string[] {
  const { width, height } = spec.input;
  const classes =
    facts.classNames.length === 1
      ? 'one class, so no class branch and no BS-GRA'
      : `${facts.classNames.length} classes`;
  return [
    `${facts.training} training and ${facts.validation} validation pictures, ${classes}: ${facts.classNames.join(', ')}`,
    `head: ${spec.bins} bins of quality, box ${spec.boxCode.kind}, input ${width}x${height}, freeze=${freeze}: ${facts.parameterCount} values train`,
    ...(facts.epochsDone > 0 ? [`resumed after epoch ${facts.epochsDone}`] : []),
  ];
}

/** @param isBest undefined where the epoch is not kept */
function epochLine(row: Readonly<Record<string, number>>, isBest: boolean | undefined): string {
  const cell = (key: string, digits: number) => (row[key]?.toFixed(digits) ?? '-').padStart(9);
  return [
    String(row['epoch'] ?? '').padStart(7),
    `${(row['time'] ?? 0).toFixed(0)} s`.padStart(9),
    cell('train/box_loss', 3),
    cell('train/cls_loss', 3),
    cell('train/dfl_loss', 3),
    cell('train/quality_loss', 3),
    cell('metrics/precision(B)', 3),
    cell('metrics/recall(B)', 3),
    cell('metrics/mAP50(B)', 3),
    cell('metrics/mAP50-95(B)', 3),
    cell('metrics/LaECE0', 3),
    isBest === undefined ? ' not finite: not kept' : isBest ? ' best' : '',
  ].join('');
}

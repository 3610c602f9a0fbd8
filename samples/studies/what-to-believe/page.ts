// The page that says what to believe: the verdicts of all studies as they stand in their committed results.
import type { StudyFile, StudyOption, StudyVerdict } from '../common/study-file.ts';
import { markdownTable } from '../common/table.ts';

/** The notes first, in their order; studies that are not named follow by name. */
const ORDER = ['brier-weights', 'score-distributions', 'logit-range'];
const LAST = 'whole-chain';

const HEAD = `# What to believe

What the three source notes claim, and what this project claims of itself: measured with the product's own code, under several
seeds, on cameras that nothing was fitted to. A claim that does not hold is said here, and the default follows the evidence.

This page is written by \`node dist/samples/studies/what-to-believe/main.js\` from the committed \`results.json\` of the studies
(\`samples/studies\`); a test holds it to them, and the options named here to the defaults of the program. Change neither by hand.
`;

/** Deterministic: the same results give the same page. */
export function believePage(files: readonly StudyFile[]): string {
  const ordered = [...files].sort((a, b) => rank(a) - rank(b) || (a.study < b.study ? -1 : 1));
  const judged = ordered.filter(({ verdicts }) => verdicts.length > 0);
  const overview = judged.flatMap(({ study, verdicts }) =>
    verdicts.map((one) => [
      cell(one.claim),
      cell(one.source),
      `**${one.verdict}**`,
      cell(chosenText(one)),
      `[${study}](#${study})`,
    ]),
  );
  const head = ['claim', 'source', 'verdict', 'default chosen', 'measured by'];
  return [HEAD, `${countLine(judged)}\n`, `${markdownTable(head, overview)}\n`, ...judged.map(section)].join(
    '\n',
  );
}

function rank({ study }: StudyFile): number {
  if (study === LAST) return ORDER.length + 1;
  const place = ORDER.indexOf(study);
  return place < 0 ? ORDER.length : place;
}

const COUNTED = [
  ['holds', 'hold'],
  ['holds in part', 'hold in part'],
  ['does not hold', 'do not hold'],
  ['not measured', 'could not be measured'],
] as const satisfies readonly (readonly [StudyVerdict['verdict'], string])[];

function countLine(files: readonly StudyFile[]): string {
  const all = files.flatMap(({ verdicts }) => verdicts);
  const counts = COUNTED.map(
    ([verdict, words]) => `${all.filter((one) => one.verdict === verdict).length} ${words}`,
  );
  return `Of ${all.length} claims: ${counts.join(', ')}.`;
}

function section({ study, question, data, setting, interval, verdicts, cost }: StudyFile): string {
  const where = data.map(({ name, host, weaker }) =>
    [name, ...(host ? [`host ${host}`] : []), ...(weaker ? [weaker] : [])].join(', '),
  );
  const results = `samples/studies/${study}/results.json`;
  const seeds = setting['seeds'];
  const repeated =
    seeds === undefined ? 'no seeds: nothing is trained' : `${seeds} ${seeds === 1 ? 'seed' : 'seeds'}`;
  const rows = verdicts.map(({ claim, because }) => [cell(claim), cell(because)]);
  return [
    `## ${study}\n`,
    `${question}\n`,
    `\`\`\`sh\nnode dist/samples/studies/${study}/main.js check=${results}\n\`\`\`\n`,
    `${repeated}; ${where.join('; ')}; ${Math.ceil(cost.cpuSeconds / 60)} minutes of CPU.`,
    `Intervals: ${interval}.\n`,
    `${markdownTable(['claim', 'what was measured'], rows)}\n`,
  ].join('\n');
}

function chosenText({ default: chosen, options = [] }: StudyVerdict): string {
  if (options.length === 0) return chosen;
  return `${chosen} (${options.map(optionText).join(', ')})`;
}

function optionText({ command, key, value }: StudyOption): string {
  if (value === 'not set') return `\`${command}\`: \`${key}\` not set`;
  const word = typeof value === 'boolean' ? (value ? 'True' : 'False') : String(value);
  return `\`${command} ${key}=${word}\``;
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').trim();
}

// Tables of the study of the night: one per host and target precision, and the thresholds that were chosen.
import { cameraTitle } from '../common/study-data.ts';
import {
  figureRow,
  type StudyColumn,
  type StudyRow,
  type StudyTable,
  seedRow,
} from '../common/study-file.ts';
import { ALL_CAMERAS, type NightResult, type NightRow, type TargetResult } from './measure.ts';

const COLUMNS: readonly StudyColumn[] = [
  { figure: 'pictures', title: 'pictures', digits: 0 },
  { figure: 'objects', title: 'objects', digits: 0 },
  { figure: 'recall', title: 'recall, own' },
  { figure: 'fixedRecall', title: 'fixed' },
  { figure: 'recallGain', title: 'gain', plot: 'recall at night, own minus fixed; above 0: better' },
  { figure: 'precision', title: 'precision, own' },
  { figure: 'fixedPrecision', title: 'fixed' },
  {
    figure: 'precisionGain',
    title: 'difference',
    plot: 'precision at night, own minus fixed; above 0: better',
  },
  { figure: 'allLightRecallGain', title: 'all light: recall' },
  { figure: 'allLightPrecisionGain', title: 'all light: precision' },
];

const THRESHOLD_COLUMNS: readonly StudyColumn[] = [
  { figure: 'night', title: 'of the night', digits: 2 },
  { figure: 'fixed', title: 'fixed', digits: 2 },
];

export function nightTables(
  results: readonly NightResult[],
  night: string,
): { readonly tables: readonly StudyTable[]; readonly rows: readonly StudyRow[] } {
  const parts = results.flatMap(({ host, targets }) => [
    ...targets.map((target) => targetTable(host, target)),
    thresholdTable(host, targets, night),
  ]);
  return { tables: parts.map(({ table }) => table), rows: parts.flatMap(({ rows }) => rows) };
}

interface Part {
  readonly table: StudyTable;
  readonly rows: readonly StudyRow[];
}

function targetTable(host: string, { precision, halves, rows }: TargetResult): Part {
  const table = `precision ${precision}, ${host}`;
  const usable = halves.filter(({ fixed }) => fixed !== undefined).length;
  return {
    table: {
      table,
      title: `${host}, thresholds for a precision of ${precision}`,
      section: host,
      text: `Night pictures of the halves on which nothing was chosen; ${usable} of ${halves.length} halves have a fixed threshold that reaches the target, the others are left out. Last two columns: own minus fixed in all light.`,
      columns: COLUMNS,
    },
    rows: rows.flatMap((row) => rowFigures(table, row)),
  };
}

function rowFigures(table: string, { camera, pictures, objects, night, allLight }: NightRow) {
  const row = camera === ALL_CAMERAS ? 'all cameras' : cameraTitle(camera);
  const at = (figure: string) => ({ table, row, figure });
  return [
    seedRow(at('pictures'), [pictures]),
    seedRow(at('objects'), [objects]),
    figureRow(at('recall'), night.recall),
    figureRow(at('fixedRecall'), night.plainRecall),
    figureRow(at('recallGain'), night.recallGain),
    figureRow(at('precision'), night.precision),
    figureRow(at('fixedPrecision'), night.plainPrecision),
    figureRow(at('precisionGain'), night.precisionGain),
    figureRow(at('allLightRecallGain'), allLight.recallGain),
    figureRow(at('allLightPrecisionGain'), allLight.precisionGain),
  ];
}

function thresholdTable(host: string, targets: readonly TargetResult[], night: string): Part {
  const table = `thresholds, ${host}`;
  const rows = targets.flatMap(({ precision, halves }) =>
    halves.flatMap(({ camera, half, fixed, lights }) => {
      const at = (figure: string) => ({
        table,
        row: `${cameraTitle(camera)}, half ${half}`,
        series: `precision ${precision}`,
        figure,
      });
      return [seedRow(at('night'), [lights.get(night) ?? null]), seedRow(at('fixed'), [fixed ?? null])];
    }),
  );
  return {
    table: {
      table,
      title: `${host}, the thresholds`,
      section: host,
      folded: true,
      text: 'Chosen on the other half of the camera; – where none reaches the precision: the fixed one then holds at night, and a half without a fixed one is left out.',
      columns: THRESHOLD_COLUMNS,
    },
    rows,
  };
}

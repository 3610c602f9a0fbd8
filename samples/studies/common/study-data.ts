// Where a study takes its pictures from: named on the command line, or the real sets beside the project, or, where
// those are absent, our own sample world, which is weaker and says so.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LabelledPicture, loadDataset, nameGroup } from 'edge-detect/data';
import { planTakes } from '../../dataset/plan.ts';
import { writeDataset } from '../../dataset/write.ts';
import { say } from './output.ts';
import type { StudyDataNote } from './study-file.ts';

export interface StudyData extends StudyDataNote {
  /** data.yaml or the folder of the set. */
  readonly data: string;
  /** ONNX file of the host; '' for a study that takes none. */
  readonly model: string;
  /** Pictures that must not be on both sides of a split: those of one camera, or neighbours in a row of slides. */
  readonly groupOf: (picture: LabelledPicture) => string;
}

/** A real set that a study wants. */
export interface WantedData {
  /** Folder in `datasets/`. */
  readonly name: string;
  /** File in `models/`; absent: the pictures alone are looked at. */
  readonly host?: string;
  /** Default: what stands before the first `-` of the file name, the camera. */
  readonly groupOf?: StudyData['groupOf'];
}

export interface StudyDataRequest {
  /** Of the command line; a study that takes a model has both or none. */
  readonly data?: string;
  readonly model?: string;
  /** For what must be rendered; the caller removes it. */
  readonly scratch: string;
  /** Pictures of the sample world. */
  readonly worldPictures?: number;
}

const WEAKER_PICTURES = 'rendered by samples/dataset: this is weaker than real ones';
const WEAKER =
  'rendered by samples/dataset, with samples/model as host, which learned from the same kind of pictures: this is weaker than real ones';

/**
 * The named set; else those of the wanted ones that are there; else, with none of them, one of the sample world.
 */
export async function findStudyData(
  wanted: readonly WantedData[],
  { data, model, scratch, worldPictures = 210 }: StudyDataRequest,
): Promise<readonly StudyData[]> {
  if (data !== undefined) {
    const name = basename(data.endsWith('.yaml') ? dirname(data) : data);
    return [{ name, kind: 'given', ...hostOf(model), data, groupOf: nameGroup }];
  }
  const found = wanted.flatMap(({ name, host, groupOf = nameGroup }): StudyData[] => {
    const folder = join(realRoot(), 'datasets', name);
    const file = host === undefined ? undefined : join(realRoot(), 'models', host);
    if (!existsSync(folder) || (file !== undefined && !existsSync(file))) return [];
    return [{ name, kind: 'real', ...hostOf(file), data: folder, groupOf }];
  });
  if (found.length > 0) return found;
  if (wanted.length > 0) say('no real data beside the project');
  const world = await renderWorld(scratch, worldPictures);
  if (wanted.length === 0 || wanted.some(({ host }) => host !== undefined)) return [world];
  const { host: _, ...pictures } = world;
  return [{ ...pictures, ...hostOf(undefined), weaker: WEAKER_PICTURES }];
}

function hostOf(model: string | undefined): Pick<StudyData, 'host' | 'model'> {
  return model === undefined ? { model: '' } : { host: basename(model), model };
}

/** Pictures of all splits, each once. @throws DataError as `loadDataset` */
export async function loadAllPictures(data: string): Promise<{
  readonly classNames: readonly string[];
  readonly pictures: readonly LabelledPicture[];
}> {
  const { classNames, splits } = await loadDataset(data);
  const unique = new Map(
    Object.values(splits).flatMap((split) => split.map((picture) => [picture.path, picture])),
  );
  return { classNames, pictures: [...unique.values()] };
}

/** Name of a group of pictures in a table: some are called `camera7000`, some `2703`. */
export function cameraTitle(group: string): string {
  return group.startsWith('camera') ? group : `camera ${group}`;
}

/** The folder that the project's files lie in, of the sources and of what is built of them. */
export function projectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

function realRoot(): string {
  return process.env['EDGE_DETECT_TEST_DATA'] ?? join(projectRoot(), '..', 'shared', 'data');
}

const WORLD = { cameras: 7, size: { width: 320, height: 192 }, seed: 7 };

async function renderWorld(scratch: string, pictures: number): Promise<StudyData> {
  const folder = join(scratch, 'world');
  say(`${pictures} pictures of the sample world are rendered`);
  await writeDataset(folder, planTakes({ ...WORLD, pictures }), () => undefined);
  await nameByCamera(folder);
  return {
    name: `sample world, ${pictures} pictures`,
    kind: 'sample world',
    host: 'edge-n-street.onnx',
    weaker: WEAKER,
    data: join(folder, 'data.yaml'),
    model: join(projectRoot(), 'samples', 'model', 'edge-n-street.onnx'),
    groupOf: nameGroup,
  };
}

/** `camera7000_dusk_…` becomes `camera7000-dusk_…`: a study asks for the camera before the first `-`. */
async function nameByCamera(folder: string): Promise<void> {
  for (const kind of ['images', 'labels']) {
    for (const split of ['train', 'val', 'test']) {
      const place = join(folder, kind, split);
      await mkdir(place, { recursive: true });
      for (const name of await readdir(place))
        await rename(join(place, name), join(place, name.replace('_', '-')));
    }
  }
}

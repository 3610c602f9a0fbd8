// The metadata key `edge_detect` of our own models: versioned JSON.
import type { PreprocessContract } from '#core';
import { ModelError } from '#core';
import { type CompactQuality, isCompactQuality } from '../heads/quality-form.ts';
import type { HeadCuts, HeadSpec } from '../heads/types.ts';
import type { ModelMetadata } from '../metadata.ts';

export const OWN_FORMAT_VERSION = 1;

/** What is needed to train a model of ours again. */
export interface OwnHead {
  readonly spec: HeadSpec;
  readonly cuts: HeadCuts;
}

export interface OwnFormat {
  readonly version: number;
  readonly classes?: readonly string[];
  readonly preprocess?: PreprocessContract;
  /**
   * Only of exported models without a head of ours. True: outputs `boxes`, `scores`, optional `box_var`, decoded in the
   * graph. False: the outputs of the source, which are recognised as those of any model.
   */
  readonly decoded?: boolean;
  /** Absent in models that were not written by training. */
  readonly head?: OwnHead;
  /** The form that an export gave the quality; absent where it is the law that was trained. */
  readonly quality?: CompactQuality;
  /** The outputs are rows of six for DeepStream; what is known of them stands in a second output. */
  readonly rows?: OwnRows;
}

/** Output `output[B, N, 6]`, and `uncertainty[B, N, 5]` where anything is known. */
export interface OwnRows {
  /** Whether the network has suppressed them itself. */
  readonly suppressed: boolean;
  /** What the columns of the second output know. */
  readonly known: readonly ('score' | 'box')[];
}

/**
 * @returns undefined for models that are not ours
 * @throws ModelError when the JSON is broken or of a newer version
 */
export function ownFormat({ edgeDetect }: ModelMetadata): OwnFormat | undefined {
  if (edgeDetect === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(edgeDetect);
  } catch (cause) {
    throw new ModelError('the metadata key edge_detect is no JSON', {
      hint: 'export the model again',
      cause,
    });
  }
  if (!isRecord(value) || typeof value['version'] !== 'number') {
    throw new ModelError('the metadata key edge_detect has no version', { hint: 'export the model again' });
  }
  const { version } = value;
  if (version > OWN_FORMAT_VERSION) {
    throw new ModelError(
      `the model is of edge-detect format ${version}; this program knows up to ${OWN_FORMAT_VERSION}`,
      { hint: 'update edge-detect' },
    );
  }
  const classes = value['classes'];
  const preprocess = value['preprocess'];
  return {
    version,
    ...(isNames(classes) ? { classes } : {}),
    ...(preprocess === undefined ? {} : { preprocess: contractOf(preprocess) }),
    ...(typeof value['decoded'] === 'boolean' ? { decoded: value['decoded'] } : {}),
    ...rowsOf(value['rows']),
    ...headOf(value),
    ...qualityOf(value['head']),
  };
}

/** Other tools may write a smaller `head`; one that names its levels must be whole. */
function headOf({ head, cuts, classes, preprocess }: Readonly<Record<string, unknown>>) {
  if (!isRecord(head) || !Array.isArray(head['levels'])) return {};
  const whole =
    isRecord(cuts) &&
    isNames(cuts['towers']) &&
    Array.isArray(cuts['levels']) &&
    cuts['levels'].length === head['levels'].length &&
    cuts['levels'].every(
      (level) => isRecord(level) && isText(level['classTower']) && isText(level['boxTower']),
    ) &&
    head['levels'].every((level) => isRecord(level) && isText(level['quality']) && isText(level['box'])) &&
    ['bins', 'locations', 'adapter', 'dropout'].every((key) => typeof head[key] === 'number') &&
    ['input', 'boxCode'].every((key) => isRecord(head[key])) &&
    isText(head['classLaw']) &&
    isNames(classes);
  if (!whole) {
    throw new ModelError('the description of the head in the metadata key edge_detect is incomplete', {
      hint: 'train the model again from its host',
    });
  }
  return { head: { spec: { ...head, classNames: classes, preprocess }, cuts } as unknown as OwnHead };
}

function qualityOf(head: unknown): { readonly quality?: CompactQuality } {
  const form = isRecord(head) ? head['quality'] : undefined;
  return isCompactQuality(form) ? { quality: form } : {};
}

function rowsOf(value: unknown): { readonly rows?: OwnRows } {
  if (!isRecord(value)) return {};
  const { suppressed, known } = value;
  const names = isNames(known) ? known : [];
  return {
    rows: {
      suppressed: suppressed === true,
      known: (['score', 'box'] as const).filter((part) => names.includes(part)),
    },
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function contractOf(value: unknown): PreprocessContract {
  const fit = isRecord(value) ? value['fit'] : undefined;
  const valid =
    isRecord(value) &&
    isRecord(fit) &&
    (fit['mode'] === 'letterbox' || fit['mode'] === 'stretch') &&
    (fit['align'] === 'center' || fit['align'] === 'top-left') &&
    typeof fit['enlarge'] === 'boolean' &&
    (value['channels'] === 'rgb' || value['channels'] === 'bgr') &&
    isTriple(value['mean']) &&
    isTriple(value['std']) &&
    value['std'].every((std) => std !== 0) &&
    typeof value['pad'] === 'number';
  if (!valid) {
    throw new ModelError('the preprocessing contract in the metadata key edge_detect is incomplete', {
      hint: 'expected fit {mode, align, enlarge}, channels, mean [3], std [3] and pad; export the model again',
    });
  }
  return value as unknown as PreprocessContract;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isTriple(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length === 3 && value.every(Number.isFinite);
}

// What is known of a board or a class of GPUs before one has it at hand. Every figure names its source.

/** The name of a JetPack row in `jetpacks.ts`. */
export type JetPackId = '4.6' | '5.1' | '6.0' | '6.2' | '7.1' | '7.2';

export interface DeviceProfile {
  /** As `profile=` takes it. */
  readonly id: string;
  readonly name: string;
  readonly kind: 'jetson' | 'workstation';
  /** Other spellings of the id. */
  readonly aliases?: readonly string[];
  readonly architecture: string;
  /** CUDA's `sm` numbers: 87 for compute capability 8.7. */
  readonly computeCapabilities: readonly number[];
  /** As the last entry of the device tree's `compatible` says it. */
  readonly soc?: string;
  /** Part numbers of the modules, as the device tree's `compatible` contains them. */
  readonly modules?: readonly string[];
  /** Names of GPUs of this class, as the driver writes them. */
  readonly gpuNames?: RegExp;
  /** Versions that the module is sold with; shared by CPU and GPU on a Jetson. */
  readonly memoryGib?: readonly number[];
  /** Accelerators for whole networks; `probe` where sources disagree or none was found. */
  readonly dlaCores: number | 'probe';
  /** Hardware video encoder. */
  readonly nvenc: 'yes' | 'no' | 'probe';
  /** JetPacks that fit, the recommended one first. */
  readonly jetpacks?: readonly JetPackId[];
  readonly recommended: Recommendation;
  /** Empty: no published figure was found. */
  readonly speeds: readonly PublishedSpeed[];
  /** Where the facts above come from. */
  readonly sources: readonly string[];
}

export interface Recommendation {
  readonly precision: 'fp32' | 'fp16';
  /** Input size in pixels, square. */
  readonly imgsz: number;
  readonly why: string;
}

export interface PublishedSpeed {
  /** With its size in pixels. */
  readonly model: string;
  readonly precision: 'fp32' | 'fp16' | 'int8' | 'cpu';
  readonly framesPerSecond: number;
  /** The network alone, or camera to result. */
  readonly of: 'network' | 'pipeline';
  readonly source: string;
}

export interface JetPack {
  readonly id: JetPackId;
  /** L4T releases, least to most: `36.4` covers 36.4 and 36.4.3. */
  readonly l4t: readonly string[];
  readonly ubuntu: string;
  readonly cuda: string;
  readonly tensorrt: string;
  /** Versions of ONNX Runtime whose GPU builds exist for it. */
  readonly onnxRuntime: string;
  readonly recipe: LibraryRecipe;
  readonly notes: readonly string[];
  readonly sources: readonly string[];
}

/** Where a libonnxruntime.so with CUDA and TensorRT comes from. */
export type LibraryRecipe =
  | { readonly kind: 'none'; readonly why: string; readonly instead: readonly string[] }
  | {
      readonly kind: 'wheel' | 'image' | 'build';
      readonly what: string;
      readonly commands: readonly string[];
    };

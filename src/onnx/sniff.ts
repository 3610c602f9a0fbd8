// What a file that was given as a model really is. People rename files, and downloads turn out to be web pages.

export interface Foreign {
  /** `a PyTorch checkpoint`, fits "is ...". */
  readonly what: string;
  readonly hint: string;
}

/**
 * @param bytes the beginning of the file, a few kB suffice
 * @returns undefined where the file may well be ONNX
 */
export function sniffForeign(path: string, bytes: Uint8Array): Foreign | undefined {
  return byContent(path, bytes) ?? byName(path);
}

function byContent(path: string, bytes: Uint8Array): Foreign | undefined {
  const head = latin1(bytes.subarray(0, 4096));
  const text = head.replace(/^\xEF\xBB\xBF/, '').trimStart();
  if (head.startsWith('PK\x03\x04')) return archive(path, head);
  // Pickles before PyTorch 1.6: opcode PROTO with a version.
  if (bytes[0] === 0x80 && (bytes[1] ?? 99) <= 5) return pytorch(path);
  if (text.startsWith('version https://git-lfs')) {
    return { what: 'a Git LFS pointer, not the model itself', hint: 'run `git lfs pull` in its repository' };
  }
  if (/^<(!doctype html|html|head|body)/i.test(text)) {
    return {
      what: 'a web page (HTML), probably a failed download',
      hint: 'download the file again with its direct (raw) address',
    };
  }
  if (/^<(\?xml|net)/i.test(text)) return openvino();
  if (head.startsWith('TFL3', 4)) return tflite();
  if (head.startsWith('ORTM', 4)) {
    return { what: 'a model in ORT format', hint: 'give the .onnx file that it was made from' };
  }
  if (head.startsWith('ftrt') || head.startsWith('ptrt')) return engine();
  if (head.startsWith('\x89HDF')) {
    return {
      what: 'an HDF5 file (Keras weights)',
      hint: 'convert it with tf2onnx: python -m tf2onnx.convert',
    };
  }
  if (head.startsWith('\x89PNG') || head.startsWith('\xFF\xD8\xFF')) {
    return { what: 'a picture', hint: 'give the picture as source= and an .onnx file as model=' };
  }
  return undefined;
}

function byName(path: string): Foreign | undefined {
  const ending = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  switch (ending) {
    case 'pt':
    case 'pth':
    case 'ckpt':
      return pytorch(path);
    case 'engine':
    case 'trt':
    case 'plan':
      return engine();
    case 'tflite':
      return tflite();
    case 'xml':
    case 'bin':
      return openvino();
    default:
      return undefined;
  }
}

function archive(path: string, head: string): Foreign {
  if (/\.(onnx|pt|pth|ckpt)$/i.test(path) || /data\.pkl|archive\//.test(head)) return pytorch(path);
  return { what: 'a ZIP archive', hint: 'unpack it and give the .onnx file in it' };
}

function pytorch(path: string): Foreign {
  return {
    what: 'a PyTorch checkpoint, not an ONNX file',
    hint: `export it first: yolo export model=${path} format=onnx`,
  };
}

function engine(): Foreign {
  return {
    what: 'a TensorRT engine, which only runs on the board and TensorRT version that built it',
    hint: 'give the .onnx file that the engine was built from',
  };
}

function tflite(): Foreign {
  return {
    what: 'a TFLite model',
    hint: 'export the detector as ONNX instead: yolo export model=<file>.pt format=onnx',
  };
}

function openvino(): Foreign {
  return {
    what: 'an OpenVINO model (XML and .bin)',
    hint: 'export the detector as ONNX instead: yolo export model=<file>.pt format=onnx',
  };
}

function latin1(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

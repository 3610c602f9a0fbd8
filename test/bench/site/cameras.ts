// Cameras for measurements of a site: RTSP servers that copy encoded clips, so that they cost next to nothing.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RtspServer } from '../../support/rtsp-server.ts';

export const SAMPLES = fileURLToPath(new URL('../../../../samples/', import.meta.url));
const CLIPS = ['day', 'dusk', 'night'] as const;
/** Other shapes than those of the clips, so that the picture has to be scaled anew. */
const OTHER_SIZES = ['480:480', '320:240'] as const;
const FRAMES_PER_SECOND = 5;

export interface CameraClips {
  /** ffmpeg's input for a camera of that place in the row. */
  of(index: number): readonly string[];
  /** The same place, seen in another size. */
  resized(index: number, turn: number): readonly string[];
}

/** Encodes the sample clips once at 5 frames a second, a key frame a second. */
export function makeCameraClips(folder: string): CameraClips {
  const paths = new Map<string, string>();
  for (const clip of CLIPS) {
    for (const size of [undefined, ...OTHER_SIZES]) {
      const path = join(folder, `${clip}-${(size ?? 'own').replace(':', 'x')}.ts`);
      const filter = [`fps=${FRAMES_PER_SECOND}`, ...(size === undefined ? [] : [`scale=${size}`])].join(',');
      const codec = [
        '-c:v',
        'libx264',
        '-preset',
        'veryfast',
        '-crf',
        '20',
        '-pix_fmt',
        'yuv420p',
        '-bf',
        '0',
        '-g',
        '5',
      ];
      const words = [
        '-v',
        'error',
        '-y',
        '-i',
        join(SAMPLES, 'clips', `${clip}.mp4`),
        '-vf',
        filter,
        ...codec,
        path,
      ];
      const { status, stderr } = spawnSync('ffmpeg', words, { encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
      paths.set(`${clip} ${size}`, path);
    }
  }
  const looped = (index: number, size: string | undefined) => {
    const path = paths.get(`${CLIPS[index % CLIPS.length]} ${size}`);
    if (path === undefined) throw new Error(`no clip of ${size}`);
    return ['-re', '-stream_loop', '-1', '-i', path];
  };
  return {
    of: (index) => looped(index, undefined),
    resized: (index, turn) => looped(index, OTHER_SIZES[turn % OTHER_SIZES.length]),
  };
}

/** A camera that can go away and come back under its address. */
export class CameraStand {
  readonly name: string;
  /** How often it has shown another size. */
  resized = 0;
  readonly #input: readonly string[];
  #server: RtspServer;

  private constructor(name: string, input: readonly string[], server: RtspServer) {
    this.name = name;
    this.#input = input;
    this.#server = server;
  }

  static async start(name: string, input: readonly string[]): Promise<CameraStand> {
    return new CameraStand(name, input, await startServer(input));
  }

  get url(): string {
    return this.#server.url();
  }

  get server(): RtspServer {
    return this.#server;
  }

  /** Nothing listens on the port until the returned function is called. */
  async leave(): Promise<() => Promise<void>> {
    const { port } = this.#server;
    await this.#server.close();
    return async () => {
      this.#server = await startServer(this.#input, port);
    };
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

/** A transport stream can be looped without an encoder, and has its parameter sets before every key frame, as cameras do. */
function startServer(input: readonly string[], port?: number): Promise<RtspServer> {
  const codec = ['-an', '-c:v', 'copy'];
  return RtspServer.start({ input, codec, ...(port !== undefined && { port }) });
}

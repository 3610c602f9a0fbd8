// The encoded video of a live source beside its pictures, from the one connection that there is: many cameras allow few.

/** Takes the stream of each connection as fragmented MP4: `ftyp`, `moov`, then `moof` and `mdat` again and again. */
export interface StreamCopy {
  /** A connection begins; what came before it is over. @returns takes its bytes as they come */
  begin(): (chunk: Buffer) => void;
  /** There is nothing that could be copied; not called again. */
  refuse(reason: string): void;
}

/** Arguments behind `-map` that write such a stream. A fragment is a second at most, and begins at every key frame. */
export const COPY_ARGUMENTS: readonly string[] = [
  ...['-c', 'copy', '-f', 'mp4'],
  ...['-movflags', '+frag_keyframe+empty_moov+default_base_moof', '-frag_duration', '1000000'],
  ...['-flush_packets', '1'],
];

/** What ffmpeg says where MP4 cannot hold the stream: then it ends, pictures and all. */
export const NOT_COPIED = /not currently supported in container|Could not write header/i;

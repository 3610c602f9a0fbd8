// Knows a picture by its first bytes, for files whose names do not tell.

const STARTS = ['\u00ff\u00d8\u00ff', '\u0089PNG\r\n', 'GIF87a', 'GIF89a', 'II*\u0000', 'MM\u0000*'];

/** @param head the first 32 bytes or more of a file */
export function looksLikePicture(head: Uint8Array): boolean {
  const text = Buffer.from(head.subarray(0, 32)).toString('latin1');
  return (
    STARTS.some((start) => text.startsWith(start)) ||
    (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) ||
    text.startsWith('ftypavif', 4) ||
    text.startsWith('ftypavis', 4) ||
    // The 4 bytes after the BM and the sizes: the length of a second header, less than 256.
    (text.startsWith('BM') && (head[14] ?? 0) >= 40 && text.startsWith('\u0000\u0000\u0000', 15))
  );
}

// What kind of machine a Linux library is for, read from its first bytes: the loader's own words name neither side.
import { open } from 'node:fs/promises';

export interface LibraryKind {
  readonly bits: 32 | 64;
  /** As Node writes it (`x64`, `arm64`), or `machine 20`. */
  readonly arch: string;
}

const HEADER_BYTES = 20;

/** `e_machine` of the System V ABI. */
const MACHINES: Readonly<Record<number, string>> = {
  3: 'ia32',
  21: 'ppc64',
  22: 's390x',
  40: 'arm',
  62: 'x64',
  183: 'arm64',
  243: 'riscv64',
  258: 'loong64',
};

/**
 * @returns undefined where the file is no ELF file
 * @throws the system's error where it cannot be read
 */
export async function libraryKind(path: string): Promise<LibraryKind | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    if (bytesRead < HEADER_BYTES || buffer.toString('latin1', 0, 4) !== '\x7fELF') return undefined;
    const machine = buffer[5] === 2 ? buffer.readUInt16BE(18) : buffer.readUInt16LE(18);
    return { bits: buffer[4] === 1 ? 32 : 64, arch: MACHINES[machine] ?? `machine ${machine}` };
  } finally {
    await file.close();
  }
}

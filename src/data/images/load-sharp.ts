// sharp is loaded when the first picture needs it: a program that reads only video should not wait for it.
import type sharpFunction from 'sharp';
import { DeviceError } from '#core';

/** @throws DeviceError where sharp's own binaries were not installed: npm calls them optional */
export async function loadSharp(): Promise<typeof sharpFunction> {
  try {
    return (await import('sharp')).default;
  } catch (cause) {
    const [first = ''] = (cause instanceof Error ? cause.message : String(cause)).trim().split('\n');
    throw new DeviceError(`pictures cannot be read or drawn on: ${first}`, {
      hint: 'install again without --omit=optional: the binaries of sharp are optional packages',
      cause,
    });
  }
}

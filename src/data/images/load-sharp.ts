// sharp is loaded when the first picture needs it: a program that reads only video should not wait for it.
import type sharpFunction from 'sharp';

export async function loadSharp(): Promise<typeof sharpFunction> {
  return (await import('sharp')).default;
}

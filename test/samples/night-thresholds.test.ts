// The study of thresholds for the night: every light of a camera is shared out between its halves.
import { expect, it } from 'vitest';
import { halvesOf } from '../../samples/studies/night-thresholds/choose.ts';

it('shares every light of a camera out between its two halves, in the order of names', () => {
  const names = ['b-3', 'a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'b-1', 'b-2'];
  const slices = ['day', 'day', 'night', 'night', 'day', 'night', 'night', 'night'];
  const pictures = names.map((id) => ({ id, path: `images/${id}.jpg`, objects: [] }));
  const halves = halvesOf(
    names.map((name) => name.charAt(0)),
    { pictures, slices },
  );
  const named = [...halves].map(([camera, both]) => [
    camera,
    both.map((half) => half.map((at) => names[at])),
  ]);
  expect(named).toEqual([
    [
      'a',
      [
        ['a-1', 'a-2', 'a-5'],
        ['a-3', 'a-4'],
      ],
    ],
    ['b', [['b-1', 'b-3'], ['b-2']]],
  ]);
});

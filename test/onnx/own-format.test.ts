// The description of a head of ours in the metadata: whole, or refused; absent in models that training did not write.
import { describe, expect, it } from 'vitest';
import type { ModelProto } from '#onnx';
import { assembleDetector, buildDetector, ownFormat, readMetadata, standInQualityDetector } from '#onnx';

const written = assembleDetector(
  buildDetector({ size: 'n', input: { width: 64, height: 64 }, classNames: ['a', 'b'] }),
  new Map(),
);

function changed(change: (json: Record<string, unknown>) => void): ModelProto {
  const entry = written.metadataProps.find(({ key }) => key === 'edge_detect')!;
  const json = JSON.parse(entry.value) as Record<string, unknown>;
  change(json);
  const other = { ...entry, value: JSON.stringify(json) };
  return { ...written, metadataProps: [other] };
}

describe('the metadata of a model of ours', () => {
  it('holds what is needed to train it again', () => {
    const { head, classes } = ownFormat(readMetadata(written))!;
    expect(classes).toEqual(['a', 'b']);
    expect(head?.spec).toMatchObject({ bins: 10, classNames: ['a', 'b'], locations: 1, adapter: 48 });
    expect(head?.cuts.levels).toHaveLength(3);
  });

  it('may hold less in a model that training did not write', () => {
    const standIn = standInQualityDetector({ width: 64, height: 64 });
    expect(ownFormat(readMetadata(standIn))).not.toHaveProperty('head');
  });

  it.each(['cuts', 'classes'])('is refused where %s are missing', (key) => {
    const model = changed((json) => {
      delete json[key];
    });
    expect(() => ownFormat(readMetadata(model))).toThrow(/head .* incomplete/);
  });

  it.each(['boxCode', 'bins', 'classLaw', 'locations'])('is refused where the head lacks %s', (key) => {
    const model = changed(({ head }) => {
      delete (head as Record<string, unknown>)[key];
    });
    expect(() => ownFormat(readMetadata(model))).toThrow(/head .* incomplete/);
  });
});

// One input through two graphs, and what the runtime made of a graph.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelProto, serialize } from '#onnx';
import { openLocalSession } from '#runtime/local-session';

/** Every output of the graph, in its order. */
export async function run(
  model: ModelProto,
  data: Float32Array<ArrayBuffer>,
  profilePrefix?: string,
): Promise<readonly Float32Array[]> {
  const session = await openLocalSession(serialize(model), {
    provider: { kind: 'cpu' },
    threads: 1,
    ...(profilePrefix === undefined ? {} : { profilePrefix }),
  });
  const input = model.graph?.input[0];
  const tensorType = input?.type?.value.case === 'tensorType' ? input.type.value.value : undefined;
  const shape = (tensorType?.shape?.dim ?? []).map(({ value }) => Number(value.value));
  const outputs = await session.run(new Map([[input?.name ?? '', { shape, data }]]));
  await session.release();
  return [...outputs.values()].map(({ data: values }) => values);
}

/** Largest difference over all outputs. */
export async function difference(
  a: ModelProto,
  b: ModelProto,
  data: Float32Array<ArrayBuffer>,
): Promise<number> {
  const [left, right] = [await run(a, data), await run(b, data)];
  return Math.max(
    ...left.flatMap((values, place) =>
      Array.from(values, (value, index) => Math.abs(value - (right[place]?.[index] ?? Number.NaN))),
    ),
  );
}

/** Names of the operators that the runtime really ran, with how many inputs each had. */
export async function executed(
  model: ModelProto,
  data: Float32Array<ArrayBuffer>,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-detect-profile-'));
  try {
    await run(model, data, join(folder, 'run'));
    const [file = ''] = await readdir(folder);
    const events = JSON.parse(await readFile(join(folder, file), 'utf8')) as ProfileEvent[];
    const found = new Map<string, number[]>();
    for (const { name, args } of events) {
      if (args?.op_name === undefined || !name.endsWith('_kernel_time')) continue;
      const counts = found.get(args.op_name) ?? [];
      counts.push(args.input_type_shape?.length ?? 0);
      found.set(args.op_name, counts);
    }
    return found;
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface ProfileEvent {
  readonly name: string;
  readonly args?: { readonly op_name?: string; readonly input_type_shape?: readonly unknown[] };
}

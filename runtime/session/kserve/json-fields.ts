// Reads the JSON of a server field by field: what it answers is checked before it is believed.
import { type TensorDescription, TransportFault } from './transport.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseObject(body: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (cause) {
    const start = JSON.stringify(body.toString('utf8', 0, 40));
    throw new TransportFault('garbled', `the answer is no JSON, it begins with ${start}`, cause);
  }
  return objectAt(value, 'the answer');
}

export function objectAt(value: unknown, what: string): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new TransportFault('garbled', `${what} is no object in the answer`);
}

export function arrayAt(object: JsonObject, key: string): readonly unknown[] {
  const value = object[key];
  if (Array.isArray(value)) return value;
  throw new TransportFault('garbled', `${key} is no list in the answer`);
}

/** @returns an empty text where the key is absent, which the protocol allows */
export function stringAt(object: JsonObject, key: string): string {
  const value = object[key] ?? '';
  if (typeof value === 'string') return value;
  throw new TransportFault('garbled', `${key} is no text in the answer`);
}

/** @returns an empty list where the key is absent, which the protocol allows */
export function stringsAt(object: JsonObject, key: string): readonly string[] {
  return object[key] === undefined || object[key] === null ? [] : arrayAt(object, key).map(String);
}

export function integersAt(values: readonly unknown[], what: string): readonly number[] {
  return values.map((value) => {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new TransportFault('garbled', `${what} holds ${String(value)} in the answer`);
  });
}

export function tensorAt(value: unknown): TensorDescription {
  const object = objectAt(value, 'a tensor');
  return {
    name: stringAt(object, 'name'),
    datatype: stringAt(object, 'datatype'),
    shape: integersAt(arrayAt(object, 'shape'), 'shape'),
  };
}

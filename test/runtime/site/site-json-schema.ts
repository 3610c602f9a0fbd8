// The schema of the site file in the words of JSON Schema, which editors understand.
type Parts = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly wrapped?: Parts;
  readonly pipe?: readonly Parts[];
  readonly requirement?: unknown;
  readonly entries?: Readonly<Record<string, Parts>>;
  readonly rest?: Parts;
  readonly key?: Parts;
  readonly value?: Parts;
  readonly item?: Parts;
  readonly options?: readonly unknown[];
};
type Json = Readonly<Record<string, unknown>>;

/** A number or truth value may come from the environment. */
const FROM_ENVIRONMENT = { type: 'string', pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}' };

/** @param schema of valibot, made of the kinds that `site-schema.ts` uses; any other throws */
export function toJsonSchema(schema: object): Json {
  const top = convert(schema as Parts);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Site of edge-detect',
    ...top,
    patternProperties: { '^x-': { description: 'Left alone: a place for anchors.' } },
  };
}

function convert(schema: Parts): Json {
  if (schema.wrapped !== undefined) return convert(schema.wrapped);
  const actions = (schema.pipe ?? []).slice(1);
  // An action such as `description` may stand around a pipe of its own.
  const inner = schema.pipe?.[0]?.pipe === undefined ? base(schema) : convert(schema.pipe[0]);
  const bounds = Object.assign({}, ...actions.map(bound)) as Json;
  const { description, ...rest } = bounds;
  const exact = { ...inner, ...rest };
  const isScalar = exact['type'] === 'number' || exact['type'] === 'integer' || exact['type'] === 'boolean';
  const whole = isScalar ? { anyOf: [exact, FROM_ENVIRONMENT] } : exact;
  return description === undefined ? whole : { description, ...whole };
}

function base(schema: Parts): Json {
  const { type, entries, rest, item, key, value, options = [] } = schema;
  switch (type) {
    case 'string':
    case 'number':
    case 'boolean':
      return { type };
    case 'picklist':
      return { enum: options };
    case 'array':
      return { type: 'array', items: convert(item!) };
    case 'record':
      return { type: 'object', propertyNames: convert(key!), additionalProperties: convert(value!) };
    case 'lazy':
      return { anyOf: options.map((option) => convert(option as Parts)) };
    case 'strict_object':
    case 'object_with_rest': {
      const keys = Object.entries(entries!);
      const required = keys.filter(([, child]) => child.type !== 'optional').map(([name]) => name);
      return {
        type: 'object',
        properties: Object.fromEntries(keys.map(([name, child]) => [name, convert(child)])),
        ...(required.length > 0 && { required }),
        additionalProperties: rest === undefined ? false : convert(rest),
      };
    }
    default:
      throw new Error(`no words for a schema of type ${type}`);
  }
}

function bound({ type, requirement, description }: Parts): Json {
  switch (type) {
    case 'description':
      return { description };
    case 'integer':
      return { type: 'integer' };
    case 'min_value':
      return { minimum: requirement };
    case 'gt_value':
      return { exclusiveMinimum: requirement };
    case 'max_value':
      return { maximum: requirement };
    case 'regex':
      return { pattern: (requirement as RegExp).source };
    case 'min_length':
      return { minLength: requirement };
    case 'length':
      return { minItems: requirement, maxItems: requirement };
    default:
      throw new Error(`no words for ${type}`);
  }
}

// What an operator copies to a machine: the unit, container files and site file name only what is there.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSite } from '../../runtime/site/read-site.ts';
import { RunFolder } from '../support/run-folder.ts';

const deploy = fileURLToPath(new URL('../../samples/deploy/', import.meta.url));
const read = (name: string) => readFileSync(join(deploy, name), 'utf8');
const manifest = JSON.parse(readFileSync(join(deploy, '../../package.json'), 'utf8')) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
};

/** Names of keys in a JSON schema; names that the operator chooses are not among them. */
function keysOf(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { readonly properties?: object };
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(keysOf)];
}

const temporary = new RunFolder();
afterAll(() => temporary.remove());

/** `NAME=value` lines as systemd reads them. */
function environmentOf(name: string): Readonly<Record<string, string>> {
  const lines = read(name)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of lines) expect(line).toMatch(/^[A-Z_]+=\S+$/);
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/).slice(0, 2) as [string, string]));
}

/** Names of `${NAME}` and whether something stands in for them. */
function variablesOf(text: string): ReadonlyMap<string, boolean> {
  const found = [...text.matchAll(/\$\{([A-Z_]+)(:[-?])?/g)];
  return new Map(found.map(([, name = '', otherwise]) => [name, otherwise === ':-']));
}

/** Where no package is installed for all. */
const MODEL = join(deploy, '../model/edge-n-street.onnx');

const COMMENTS = /^\s*#.*$/gm;

describe('the site file to begin with', () => {
  const environment = environmentOf('edge-detect.env');

  it('is read with the variables of the environment file and no others', async () => {
    const { site } = await readSite(join(deploy, 'site/site.yaml'), { ...environment, EDGE_MODEL: MODEL });
    expect(site.cameras.map(({ source }) => source)).toEqual([
      'rtsp://viewer:change-me@192.0.2.10:554/stream1',
    ]);
    expect(site.server).toMatchObject({ host: '127.0.0.1', token: environment['EDGE_TOKEN'] });
    expect(site.events?.path).toBe('/var/lib/edge-detect/events/events.jsonl');
  });

  it('writes where systemd lets it', async () => {
    const env = { ...environment, EDGE_MODEL: MODEL, STATE_DIRECTORY: '/state' };
    const { site } = await readSite(join(deploy, 'site/site.yaml'), env);
    const written = [site.events?.path, site.snapshots?.folder, site.cameras[0]?.review?.folder];
    expect(written.every((path) => path?.startsWith('/state/'))).toBe(true);
  });

  it('has in the environment file what it asks for', () => {
    const asked = variablesOf(read('site/site.yaml').replace(COMMENTS, ''));
    for (const [name, hasDefault] of asked) if (!hasDefault) expect(environment).toHaveProperty(name);
    for (const name of Object.keys(environment)) expect([...asked.keys()]).toContain(name);
  });
});

describe("the operator's guide", () => {
  const guide = readFileSync(join(deploy, '../../docs/operate.md'), 'utf8');

  it('names every key of the site file', () => {
    const schema = JSON.parse(readFileSync(join(deploy, '../../runtime/site/site.schema.json'), 'utf8'));
    const keys = new Set(keysOf(schema));
    expect(keys.size).toBeGreaterThan(40);
    const words = new Set(guide.match(/\w+/g));
    expect([...keys].filter((key) => !words.has(key))).toEqual([]);
  });

  it('leads to headings that it has', () => {
    const slug = (heading: string) =>
      heading
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-');
    const headings = [...guide.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slug(heading));
    for (const [, anchor] of guide.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(anchor);
  });

  it('is about files that are there', () => {
    const named = guide.match(/\b(?:samples|scripts)\/[\w./-]*\w/g) ?? [];
    expect(named.length).toBeGreaterThan(5);
    // .env is what the operator makes.
    for (const path of new Set(named.filter((name) => !name.endsWith('/.env'))))
      expect(existsSync(join(deploy, '../..', path)), path).toBe(true);
  });
});

describe('the unit', () => {
  const unit = read('edge-detect.service');
  const values = (key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, v]) => v);

  it('starts the command by the name that npm links, and lets it end as it ends', () => {
    const [start = ''] = values('ExecStart');
    const [program, command, config] = start.split(' ');
    expect(program).toBe(`/usr/local/bin/${Object.keys(manifest.bin)[0]}`);
    expect([command, config]).toEqual(['stream', 'config=/etc/edge-detect/site.yaml']);
    // 130 is the exit code after SIGINT; 2, 3 and 5 are usage, configuration and model.
    expect(values('KillSignal')).toEqual(['SIGINT']);
    expect(values('SuccessExitStatus')[0]?.split(' ')).toContain('130');
    expect(values('RestartPreventExitStatus')).toEqual(['2 3 5']);
  });

  it('does not claim to notify, and does not forbid what JavaScript needs', () => {
    expect(values('Type')).toEqual(['exec']);
    expect(values('WatchdogSec')).toEqual([]);
    expect(values('MemoryDenyWriteExecute')).toEqual([]);
  });

  const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
  it.skipIf(!isThere)(
    `is taken by systemd without a word${isThere ? '' : ' (skipped: systemd is not installed)'}`,
    () => {
      const path = temporary.join('edge-detect.service');
      writeFileSync(path, unit.replace(/^(ExecStart=)\S+/m, `$1${process.execPath}`));
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', path], {
        encoding: 'utf8',
      });
      expect(`${stdout}${stderr}`).toBe('');
      expect(status).toBe(0);
    },
  );
});

/** The file that npm pack wrote, named when the image is built. */
const PACKAGE = `$\{PACKAGE}`;

describe.each(['Containerfile', 'Containerfile.l4t'])('%s', (name) => {
  const steps = read(name).replace(COMMENTS, '').replaceAll('\\\n', ' ').split('\n');
  const of = (word: string) => steps.filter((step) => step.startsWith(`${word} `));

  it('copies what lies beside it, and from stages that it has', () => {
    const stages = of('FROM').flatMap((step) => / AS (\w+)$/.exec(step)?.[1] ?? []);
    const copies = of('COPY').map((step) => step.split(/\s+/).slice(1));
    expect(copies.length).toBeGreaterThan(3);
    for (const [source = '', ...rest] of copies) {
      const [, stage] = /^--from=(\w+)$/.exec(source) ?? [];
      if (stage !== undefined) expect(stages).toContain(stage);
      else if (source !== PACKAGE) expect(existsSync(join(deploy, source)), source).toBe(true);
      expect(rest.length).toBe(stage === undefined ? 1 : 2);
    }
  });

  it('links the program that the package has, as nobody of importance', () => {
    const run = of('RUN').join('\n');
    expect(run).toContain(`node_modules/edge-detect/${manifest.bin['edge-detect']}`);
    expect(of('USER')).toEqual(['USER node']);
    expect(of('STOPSIGNAL')).toEqual(['STOPSIGNAL SIGINT']);
    const [, major] = /node:(\d+)-/.exec(read(name)) ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(Number(/\d+/.exec(manifest.engines.node)?.[0]));
  });

  it('asks for health through the script that it copies', () => {
    const [check = ''] = of('HEALTHCHECK');
    const [, words = '[]'] = /CMD (\[.*\])$/.exec(check) ?? [];
    const script = (JSON.parse(words) as string[])[1];
    expect(of('COPY').join('\n')).toContain(`COPY healthy.mjs ${script}`);
  });
});

describe('compose.yaml', () => {
  interface Service {
    readonly build?: { readonly context: string; readonly dockerfile: string };
    readonly volumes?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
    readonly depends_on?: readonly string[];
    readonly secrets?: readonly string[];
    readonly ports?: readonly string[];
  }
  const compose = parse(read('compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly volumes: Readonly<Record<string, unknown>>;
    readonly secrets: Readonly<Record<string, unknown>>;
  };
  const services = Object.values(compose.services);

  it('mounts files that are there and volumes that it names', () => {
    const sources = services.flatMap(({ volumes = [] }) => volumes.map((text) => text.split(':')[0] ?? ''));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) {
      if (source.startsWith('.')) expect(existsSync(join(deploy, source)), source).toBe(true);
      else expect(compose.volumes).toHaveProperty(source);
    }
    for (const { build, depends_on: needed = [], secrets = [] } of services) {
      if (build) expect(existsSync(join(deploy, build.context, build.dockerfile))).toBe(true);
      for (const name of needed) expect(compose.services).toHaveProperty(name);
      for (const name of secrets) expect(compose.secrets).toHaveProperty(name);
    }
  });

  it('opens ports to this machine alone', () => {
    for (const { ports = [] } of services) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('gives the site the variables that its file asks for', () => {
    const given = compose.services['edge-detect']?.environment ?? {};
    for (const [name, hasDefault] of variablesOf(read('site/site.yaml').replace(COMMENTS, '')))
      if (!hasDefault) expect(given).toHaveProperty(name);
  });

  it('has YAML that can be read in every file, and provisioning that finds the dashboard', () => {
    const files = readdirSync(deploy, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.ya?ml$/.test(file),
    );
    expect(files.length).toBeGreaterThanOrEqual(6);
    for (const file of files) expect(() => parse(read(file)), file).not.toThrow();
    const { providers } = parse(read('grafana/provisioning/dashboards/edge-detect.yaml'));
    const mounts = compose.services['grafana']?.volumes ?? [];
    expect(mounts.some((text) => text.split(':')[1]?.startsWith(`${providers[0].options.path}/`))).toBe(true);
  });
});

describe('healthy.mjs', () => {
  it('fails where nothing answers', () => {
    const run = () =>
      execFileSync(process.execPath, [join(deploy, 'healthy.mjs')], { env: { EDGE_PORT: '1' } });
    expect(run).toThrow();
  });
});

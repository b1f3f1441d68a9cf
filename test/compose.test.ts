import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { parse } from 'yaml';
import { VARIABLE_GROUPS, type Variable } from '../config-variables.ts';
import { SEARCH_ATTRIBUTE_NAMES } from '../domain/search-attributes.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test?: readonly string[] };
}

const text = read('docker-compose.temporal.yml');
const compose: { readonly services: Readonly<Record<string, Service>> } = parse(text, { merge: true });
const services = Object.entries(compose.services);
const ownServices = services.filter(([, { image }]) => image === 'genway');
const variables: ReadonlyMap<string, Variable> = new Map(Object.values(VARIABLE_GROUPS).flatMap(Object.entries));

/** The variables that compose takes from `.env`: written as `${NAME…}`, or passed on without a value. */
function namesFromOutside(): Set<string> {
  const interpolated = [...text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name = '']) => name);
  const passedOn = services.flatMap(([, { environment = {} }]) =>
    Object.entries(environment).flatMap(([name, value]) => (value === null ? [name] : [])),
  );
  return new Set([...interpolated, ...passedOn]);
}

describe('docker-compose.temporal.yml', () => {
  it('is a compose file, to the letter of its specification', () => {
    const { $schema: _, ...schema }: Record<string, unknown> = JSON.parse(read('test/fixtures/compose-spec.json'));
    const ajv = new Ajv({ strict: false, allErrors: true });
    formats.default(ajv);
    const validate = ajv.compile(schema);
    validate(parse(text, { merge: true }));
    expect(validate.errors).to.equal(null);
  });

  it('sets only variables that Genway reads', () => {
    const set = ownServices.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(set.filter((name) => !variables.has(name))).to.deep.equal([]);
  });

  it('gives every process with an environment what is required', () => {
    const required = [...variables].filter(([, row]) => row.required).map(([name]) => name);
    for (const [, { environment }] of ownServices) {
      if (environment) expect(environment).to.include.keys(required);
    }
  });

  it('has no default for a secret', () => {
    for (const [, name = '', rest] of text.matchAll(/(?<!\$)\$\{(\w+)([^}]*)\}/g)) {
      const secret = variables.get(name)?.kind.hidden || name.endsWith('_PASSWORD');
      if (secret) expect(`${name}${rest}`).to.match(/^\w+:\?/);
    }
  });

  it('shows the files of the operator to every process that reads them, and lets none change them', () => {
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

  it('waits only for services that are there, and for the health of those that are checked', () => {
    for (const [name, { depends_on: dependencies = {} }] of services) {
      for (const [other, { condition }] of Object.entries(dependencies)) {
        expect(compose.services, `${name} waits for ${other}`).to.have.property(other);
        if (condition === 'service_healthy') expect(compose.services[other]?.healthcheck?.test).to.be.an('array');
      }
    }
  });

  it('adds exactly the search attributes that workflows carry', () => {
    const named = new Set(text.match(/\bGenway[A-Z]\w+/g));
    expect([...named]).to.have.members(SEARCH_ATTRIBUTE_NAMES);
  });
});

describe('.env.example', () => {
  it('lists exactly what the compose file takes from outside', () => {
    const listed = [...read('.env.example').matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name);
    expect(listed).to.have.members([...namesFromOutside()]);
  });
});

import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { endpointsFor } from '../../../api/endpoints.ts';
import { createOpenApiDocument } from '../../../api/openapi/document.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { REFERENCE_PATH } from '../../../api/docs-address.ts';
import { useTestApp } from '../../support/app.ts';
import { useTestConsole } from '../../support/console.ts';
import { document, schemaChecks } from '../../support/openapi.ts';

interface DescribedOperation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly responses?: Readonly<Record<string, unknown>>;
}

interface ContentWithExamples {
  readonly schema: object;
  readonly examples: Readonly<Record<string, { readonly value?: unknown }>>;
}

const operations = operationsIn(document.paths);

function operationsIn(items: (typeof document)['paths']) {
  return Object.entries(items).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const operation: DescribedOperation = described;
      return { path, name: `${method.toUpperCase()} ${path}`, operation };
    }),
  );
}

/** Every object within `value`, at any depth. */
function* objectsIn(value: unknown): Generator<object> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

function hasExamples(object: object): object is ContentWithExamples {
  return 'schema' in object && 'examples' in object;
}

describe('the API description', () => {
  const app = useTestApp();

  it('the API description is an OpenAPI 3.1 document', async () => {
    // contract 4.12:4
    const { valid, errors } = await new Validator().validate(structuredClone({ ...document }));
    expect(errors).to.equal(undefined);
    expect(valid).to.equal(true);
  });

  it('names each operation once', () => {
    const ids = [...operations, ...operationsIn(document.webhooks)].map(({ operation }) => operation.operationId);
    expect(ids).to.include.members(['createVideoTask', 'onTaskSucceeded']).and.not.to.include(undefined);
    expect(ids).to.have.lengthOf(new Set(ids).size);
  });

  it('has no null alone and no colliding names, at which generators of clients fail', () => {
    const choices = [...objectsIn(document)].flatMap((one) =>
      ['oneOf', 'anyOf'].flatMap((kind) => Object(one)[kind] ?? []),
    );
    const alone = [...objectsIn(document)].filter(
      (one) => 'type' in one && one.type === 'null' && !choices.includes(one),
    );
    expect(alone).to.deep.equal([]);
    const names = Object.keys(Object(document.components.schemas)).map((name) =>
      name.toLowerCase().replaceAll(/\W/g, ''),
    );
    expect(new Set(names).size).to.equal(names.length);
    // The name of a class in every generated TypeScript client.
    expect(names).not.to.include('configuration');
    const collisions = [...objectsIn(document)].filter((one) => {
      const fields = Object.keys(Object(Object(one).properties)).map((field) =>
        field.toLowerCase().replaceAll(/[\W_]/g, ''),
      );
      return new Set(fields).size < fields.length;
    });
    expect(collisions).to.deep.equal([]);
    const types = [...objectsIn(document)].flatMap((one) =>
      'type' in one && Array.isArray(one.type) ? [one.type] : [],
    );
    expect(types.filter((listed) => new Set(listed).size < listed.length)).to.deep.equal([]);
    const tagsOf = (paths: object): unknown[] => [...objectsIn(paths)].flatMap((one) => Object(one).tags ?? []);
    const tags = tagsOf(document.paths);
    expect(tagsOf(Object(document.webhooks)).filter((tag) => tags.includes(tag))).to.deep.equal([]);
  });

  it('refers to every component, and only to existing ones', () => {
    const components = Object.entries(document.components).flatMap(([section, members]) =>
      Object.keys(Object(members)).map((name) => `#/components/${section}/${name}`),
    );
    const referred = [...objectsIn(document)].flatMap((object) => ('$ref' in object ? [String(object.$ref)] : []));
    const secured = [...objectsIn(document)].flatMap((object) =>
      'security' in object && Array.isArray(object.security) ? object.security.flatMap(Object.keys) : [],
    );
    const used = [...referred, ...secured.map((name) => `#/components/securitySchemes/${name}`)];
    expect([...new Set(used)]).to.have.members(components);
  });

  it('lists the models of the current catalogue, and has no example with another', async () => {
    const textModels = new Map([...CATALOGUE.textModels].slice(0, 2));
    const own = createOpenApiDocument(endpointsFor({ canTakePayments: false }), {
      ...CATALOGUE,
      version: 'of-an-operator',
      videoModels: new Map(),
      textModels,
    });
    const { valid, errors } = await new Validator().validate(structuredClone({ ...own }));
    expect([valid, errors]).to.deep.equal([true, undefined]);
    const told = JSON.stringify(own['tags']);
    for (const id of textModels.keys()) expect(told).to.contain(`\`${id}\` | text`);
    expect(told).to.contain('of-an-operator').and.not.contain('vidone');
    const bodies = [...objectsIn(own.paths)].flatMap((found) => ('requestBody' in found ? [found.requestBody] : []));
    expect(JSON.stringify(bodies))
      .to.contain('examples')
      .and.not.match(/"model":"vid/);
  });

  it('has no empty enumeration, which generators refuse', () => {
    const empty = [...objectsIn(document)].filter((schema) => 'enum' in schema && [schema.enum].flat().length === 0);
    expect(empty).to.deep.equal([]);
  });

  it('has a tag for each operation', () => {
    const tags = Array.isArray(document['tags']) ? document['tags'].map(({ name }) => name) : [];
    expect(tags).to.include.members(operations.flatMap(({ operation }) => operation.tags ?? ['none']));
  });

  it('has examples that match their schemas', () => {
    const { faultsOf } = schemaChecks({ closed: true });
    const contents = [...objectsIn(document)].filter(hasExamples);
    const faults = contents.flatMap(({ schema, examples }) =>
      Object.entries(examples).flatMap(([name, { value }]) =>
        faultsOf(schema, value).map((fault) => `${name}: ${fault}`),
      ),
    );
    expect(contents).to.have.length.above(20);
    expect(faults).to.deep.equal([]);
  });

  it('lists every possible refusal of creating an image', () => {
    const creating = operations.find(({ name }) => name === 'POST /v1/images/tasks') ?? expect.fail();
    expect(Object.keys(creating.operation.responses ?? {})).to.include.members([
      '201',
      '400',
      '401',
      '402',
      '403',
      '409',
      '429',
      '500',
      '503',
    ]);
  });

  it('lists the refusals of slow or surplus bodies for every endpoint with a body', () => {
    const takers = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ requestBody, responses }) =>
        requestBody === undefined ? [] : [{ path, statuses: Object.keys(Object(responses)) }],
      ),
    );
    expect(takers.length).to.be.greaterThan(15);
    for (const { path, statuses } of takers) expect(statuses, path).to.include.members(['408', '413', '503']);
  });

  it('lists the refusal of requests without an upgrade for exactly the paths of WebSockets', () => {
    const pathsWith = (status: string): readonly string[] =>
      operations.flatMap(({ name, operation }) => (status in Object(operation.responses) ? [name] : []));
    expect(pathsWith('426')).to.deep.equal(pathsWith('101')).and.include('GET /v1/realtime');
  });

  it('accepts links of the service itself, which are http where it runs locally', () => {
    const schemas = JSON.stringify(document.components.schemas);
    expect(schemas).to.include('^https?://').and.not.to.include('^https://');
  });

  it('is served without a key, to tools on other sites too', async () => {
    // contract 4.12:4
    const response = await fetch(`${app.baseUrl}/openapi.json`);
    expect(response.status).to.equal(200);
    expect(response.headers.get('access-control-allow-origin')).to.equal('*');
    expect(await response.json()).to.deep.equal(JSON.parse(JSON.stringify(document)));
  });
});

describe('the reference page', () => {
  const app = useTestConsole();

  it('loads all its files from this host, and may load nothing else', async () => {
    const page = await fetch(app.baseUrl + REFERENCE_PATH);
    const html = await page.text();
    const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    expect(page.headers.get('content-security-policy')).to.match(/^default-src 'none'; script-src 'self';/);
    expect(addresses).to.have.length.above(4);
    for (const address of addresses) {
      expect(address).to.match(/^\/[^/]/);
      const asset = await fetch(app.baseUrl + address);
      expect(asset.status, address).to.equal(200);
      await asset.body?.cancel();
    }
  });

  it('shows the endpoints of clients, and on another page those of operators', async () => {
    // contract 4.12:4
    const shown = ['client', 'administration'].map(async (part) => {
      const page = await fetch(app.baseUrl + (part === 'client' ? REFERENCE_PATH : `/docs/${part}`));
      expect(await page.text()).to.contain(`/docs/${part}.js"`);
      expect(await (await fetch(`${app.baseUrl}/docs/${part}.js`)).text()).to.contain(`'/docs/${part}.json'`);
      const described: unknown = await (await fetch(`${app.baseUrl}/docs/${part}.json`)).json();
      const { valid, errors } = await new Validator().validate(Object(structuredClone(described)));
      expect([valid, errors]).to.deep.equal([true, undefined]);
      return Object(described);
    });
    const [client, administration] = await Promise.all(shown);
    const methodsOf = ({ paths }: { readonly paths: object }): string[] =>
      Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
    const all = [...methodsOf(client), ...methodsOf(administration)];
    expect(all).to.have.members(methodsOf(document));
    expect(methodsOf(client)).to.include('post /v1/videos/tasks').and.not.include('post /admin/v1/accounts');
    expect(Object.keys(client.paths).some((path) => path.startsWith('/admin'))).to.equal(false);
    expect(Object.keys(client.components.schemas)).to.include('CreateVideoTask').and.not.include('CreateAccount');
  });

  it('serves no other file of the package', async () => {
    for (const name of ['index.html', 'package.json', 'swagger-ui.js', '..%2Fkoa%2Fpackage.json', '__proto__']) {
      const response = await fetch(`${app.baseUrl}/docs/${name}`);
      expect(response.status, name).to.equal(404);
      expect(await response.json()).to.have.nested.property('error.code', 'not_found');
    }
  });
});

/** Helm and kubeconform, built with Go, and the schemas of Kubernetes and of the chart's operators; all are cached. */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { loadStackConfig } from '../../config.ts';
import { goProgram, hasGo, WITHOUT_GO } from './go-programs.ts';

const run = promisify(execFile);

export const KUBERNETES = '1.34.1';
const PROGRAMS = {
  helm: { title: 'Helm 3.19.2', source: 'helm.sh/helm/v3/cmd/helm@v3.19.2' },
  kubeconform: { title: 'kubeconform 0.7.0', source: 'github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0' },
};
const OPENAPI = `k8s.io/kubernetes@v${KUBERNETES}`;
/** The modules with the definitions of custom resources. */
const CUSTOM = {
  'github.com/kedacore/keda/v2@v2.18.0': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
  ],
};

export interface ChartTools {
  readonly helm: string;
  readonly kubeconform: string;
  /** The places of kubeconform's schemas. */
  readonly schemas: string;
}

/** A suite that needs the tools; without Go it is skipped and its title gives the reason. */
export function describeWithHelm(title: string, suite: (tools: () => ChartTools) => void): void {
  if (!hasGo()) return void describe.skip(`${title} (${WITHOUT_GO})`, () => suite(missing));
  describe(title, () => {
    let tools: ChartTools | undefined;
    before(async function () {
      // The first run builds them.
      this.timeout(1_500_000);
      tools = await findTools();
    });
    suite(() => tools ?? missing());
  });
}

function missing(): never {
  throw new Error('there are no tools');
}

async function findTools(): Promise<ChartTools> {
  const { cacheFolder } = loadStackConfig();
  const [helm, kubeconform] = [
    await goProgram('helm', PROGRAMS.helm),
    await goProgram('kubeconform', PROGRAMS.kubeconform),
  ];
  const folder = join(cacheFolder, `kubernetes-schemas-${KUBERNETES}`);
  await access(folder).catch(() => writeSchemas(folder));
  return { helm, kubeconform, schemas: join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json') };
}

/** The part of JSON Schema that Kubernetes uses. */
interface Schema {
  readonly [keyword: string]: unknown;
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes a schema for each kind, which refuses unknown fields. */
async function writeSchemas(folder: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const unfinished = await mkdtemp(`${folder}.`);
  const write = (kind: string, group: string, version: string, schema: Schema) => {
    const suffix = group === '' ? version : `${group.split('.')[0]}-${version}`;
    return writeFile(join(unfinished, `${kind.toLowerCase()}-${suffix}.json`), JSON.stringify(schema));
  };
  const openApi: { definitions: Record<string, Schema> } = JSON.parse(
    await readFile(join(await download(OPENAPI), 'api/openapi-spec/swagger.json'), 'utf8'),
  );
  for (const [name, definition] of Object.entries(openApi.definitions)) {
    const kinds = definition['x-kubernetes-group-version-kind'];
    if (!Array.isArray(kinds) || kinds.length !== 1) continue;
    const { kind, group, version }: Record<'kind' | 'group' | 'version', string> = kinds[0];
    await write(kind, group, version, {
      ...closed({ $ref: `#/definitions/${name}` }),
      definitions: needed(name, openApi.definitions),
    });
  }
  for (const [module, files] of Object.entries(CUSTOM)) {
    const source = await download(module);
    for (const file of files) {
      const { spec }: { spec: CustomResource } = parse(await readFile(join(source, file), 'utf8'));
      for (const { name, schema } of spec.versions) {
        const { apiVersion, kind, metadata, ...properties } = schema.openAPIV3Schema.properties;
        const own = closed({ ...schema.openAPIV3Schema, properties: { ...properties, apiVersion, kind } });
        const withMetadata = { ...own, properties: { ...Object(own['properties']), metadata } };
        await write(spec.names.kind, spec.group, name, withMetadata);
      }
    }
  }
  await rename(unfinished, folder);
}

interface CustomResource {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly {
    readonly name: string;
    readonly schema: { readonly openAPIV3Schema: Schema & { readonly properties: Readonly<Record<string, Schema>> } };
  }[];
}

/** @returns the folder of the module's source */
async function download(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { timeout: 300_000 });
  const { Dir: folder }: { Dir: string } = JSON.parse(stdout);
  return folder;
}

/** The definitions that a definition refers to. */
function needed(first: string, definitions: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const found = new Map<string, Schema>();
  const names = [first];
  for (let name = names.pop(); name !== undefined; name = names.pop()) {
    const definition = definitions[name];
    if (definition === undefined || found.has(name)) continue;
    found.set(name, definitionOf(name, definition));
    for (const [, other = ''] of JSON.stringify(definition).matchAll(/"#\/definitions\/([^"]+)"/g)) names.push(other);
  }
  return Object.fromEntries(found);
}

/** The server accepts numbers for these fields, too, which the description defines as strings. */
function definitionOf(name: string, definition: Schema): Schema {
  if (/\.(IntOrString|Quantity)$/.test(name)) return { type: ['string', 'number'] };
  return closed(definition);
}

/** Objects with known properties allow no others. */
function closed(schema: Schema): Schema {
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, closedValue(value)] as const);
  const isOpen =
    !isObject(schema['properties']) ||
    'additionalProperties' in schema ||
    schema['x-kubernetes-preserve-unknown-fields'] === true;
  return { ...Object.fromEntries(entries), ...(!isOpen && { additionalProperties: false }) };
}

function closedValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closedValue);
  return isObject(value) ? closed(value) : value;
}

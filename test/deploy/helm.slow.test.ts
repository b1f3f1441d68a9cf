import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { PUBLIC_PAGES } from '../../console/public/serve.tsx';
import { parse, parseAllDocuments } from 'yaml';
import { endpointsFor, TEXT_ADDRESS_ENDPOINTS } from '../../api/endpoints.ts';
import { VARIABLE_GROUPS, type Variable } from '../../config-variables.ts';
import { loadConfig } from '../../config.ts';
import { REQUIRED_VARIABLES } from '../support/configuration.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { describeWithHelm, KUBERNETES } from '../support/helm.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/genway');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const variables: ReadonlyMap<string, Variable> = new Map(Object.values(VARIABLE_GROUPS).flatMap(Object.entries));

interface Container {
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly securityContext: object;
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly affinity?: object;
  readonly priorityClassName?: string;
  readonly topologySpreadConstraints?: readonly {
    readonly topologyKey: string;
    readonly labelSelector: { readonly matchLabels: Readonly<Record<string, string>> };
  }[];
  readonly containers: readonly Container[];
}

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
    readonly groups: unknown;
    readonly rules: readonly { readonly http: { readonly paths: readonly { readonly path: string }[] } }[];
    readonly triggers: readonly { readonly metadata: { readonly taskQueue: string } }[];
  };
}

const SECRETS = {
  DATABASE_URL: 'postgres://genway:secret@postgres:5432/genway',
  GENWAY_ADMIN_TOKEN: 'x'.repeat(32),
  GENWAY_KEY_PEPPER: 'x'.repeat(32),
  GENWAY_ENCRYPTION_KEY: '0'.repeat(64),
};
const OUTSIDE = { GENWAY_PUBLIC_URL: 'https://api.example.com', TEMPORAL_ADDRESS: 'temporal-frontend.temporal:7233' };
const DEFAULTS = loadConfig(REQUIRED_VARIABLES);
const S3 = { GENWAY_S3_BUCKET: 'genway', GENWAY_S3_PUBLIC_URL: 'https://files.example.com' };
const inNamespace = (name: string) => ({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } });

const toPrivate = {
  egress: [
    { to: [inNamespace('temporal')], ports: [{ protocol: 'TCP', port: 7233 }] },
    { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ protocol: 'TCP', port: 5432 }] },
  ],
};

/** Where pods run, and what others know them by. */
const PLACEMENT = {
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] }],
      },
    },
  },
  spreadOver: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'],
  priorityClassName: 'critical',
  podLabels: { 'example.com/team': 'gateway', 'app.kubernetes.io/name': 'other' },
};

/** The sets of values that the chart is rendered with. */
const VALUES: Readonly<Record<string, object>> = {
  'a Temporal cluster, PostgreSQL and a store outside': {
    config: { ...OUTSIDE, ...S3 },
    existingSecret: 'genway-secrets',
    networkPolicy: toPrivate,
  },
  'secrets in the values, and files on a volume': {
    config: OUTSIDE,
    secrets: SECRETS,
    filesClaim: 'genway-files',
    networkPolicy: { enabled: false },
    api: { replicas: 1, autoscaling: { enabled: false } },
    text: { replicas: 1, autoscaling: { enabled: false } },
  },
  'Temporal Cloud, with workers of two versions that follow its backlog': {
    config: {
      ...OUTSIDE,
      ...S3,
      TEMPORAL_ADDRESS: 'genway.a1b2c.tmprl.cloud:7233',
      TEMPORAL_NAMESPACE: 'genway.a1b2c',
    },
    existingSecret: 'genway-secrets',
    networkPolicy: toPrivate,
    image: { repository: 'registry.example.com/genway', tag: 'b1b31bf' },
    imagePullSecrets: [{ name: 'registry' }],
    worker: {
      versioned: true,
      previousTag: 'a0a20ae',
      autoscaling: { enabled: true, authentication: 'temporal-cloud' },
    },
  },
  'certificates, files of the operator, and addresses for clients': {
    config: {
      ...OUTSIDE,
      ...S3,
      TEMPORAL_TLS: '/etc/genway/temporal',
      GENWAY_PROVIDERS: '/etc/genway/providers.yaml',
      GENWAY_TRUSTED_PROXIES: 1,
    },
    existingSecret: 'genway-secrets',
    filesSecret: 'genway-files',
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
      textAnnotations: { 'nginx.ingress.kubernetes.io/proxy-buffering': 'off' },
      tlsSecret: 'genway-tls',
    },
    networkPolicy: {
      clients: [inNamespace('ingress-nginx')],
      monitoring: [inNamespace('monitoring')],
      ...toPrivate,
    },
  },
  'everything that watches it': {
    config: { ...OUTSIDE, ...S3 },
    existingSecret: 'genway-secrets',
    networkPolicy: toPrivate,
    serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/genway' } },
    monitoring: { enabled: true, labels: { release: 'prometheus' } },
    nodeSelector: { pool: 'genway' },
    tolerations: [{ key: 'genway', operator: 'Exists', effect: 'NoSchedule' }],
    podAnnotations: { 'example.com/team': 'gateway' },
    ...PLACEMENT,
  },
};

describeWithHelm('the chart', (tools) => {
  let folder: string;
  before(async () => (folder = await mkdtemp(join(tmpdir(), 'genway-chart-'))));
  after(() => rm(folder, { recursive: true, force: true }));

  const helm = (...args: readonly string[]) =>
    run(tools().helm, [...args, '--kube-version', KUBERNETES], { timeout: 60_000, maxBuffer: 10 ** 7 });

  const check = (file: string) =>
    run(tools().kubeconform, ['-strict', '-summary', '-schema-location', tools().schemas, file]);

  async function writeValues(values: object): Promise<string> {
    const file = join(folder, 'values.yaml');
    await writeFile(file, JSON.stringify(values));
    return file;
  }

  async function render(values: object): Promise<{ readonly text: string; readonly resources: readonly Resource[] }> {
    const { stdout: text } = await helm('template', 'genway', chart, '--values', await writeValues(values));
    return { text, resources: parseAllDocuments(text).flatMap((document): Resource[] => document.toJS() ?? []) };
  }

  const podsOf = (resources: readonly Resource[]) =>
    resources
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map(({ metadata, spec: { template } }) => ({
        name: metadata.name,
        pod: template.spec,
        labels: template.metadata.labels,
      }));

  for (const [title, values] of Object.entries(VALUES)) {
    it(`renders valid Kubernetes with settings that Genway reads: ${title}`, async () => {
      await helm('lint', '--strict', chart, '--values', await writeValues(values));
      const { text, resources } = await render(values);
      const file = join(folder, 'rendered.yaml');
      await writeFile(file, text);
      const { stdout } = await check(file);
      expect(stdout).to.match(/Valid: \d\d+, Invalid: 0, Errors: 0, Skipped: 0/);

      const set = resources.flatMap(({ kind, data = {}, stringData = {}, metadata }) =>
        kind === 'Secret' || (kind === 'ConfigMap' && metadata.name === 'genway')
          ? Object.keys({ ...data, ...stringData })
          : [],
      );
      const own = podsOf(resources).flatMap(({ pod }) =>
        pod.containers.flatMap(({ env = [] }) => env.map(({ name }) => name)),
      );
      expect([...set, ...own].filter((name) => !variables.has(name))).to.deep.equal([]);
    });
  }

  it('the check of the chart refuses a field that Kubernetes does not know', async () => {
    const { text } = await render(VALUES['everything that watches it'] ?? {});
    for (const [field, other] of [
      ['maxUnavailable: 1', 'maximumUnavailable: 1'],
      ['path: /healthz', 'paths: /healthz'],
      ['targetLabel: job', 'target: job'],
    ] as const) {
      const file = join(folder, 'wrong.yaml');
      await writeFile(file, text.replace(field, other));
      const refused: unknown = await check(file).catch((error: unknown) => error);
      expect(Object(refused).stdout, other).to.include('additional properties');
    }
  });

  it('runs existing programs, without rights, with enough time to stop', async () => {
    const { resources } = await render(
      VALUES['Temporal Cloud, with workers of two versions that follow its backlog'] ?? {},
    );
    const pods = podsOf(resources);
    expect(
      pods
        .map(({ name }) => name.replace('genway-', '').replace(/-[0-9a-f]{8}$/, ''))
        .toSorted((one, other) => one.localeCompare(other)),
    ).to.deep.equal(['api', 'migrate-1', 'text', 'worker', 'worker-previous']);
    for (const { name, pod } of pods) {
      const [container] = pod.containers;
      const program = container?.command[1] ?? '';
      expect(existsSync(join(root, program.replace(/^dist\/(.*)\.js$/, '$1.ts'))), program).to.equal(true);
      expect(pod.securityContext.runAsNonRoot && !pod.automountServiceAccountToken, name).to.equal(true);
      expect(container?.securityContext, name).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      if (program.endsWith('migrate.js')) continue;
      const needed = program.endsWith('worker.js')
        ? DEFAULTS.renderGraceMs / 1000
        : (DEFAULTS.drainMs + DEFAULTS.shutdownGraceMs) / 1000 + 30;
      expect(pod.terminationGracePeriodSeconds, name).to.be.above(needed);
      const port = {
        'dist/bin/api.js': variables.get('GENWAY_API_PORT')?.defaultText,
        'dist/bin/text.js': variables.get('GENWAY_TEXT_PORT')?.defaultText,
      }[program];
      const worker = container?.env?.find((entry) => entry.name === 'GENWAY_WORKER_PORT')?.value;
      expect(String(container?.ports?.[0]?.containerPort), name).to.equal(port ?? worker);
    }
    const triggers = resources.flatMap(({ kind, spec }) => (kind === 'ScaledObject' ? spec.triggers : []));
    expect(triggers.map(({ metadata }) => metadata.taskQueue)).to.deep.equal([TASK_QUEUES.media, TASK_QUEUES.webhooks]);
  });

  it('keeps the addresses of services out of the variables of its pods', async () => {
    const { resources } = await render(
      VALUES['Temporal Cloud, with workers of two versions that follow its backlog'] ?? {},
    );
    for (const { name, pod } of podsOf(resources)) expect(pod.enableServiceLinks, name).to.equal(false);
  });

  it('places its pods as the values say, and keeps the labels by which it finds them', async () => {
    const { resources } = await render(VALUES['everything that watches it'] ?? {});
    for (const { name, pod, labels } of podsOf(resources)) {
      expect(pod, name).to.deep.include({ affinity: PLACEMENT.affinity, priorityClassName: 'critical' });
      const spread = pod.topologySpreadConstraints ?? [];
      expect(
        spread.map(({ topologyKey }) => topologyKey),
        name,
      ).to.deep.equal(PLACEMENT.spreadOver);
      for (const { labelSelector } of spread) expect(labels, name).to.include(labelSelector.matchLabels);
      expect(labels, name).to.include({ 'example.com/team': 'gateway', 'app.kubernetes.io/name': 'genway' });
    }
  });

  it('gives the job of another image another name, also where every release is the first revision', async () => {
    const jobOf = async (tag: string) => {
      const values = { ...VALUES['everything that watches it'], image: { tag } };
      return (await render(values)).resources.find(({ kind }) => kind === 'Job')?.metadata.name;
    };
    const names = [await jobOf('0.1.0'), await jobOf('0.1.0'), await jobOf('0.1.1')];
    expect(new Set(names).size).to.equal(2);
  });

  it('exposes every path of clients, and neither the administration nor metrics', async () => {
    const { resources } = await render(VALUES['certificates, files of the operator, and addresses for clients'] ?? {});
    const open = (name: string): readonly string[] =>
      resources
        .filter(({ kind, metadata }) => kind === 'Ingress' && metadata.name === name)
        .flatMap(({ spec }) => spec.rules.flatMap(({ http }) => http.paths.map(({ path }) => path)));
    for (const [name, endpoints] of [
      [
        'genway-api',
        [
          ...endpointsFor({ canTakePayments: true }).map(({ path }) => path),
          '/console',
          '/docs',
          '/files/x',
          '/status',
          '/sitemap.xml',
          ...PUBLIC_PAGES.map(({ path }) => path),
        ],
      ],
      ['genway-text', TEXT_ADDRESS_ENDPOINTS.map(({ path }) => path)],
    ] as const) {
      const isOpen = (path: string): boolean =>
        open(name).some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
      const isInside = (path: string): boolean => path.startsWith('/admin/') || path === '/metrics';
      expect(
        endpoints.filter((path) => isOpen(path) === isInside(path)),
        name,
      ).to.deep.equal([]);
    }
  });

  it('includes the alerts and the dashboard unchanged', async () => {
    const { resources } = await render(VALUES['everything that watches it'] ?? {});
    const named = (kind: string, name: string) =>
      resources.find((one) => one.kind === kind && one.metadata.name === name);
    expect(named('PrometheusRule', 'genway')?.spec).to.deep.equal(parse(read('deploy/helm/genway/files/alerts.yaml')));
    expect(named('ConfigMap', 'genway-dashboard')?.data?.['genway.json']).to.equal(
      read('deploy/helm/genway/files/grafana-dashboard.json'),
    );
  });

  it('names missing values', async () => {
    for (const [values, message] of [
      [{}, 'Set config.GENWAY_PUBLIC_URL'],
      [{ config: OUTSIDE }, 'Set existingSecret to a Secret with DATABASE_URL'],
      [{ config: OUTSIDE, existingSecret: 'x' }, 'Set config.GENWAY_S3_BUCKET'],
      [{ config: { ...OUTSIDE, ...S3 }, existingSecret: 'x' }, 'Set networkPolicy.egress'],
    ] as const) {
      const refusal: unknown = await render(values).catch((error: unknown) => error);
      expect(String(refusal)).to.include(message);
    }
    const required = [...variables].filter(([, { required: isRequired }]) => isRequired).map(([name]) => name);
    expect(Object.keys(SECRETS)).to.have.members(required);
  });
});

describe('the version of the chart', () => {
  it('equals the version of package.json', () => {
    const { version }: { version: string } = JSON.parse(read('package.json'));
    const versions: { version: string; appVersion: string } = parse(read('deploy/helm/genway/Chart.yaml'));
    expect([versions.version, versions.appVersion]).to.deep.equal([version, version]);
  });
});

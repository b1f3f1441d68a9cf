import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { nameOf, type Product, VENDORS, vendorProducts } from '../../../lab/drill/vendors/products.ts';
import { MEDIA_APIS, MEDIA_PROTOCOLS, MEDIA_PROTOCOL_NAMES } from '../../../providers/media/protocols.ts';
import { runsAll } from '../../support/properties.ts';
import { call } from '../../support/stack.ts';
import { startVertexMedia } from '../../../lab/stack/clouds/vertex-media.ts';
import { useStarted, useTestFolder } from '../../support/started.ts';
import { transfersOf } from '../../support/tasks.ts';
import { finishedVendorTask, rendersOf, useVendorStack, type VendorTask } from '../../support/vendors.ts';

/** The operator's secrets at each vendor. */
const secretOf = (vendor: string, what: string): string => `sesame-${what}-of-${vendor}-9f2c`;

/** How a task ends at a vendor, and with `--all` also how it fails. */
const SUCCEEDS = '';
const LOSES_ANSWER = 'drop_submit,render_ms=500';
const FAILURES = ['reject=bad_request', 'broke', 'fail=processing_failed'];
const DIRECTIVES = [SUCCEEDS, LOSES_ANSWER, ...(runsAll ? FAILURES : [])];

const ORDERS = vendorProducts().flatMap((product) =>
  DIRECTIVES.map((directives) => ({
    product,
    directives,
    name: `${nameOf(product)}${directives === '' ? '' : ` despite ${directives}`}`,
  })),
);

/** Google reveals a lost video only by a callback, whose signature the upstream of this suite cannot verify. */
function canRecover({ provider, traits }: Product): boolean {
  return traits.answers === 'job' && traits.recovery !== 'none' && provider !== 'google';
}

interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

describe('at every vendor', () => {
  const folder = useTestFolder();
  const file = join(folder, 'upstreams.yaml');
  const cloud = useStarted(() =>
    startVertexMedia(() => ({ url: `${stack.simulatorUrl}/vendors/vertex`, key: secretOf('vertex', 'key') })),
  );
  before(() => writeFile(file, JSON.stringify({ media: MEDIA_APIS.flatMap(upstreamOf) })));
  const stack = useVendorStack({ env: { GENWAY_PROVIDERS: file, GENWAY_PROVIDER_CALLBACKS: 'true' } });
  let apiKey: string;
  const tasks = new Map<string, VendorTask>();

  before(async () => {
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
    await Promise.all(VENDORS.map(finishTasksAt));
  });

  /** One after the other, because some vendors reveal a lost render only by exclusion. */
  async function finishTasksAt(vendor: string): Promise<void> {
    for (const { product, directives, name } of ORDERS.filter((order) => order.product.provider === vendor)) {
      const { kind, model } = product;
      tasks.set(name, await finishedVendorTask(stack, apiKey, { kind, model, directives }));
    }
  }

  for (const { product, directives, name } of ORDERS.filter((order) => !FAILURES.includes(order.directives))) {
    const isLost = directives === LOSES_ANSWER && !canRecover(product);
    it(`${isLost ? 'a task ends in a refund' : 'a task renders once and is charged once'}: ${name}`, async () => {
      const task = tasks.get(name) ?? expect.fail('there is no such task');
      expect(task.status, JSON.stringify(task)).to.equal(isLost ? 'failed' : 'succeeded');
      expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', isLost ? 'refund' : 'settlement']);
      expect(await rendersOf(stack, task)).to.have.length(1);
    });
  }

  /** With a key pair where the API takes one. The APIs of a vendor share the operator's secrets. */
  function upstreamOf([name, protocol, adapter]: (typeof MEDIA_APIS)[number]): readonly object[] {
    if (!VENDORS.includes(protocol)) return [];
    if (name === 'vertex') return [{ ...cloud.upstream, callback_secret: secretOf('vertex', 'callback') }];
    const { keyPair = false, addresses } = adapter;
    const url = `\${GENWAY_SIMULATOR_URL}/vendors/${protocol}`;
    const credential = keyPair
      ? { access_key: secretOf(protocol, 'access'), secret_key: secretOf(protocol, 'secret') }
      : { api_key: secretOf(protocol, 'key') };
    const api = name === protocol ? {} : { api: name.slice(protocol.length + 1) };
    const callback = { callback_secret: secretOf(protocol, 'callback') };
    const further = Object.fromEntries(Object.keys(addresses ?? {}).map((one) => [`${one}_url`, url]));
    return [{ name, protocol, base_url: url, ...api, ...credential, ...callback, ...further }];
  }

  it('the requests to Vertex AI and to Cloud Storage have tokens of the service account', () => {
    expect(cloud.refused).to.deep.equal([]);
    expect(cloud.issued.google).to.be.within(1, 2);
    for (const part of [':predictLongRunning', ':fetchPredictOperation', '/storage/v1/b/']) {
      expect(
        cloud.served.some((path) => path.includes(part)),
        part,
      ).to.equal(true);
    }
  });

  /** Unchanged, or as part of Base64 text or of an address. */
  const forms = VENDORS.flatMap((vendor) =>
    ['key', 'access', 'secret', 'callback'].map((what) => secretOf(vendor, what)),
  ).flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  ]);

  function expectNoSecretIn(text: string, where: string): void {
    expect(text.length, where).to.be.greaterThan(0);
    expect(
      [...forms, ...cloud.secrets()].filter((form) => text.includes(form)),
      where,
    ).to.deep.equal([]);
  }

  async function seenRequests(): Promise<readonly SeenRequest[]> {
    const { body } = await call<{ data: SeenRequest[] }>(`${stack.simulatorUrl}/_sim/requests?limit=2000`);
    return body.data;
  }

  it('the secrets reach each vendor in a header, and in no other part of a request', async () => {
    const seen = await seenRequests();
    for (const vendor of VENDORS) {
      const asked = seen.filter(({ path }) => path.startsWith(`/vendors/${vendor}/`) && !isElsewhere(path));
      const headers = JSON.stringify(asked.map(({ headers: sent }) => sent));
      const { keyPair = false } = MEDIA_PROTOCOLS[MEDIA_PROTOCOL_NAMES.find((name) => name === vendor) ?? 'http-jobs'];
      // A token names the access key, and is signed with the other.
      if (keyPair) expect(headers).to.contain('Bearer ey').and.not.to.contain(secretOf(vendor, 'secret'));
      else expect(headers).to.contain(secretOf(vendor, 'key'));
      for (const other of VENDORS) if (other !== vendor) expect(headers).not.to.contain(`-of-${other}-`);
    }
    expectNoSecretIn(JSON.stringify(seen.map(({ path, body }) => [path, body])), 'paths and bodies');
    const files = seen.filter(({ path }) => isElsewhere(path));
    expectNoSecretIn(JSON.stringify(files), 'requests for files at other origins');
  });

  it('the secrets appear in no log', async () => {
    const home = stack.environment['GENWAY_HOME'] ?? '';
    const logs = (await readdir(home)).filter((name) => name.endsWith('.log'));
    expect(logs).to.have.length.greaterThan(1);
    for (const log of logs) {
      const text = await readFile(join(home, log), 'utf8');
      if (text !== '') expectNoSecretIn(text, log);
    }
  });

  it('the secrets appear in no history', async () => {
    for (const { id } of tasks.values()) {
      const history = await stack.temporal.workflow.getHandle(id).fetchHistory();
      expectNoSecretIn(wordsIn(history).join('\n'), `the history of ${id}`);
    }
  });

  it('the secrets appear in no table', async () => {
    const { rows: tables } = await stack.database.raw<{ rows: { name: string }[] }>(
      `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const contents = await Promise.all(
      tables.map(async ({ name }) => {
        const { rows } = await stack.database.raw<{ rows: { row: string }[] }>(
          `SELECT t::text AS row FROM ${name} AS t`,
        );
        return rows.map(({ row }) => row).join('\n');
      }),
    );
    expectNoSecretIn(contents.join('\n'), 'the database');
  });

  it('the secrets appear in no answer', async () => {
    for (const { id } of tasks.values()) {
      for (const [path, key] of [
        [`/v1/tasks/${id}`, apiKey],
        [`/admin/v1/tasks/${id}`, stack.adminToken],
        [`/admin/v1/tasks/${id}/explanation`, stack.adminToken],
      ] as const) {
        const { status, body } = await call(`${stack.baseUrl}${path}`, { key });
        expect(status, path).to.equal(200);
        expectNoSecretIn(JSON.stringify(body), path);
      }
    }
  });
});

/** Whether the simulator serves the file at another origin than the vendor's API. */
function isElsewhere(path: string): boolean {
  return /^\/vendors\/[\w-]+\/files\//.test(path);
}

/** Every text in a document, including text in bytes. */
function wordsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('utf8')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(wordsIn);
}

import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { findRefusal } from '../../db/queries/configurations.ts';
import { connectGenway, type Genway } from '../support/genway.ts';
import { call, useTestStack } from '../support/stack.ts';
import { useTestFolder } from '../support/started.ts';

const MODEL = 'textd-v2.6-flash';
const PRICES = "prices: { input: '0.098', output: '0.196', cached_input: '0.0098', cache_write: '0.098' }";
const DOUBLED = "prices: { input: '0.196', output: '0.392', cached_input: '0.0196', cache_write: '0.196' }";
/** 1,000 input and 50 output tokens. */
const CHARGE = { first: 107_800_000n, doubled: 215_600_000n };
const WITH_IMAGE = { model: 'vidtwo-1.1', images: ['https://example.com/x.png'] };
/** One for each address. */
const CLIENTS = 2;
const WAIT: { readonly timeoutMs: number; readonly pauseMs?: number } = { timeoutMs: PATIENCE_MS, pauseMs: 50 };

interface Usage {
  readonly catalogue_version: string;
  readonly charges: string[];
}

describe('a new version of the operator’s files in a running system', () => {
  const folder = useTestFolder();
  let catalogue: string;
  let genway: Genway;
  let apiKey: string;

  const stack = useTestStack(async () => {
    catalogue = await readFile('catalogue/catalogue.yaml', 'utf8');
    await write((text) => text);
    const env = { GENWAY_CATALOGUE: join(folder, 'catalogue.yaml'), GENWAY_PROVIDERS: join(folder, 'upstreams.yaml') };
    await writeFile(env.GENWAY_PROVIDERS, UPSTREAMS);
    return { env: { ...env, UPSTREAM: 'placeholder' } };
  });
  before(async () => {
    await writeFile(join(folder, 'upstreams.yaml'), UPSTREAMS.replaceAll('http://127.0.0.1:9', stack.simulatorUrl));
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
    genway = await connectGenway(stack);
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
  });

  const UPSTREAMS = `media:
  - { name: simulator, protocol: http-jobs, base_url: http://127.0.0.1:9, api_key: simulator, callback_secret: simulator-secret-0 }
text:
  - { name: simulator, base_url: http://127.0.0.1:9, api_key: simulator }
`;

  /** Replaces the catalogue atomically, as a deployment does. */
  async function write(change: (text: string) => string): Promise<void> {
    catalogue = change(catalogue);
    await writeFile(join(folder, 'catalogue.yaml.new'), catalogue);
    await rename(join(folder, 'catalogue.yaml.new'), join(folder, 'catalogue.yaml'));
  }

  const versioned = (version: string) => (text: string) => text.replace(/^version: .*$/m, `version: '${version}'`);

  /** Sends requests of several clients in a loop over both addresses. @returns ends them, with their statuses */
  function load(): () => Promise<ReadonlySet<number>> {
    const statuses = new Set<number>();
    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const base = index % 2 === 0 ? stack.baseUrl : stack.textBaseUrl;
      while (!over.signal.aborted) {
        const { status } = await call(`${base}/v1/chat/completions`, {
          key: apiKey,
          body: {
            model: MODEL,
            max_tokens: 100,
            messages: [{ role: 'user', content: '[sim:prompt=1000,tokens=50,delay_ms=100]' }],
          },
        });
        statuses.add(status);
      }
    });
    return async () => {
      over.abort();
      await Promise.all(clients);
      return statuses;
    };
  }

  /** The charges by version of the catalogue. */
  async function usage(): Promise<readonly Usage[]> {
    const { rows } = await stack.database.raw<{ rows: Usage[] }>(
      `SELECT catalogue_version, array_agg(DISTINCT charge::text ORDER BY charge::text) AS charges
       FROM text_requests WHERE outcome = 'succeeded' GROUP BY 1 ORDER BY min(created_at)`,
    );
    return rows;
  }

  /** Waits until the api, the text and the worker process all have that version. */
  async function everywhere(version: string, wait = WAIT): Promise<void> {
    await waitUntil(async () => {
      const configurations = stack.database('configurations').whereNull('refusal');
      expectEveryKind(await configurations.where({ catalogue_version: version }).pluck('process'));
    }, wait);
  }

  const until = (version: string) =>
    waitUntil(async () => expect((await usage()).at(-1)?.catalogue_version).to.equal(version), WAIT);

  const createVideo = (body: object) =>
    call<{ data: { id: string } }>(`${stack.baseUrl}/v1/videos/tasks`, { key: apiKey, body });

  const untilTask = (id: string, state: { readonly status: string; readonly provider: string }) =>
    waitUntil(async () => {
      expect(await stack.database('tasks').where({ id }).first('status', 'provider')).to.deep.equal(state);
    }, WAIT);

  it('changes prices under load: no request fails, and each request pays the price of its admission', async () => {
    // contract 4.11:44
    const end = load();
    await until('2026-10-01');
    await write((text) => versioned('doubled')(text.replace(PRICES, DOUBLED)));
    await everywhere('doubled');
    await until('doubled');
    expect([...(await end())]).to.deep.equal([200]);
    expect(await usage()).to.deep.equal([
      { catalogue_version: '2026-10-01', charges: [String(CHARGE.first)] },
      { catalogue_version: 'doubled', charges: [String(CHARGE.doubled)] },
    ]);
  });

  it('leaves the previous version in force under load when it is invalid, and every process reports the reason', async () => {
    // contract 4.11:42 4.11:44
    const end = load();
    const right = catalogue;
    await write((text) => versioned('broken')(text).replace(`id: ${MODEL}`, 'idd: lost'));
    expect(await genway('config', 'apply')).to.match(/"text\.families\[\d+\]\.models\[\d+\]\.idd?".*bad_request/s);
    await waitUntil(async () => expect(await genway('config', 'show')).to.match(/refusal +\S.*idd/s), WAIT);
    const metrics = await fetch(`${stack.baseUrl}/metrics`, {
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    expect(await metrics.text()).to.match(/^genway_configuration_refused 1$/m);
    expect(await genway('config', 'show')).to.match(/catalogue_version +doubled/);
    await write(() => right);
    await waitUntil(async () => expect(await genway('config', 'show')).to.match(/refusal +-$/m), WAIT);
    expect([...(await end())]).to.deep.equal([200]);
  });

  it('is refused by every process when it has other prices under a version that has charged', async () => {
    // contract 4.11:42
    const right = catalogue;
    const reason = 'catalogue doubled was already used with different prices for textd-v2.6-flash';
    await write((text) => text.replace(DOUBLED, PRICES));
    expect(await genway('config', 'apply')).to.include(reason);
    await waitUntil(async () => {
      expectEveryKind(await stack.database('configurations').whereLike('refusal', `${reason}%`).pluck('process'));
    }, WAIT);
    expect((await findRefusal(stack.database))?.refusal).to.include(reason);
    const worker = stack.database('configurations').whereLike('process', 'worker%').orderBy('id', 'desc');
    expect(await worker.first('catalogue_version')).to.deep.equal({ catalogue_version: null });
    await write(() => right);
    await waitUntil(async () => expect(await findRefusal(stack.database)).to.equal(null), WAIT);
  });

  it('reaches every process at SIGHUP, although the file changes between any two checks', async () => {
    const end = load();
    const over = new AbortController();
    const restless = keepWriting(over.signal);
    // A check without SIGHUP skips a file that changed since the check before.
    await waitUntil(async () => {
      for (const process of [stack.api, stack.text, stack.worker]) process.hangUp();
      await everywhere('restless', { timeoutMs: 1 });
    }, WAIT);
    over.abort();
    await restless;
    expect([...(await end())]).to.deep.equal([200]);
  });

  /** A version with ever more comments. */
  async function keepWriting(signal: AbortSignal): Promise<void> {
    const settled = versioned('restless')(catalogue);
    for (let number = 0; !signal.aborted; number += 1) {
      await write(() => `${settled}\n# ${number}\n`);
      await setTimeout(20);
    }
    await write(() => settled);
  }

  it('changes nothing when it is invalid: every process refuses it at SIGHUP', async () => {
    const right = catalogue;
    await write((text) => versioned('wrong')(text).replace(`id: ${MODEL}`, 'idd: lost'));
    for (const process of [stack.api, stack.text, stack.worker]) process.hangUp();
    await waitUntil(async () => {
      expectEveryKind(await stack.database('configurations').whereLike('refusal', '%idd%').pluck('process'));
    }, WAIT);
    expect(await genway('config', 'show')).to.match(/catalogue_version +restless/);
    await write(() => right);
  });

  it('changes a limit under load', async () => {
    const end = load();
    const create = async () => (await createVideo({ model: 'vidone-3.0', prompt: 'x', duration: 20 })).status;
    expect(await create()).to.equal(201);
    await write((text) =>
      versioned('shorter')(text.replace('{ min: 2, max: 30, default: 5 }', '{ min: 2, max: 10, default: 5 }')),
    );
    await everywhere('shorter');
    expect(await create()).to.equal(400);
    expect([...(await end())]).to.deep.equal([200]);
  });

  it('renders over an upstream that was missing when the processes started', async () => {
    const upstreams = await readFile(join(folder, 'upstreams.yaml'), 'utf8');
    const [studio = ''] = upstreams.match(/^ {2}- \{ name: simulator, protocol.*$/m) ?? [];
    const added = studio.replace('name: simulator', 'name: studio, concurrent_steps: 5');
    await writeFile(join(folder, 'upstreams.yaml'), upstreams.replace('text:', `${added}\ntext:`));
    await write((text) =>
      versioned('with studio')(
        text.replace('provider: simulator, model: vidtwo-1.1 }', 'provider: studio, model: vidtwo-1.1 }'),
      ),
    );
    await everywhere('with studio');
    const { body } = await createVideo({ ...WITH_IMAGE, prompt: 'x' });
    await untilTask(body.data.id, { status: 'succeeded', provider: 'studio' });
  });

  it('removes an upstream under load: its tasks complete there, and new tasks use another upstream', async () => {
    const end = load();
    const create = async () => (await createVideo({ ...WITH_IMAGE, prompt: '[sim:render_ms=5000]' })).body.data.id;
    const there = await create();
    await untilTask(there, { status: 'processing', provider: 'studio' });
    const upstreams = await readFile(join(folder, 'upstreams.yaml'), 'utf8');
    await writeFile(join(folder, 'upstreams.yaml'), upstreams.replace(/^ {2}- \{ name: studio.*\n/m, ''));
    await write((text) =>
      versioned('without studio')(
        text.replace('provider: studio, model: vidtwo-1.1 }', 'provider: simulator, model: vidtwo-1.1 }'),
      ),
    );
    await everywhere('without studio');
    const elsewhere = await create();
    await untilTask(there, { status: 'succeeded', provider: 'studio' });
    await untilTask(elsewhere, { status: 'succeeded', provider: 'simulator' });
    expect([...(await end())]).to.deep.equal([200]);
  });
});

/** @param processes each with its kind as the first word */
function expectEveryKind(processes: readonly string[]): void {
  expect(new Set(processes.map((name) => name.split(' ')[0]))).to.have.all.keys('api', 'text', 'worker');
}

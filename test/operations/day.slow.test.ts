/**
 * The day of a lone operator of Genway: from files with mistakes to the end of the month, by the `genway` command only.
 * docs/day.md is its output, which this test writes (GENWAY_WRITE_DAY=1) or compares.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { copyDatabase } from '../support/database.ts';
import { field, runGenway } from '../support/genway.ts';
import { call, type StackProcess, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, taskWhen, taskWhenFinal } from '../support/tasks.ts';
import { chapterIn, chapterOf, shapeOf, type Step, withChapter } from './transcript.ts';

const DOCUMENT = 'docs/day.md';
const FOLDER = '/etc/genway';
const MODEL = 'textd-v2.6-flash';
const PRICES = "prices: { input: '0.098', output: '0.196', cached_input: '0.0098', cache_write: '0.098' }";
const DEARER = "prices: { input: '0.196', output: '0.392', cached_input: '0.0196', cache_write: '0.196' }";
const CLIENTS = 2;
/** The lines of an export to show: its columns, and the first rows of this day. */
const EXPORTED_LINES = 3;
const WAIT = { timeoutMs: PATIENCE_MS, pauseMs: 100 };

const upstreamsFile = (address: string, key: string): string => `media:
  - { name: simulator, protocol: http-jobs, base_url: ${address}, api_key: ${key} }
text:
  - { name: simulator, base_url: ${address}, api_key: ${key} }
`;

describe('a day of an operator', function () {
  this.timeout(600_000);
  const steps: Step[] = [];
  let folder: string;
  let stack: TestStack;
  let environment: NodeJS.ProcessEnv;
  let catalogue: string;
  /** The secrets of the processes, once they differ from those at the start. */
  let secrets: Readonly<Record<string, string>> = {};

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-day-'));
    const files = {
      GENWAY_CATALOGUE: join(folder, 'catalogue.yaml'),
      GENWAY_PROVIDERS: join(folder, 'upstreams.yaml'),
    };
    const env = { ...files, VENDOR_KEY: 'simulator' };
    stack = await startTestStack({ env, processes: ['api', 'text', 'worker'] });
    environment = stack.environment;
    catalogue = await readFile('catalogue/catalogue.yaml', 'utf8');
  });
  after(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** Replaces the file atomically, as a deployment does. */
  async function write(name: string, text: string): Promise<void> {
    await writeFile(join(folder, `${name}.new`), text);
    await rename(join(folder, `${name}.new`), join(folder, name));
  }

  async function start(...processes: readonly StackProcess[]): Promise<void> {
    await Promise.all(processes.map((process) => process.start(secrets)));
  }

  /** Restarts one process after another, so that one always answers. */
  async function restartEach(...processes: readonly StackProcess[]): Promise<void> {
    for (const process of processes) {
      await process.stop();
      await process.start(secrets);
    }
  }

  /** Stops all processes, so that no connection to the database remains. */
  async function killAll(): Promise<void> {
    await Promise.all([stack.api.kill(), stack.text.kill(), stack.worker.kill()]);
  }

  function step(heading: string, words: string): void {
    steps.push({ heading, words, lines: [] });
  }

  /** Runs the command as an operator does, and keeps its output. */
  async function genway(...words: string[]): Promise<string> {
    const printed = (await runGenway(words, environment)).replaceAll(folder, FOLDER).trimEnd();
    const typed = words.map((word) => (/^[\w.:/@-]+$/.test(word) ? word : `'${word}'`)).join(' ');
    const hidden = printed.replace(/\b(sk-|ga-|whsec_)[^\s…]+/g, '$1…');
    const lines = hidden === '' ? [] : hidden.split(/\r?\n/);
    const isExport = words[1] === 'export';
    const shown = isExport ? lines.slice(0, EXPORTED_LINES) : lines;
    const command = `$ genway ${typed.replaceAll(folder, FOLDER)}${isExport ? ` | head -${EXPORTED_LINES}` : ''}`;
    steps.at(-1)?.lines.push(command, ...shown);
    return printed;
  }

  /** Sends requests in a loop, each to a process that answers. @returns ends them, with their statuses */
  function load(apiKey: string): () => Promise<readonly number[]> {
    const statuses = new Set<number>();
    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const [base, other] = index % 2 === 0 ? [stack.baseUrl, stack.textBaseUrl] : [stack.textBaseUrl, stack.baseUrl];
      while (!over.signal.aborted) {
        const body = {
          model: MODEL,
          max_tokens: 100,
          messages: [{ role: 'user', content: '[sim:tokens=50,delay_ms=100]' }],
        };
        const ask = (at: string) => call(`${at}/v1/chat/completions`, { key: apiKey, body });
        statuses.add((await ask(base).catch(() => ask(other))).status);
      }
    });
    return async () => {
      over.abort();
      await Promise.all(clients);
      return [...statuses];
    };
  }

  it('prints the commands and outputs of docs/day.md', async () => {
    await fillFilesWithMistakes();
    await correctThem();
    await start(stack.api, stack.text, stack.worker);
    const customer = await takeOnACustomer();
    await changePrices(customer.apiKey);
    await replaceAToken(customer.apiKey);
    await replaceSecrets(customer);
    await stopTheCustomer(customer);
    await restoreABackup();
    await closeTheDay(customer.accountId);

    const document = await readFile(DOCUMENT, 'utf8');
    const chapter = chapterOf(steps);
    if (process.env['GENWAY_WRITE_DAY'] === '1') await writeFile(DOCUMENT, withChapter(document, chapter));
    else expect(shapeOf(chapter)).to.equal(shapeOf(chapterIn(document)));
  });

  async function fillFilesWithMistakes(): Promise<void> {
    step('Files with mistakes', 'The command reports each mistake with its file, its line and the allowed values.');
    await write('catalogue.yaml', catalogue.replace(`id: ${MODEL}`, `id: ${MODEL}\n          reasonning: false`));
    await write('upstreams.yaml', upstreamsFile('htp://vendor.example', '${VENDOR_KEI}'));
    expect(await genway('config', 'check')).to.match(/VENDOR_KEI/);
    await write('upstreams.yaml', upstreamsFile('htp://vendor.example', '${VENDOR_KEY}'));
    expect(await genway('config', 'check'))
      .to.match(/base_url/)
      .and.match(/reasonning/);
    await write('catalogue.yaml', catalogue);
    await write(
      'upstreams.yaml',
      upstreamsFile(stack.simulatorUrl, '${VENDOR_KEY}').replace('name: simulator', 'name: vendor'),
    );
    expect(await genway('config', 'check')).to.match(/simulator/);
  }

  async function correctThem(): Promise<void> {
    step('Files without mistakes', 'The processes can start with these files.');
    await write('upstreams.yaml', upstreamsFile(stack.simulatorUrl, 'simulator'));
    expect(await genway('config', 'check')).to.match(/^No mistakes/);
  }

  async function takeOnACustomer(): Promise<{ readonly accountId: string; readonly apiKey: string }> {
    step(
      'A customer',
      'The operator creates an account with a payment, promo credit that expires, and a key with limits.',
    );
    const accountId = field(await genway('accounts', 'create', 'Acme', '--external-id', 'crm-1742'), 'id');
    await genway('accounts', 'top-up', accountId, '100', '--reference', 'invoice-2031');
    const gift = ['--expires-at', '2099-01-01T00:00:00Z', '--reference', 'launch', '--reason', 'we launch'];
    expect(field(await genway('accounts', 'grant-promo', accountId, '5', ...gift), 'available_usd')).to.equal('5');
    const key = await genway('keys', 'create', accountId, '--name', 'server', '--usage-limit-usd', '50');
    return { accountId, apiKey: field(key, 'api_key') };
  }

  async function changePrices(apiKey: string): Promise<void> {
    step('Other prices, under load', 'No request fails, and the price of each request is the price at its admission.');
    const end = load(apiKey);
    const dearer = catalogue.replace(/^version: .*$/m, `version: '2099-01-01'`).replace(PRICES, DEARER);
    await write('catalogue-next.yaml', dearer);
    expect(await genway('config', 'diff', join(folder, 'catalogue-next.yaml'))).to.include(MODEL);
    await write('catalogue.yaml', dearer);
    expect(field(await genway('config', 'apply'), 'catalogue_version')).to.equal('2099-01-01');
    await waitUntil(async () => {
      const taken = await stack.database('configurations').where({ catalogue_version: '2099-01-01' });
      expect(taken).to.have.length(3);
    }, WAIT);
    await genway('config', 'history');
    await genway('models', 'disable', 'vidone-3.0', '--reason', 'wrong colours since the last release');
    await genway('models', 'enable', 'vidone-3.0', '--reason', 'the vendor corrected it');
    expect(await end()).to.deep.equal([200]);
  }

  async function replaceAToken(apiKey: string): Promise<void> {
    step(
      'Another admin token, under load',
      'Both tokens are valid until the operator revokes the first token; then no process accepts the first token.',
    );
    const end = load(apiKey);
    const first = await genway('admin-tokens', 'create', 'Ada', '--role', 'operator');
    const second = await genway('admin-tokens', 'create', 'Ada', '--role', 'operator');
    environment = { ...environment, GENWAY_ADMIN_TOKEN: field(second, 'admin_token') };
    await genway('admin-tokens', 'revoke', field(first, 'id'));
    const refused = await call(`${stack.baseUrl}/admin/v1/models`, { key: field(first, 'admin_token') });
    expect(refused.status).to.equal(401);
    expect(await end()).to.deep.equal([200]);
  }

  async function replaceSecrets({ accountId, apiKey }: { accountId: string; apiKey: string }): Promise<void> {
    step(
      'Another pepper and another encryption key, under load',
      'The rotation restarts the processes one by one, three times ([replacing secrets](backup.md#replacing-secrets)): first with the new secrets as second values, ' +
        'then with the new secrets as first values, and at last without the old secrets. No request fails, and the API key of the customer does not change.',
    );
    await genway('webhooks', 'create', accountId, 'https://acme.example/hooks');
    const { GENWAY_KEY_PEPPER: pepper = '', GENWAY_ENCRYPTION_KEY: key = '' } = stack.environment;
    const [newPepper, newKey] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const end = load(apiKey);
    secrets = { GENWAY_KEY_PEPPER: `${pepper},${newPepper}`, GENWAY_ENCRYPTION_KEY: `${key},${newKey}` };
    await restartEach(stack.api, stack.text);
    const first = { GENWAY_KEY_PEPPER: newPepper, GENWAY_ENCRYPTION_KEY: newKey };
    secrets = { GENWAY_KEY_PEPPER: `${newPepper},${pepper}`, GENWAY_ENCRYPTION_KEY: `${newKey},${key}` };
    await restartEach(stack.api, stack.text);
    const operators = environment;
    environment = { ...operators, ...secrets };
    await call(`${stack.baseUrl}/v1/balance`, { key: apiKey });
    expect(await genway('secrets', 'reencrypt'))
      .to.match(/webhook_endpoints: 1 rows looked at, 1 encrypted anew/)
      .and.match(/until they are next used: 0$/);
    secrets = first;
    await restartEach(stack.api, stack.text);
    environment = { ...operators, ...first };
    expect(await end()).to.deep.equal([200]);
  }

  async function stopTheCustomer({ accountId, apiKey }: { accountId: string; apiKey: string }): Promise<void> {
    step(
      'A customer is stopped',
      'After the suspension, no key of the account works in any process until the operator reopens the account.',
    );
    const ask = async () => (await call(`${stack.baseUrl}/v1/balance`, { key: apiKey })).status;
    await genway('accounts', 'suspend', accountId, '--reason', 'card stolen, ticket 4711');
    expect(await ask()).to.not.equal(200);
    await genway('accounts', 'reopen', accountId, '--reason', 'new card');
    expect(await ask()).to.equal(200);
    expect(await genway('find', accountId)).to.include('card stolen');
    expect(await genway('actions', '--author', 'Ada', '--limit', '5')).to.include('suspendAccount');
  }

  async function restoreABackup(): Promise<void> {
    // Without webhooks, whose next attempts would continue for as long as the address does not answer.
    const { GENWAY_KEY_PEPPER: pepper = '' } = secrets;
    const { apiKey } = await stack.createAccount({ pepper });
    step(
      'A backup is restored',
      'The operator restores the database to a time at which a video was still rendering. Since then, the task has succeeded: ' +
        'the restored ledger has no charge, but Temporal has the outcome.',
    );
    const { id } = await createTask(stack, apiKey, 'A kite over the sea [sim:render_ms=3000]');
    await taskWhen(stack, apiKey, id, 'processing');
    await killAll();
    const backup = await copyDatabase(stack.database, stack.environment['DATABASE_URL'] ?? '');
    await start(stack.api, stack.worker);
    await taskWhenFinal(stack, apiKey, id);
    await stack.temporal.workflow.getHandle(id).result();
    await killAll();
    await backup.restore();
    expect(await genway('recover')).to.match(new RegExp(`${id}\\W+charged`));
    await start(stack.api, stack.worker);
    expect((await taskWhenFinal(stack, apiKey, id)).status).to.equal('succeeded');
  }

  async function closeTheDay(accountId: string): Promise<void> {
    step(
      'The end of the month',
      'Reconciliation has no findings, finance has its files, and a month can be closed after its end.',
    );
    const month = new Date().toISOString().slice(0, 7);
    await genway('accounts', 'statement', accountId, '--month', month);
    expect(await genway('reconcile')).to.match(/: clean$/);
    expect((await genway('months', 'export', month, '--csv')).split('\n').length).to.be.above(EXPORTED_LINES);
    expect(await genway('months', 'close', month)).to.include('can be closed from');
    await genway('recover', '--dry-run');
  }
});

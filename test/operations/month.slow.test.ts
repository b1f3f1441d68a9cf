/**
 * A month of a reseller: payments and returned payments, a price list, a budget, renders and text, a late result, a
 * vendor's bill with three errors, an erasure, and closed balances that agree with the sums of this test.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../support/eventually.ts';
import { formatUsd, parseUsd, type PicoUsd } from '../../domain/money.ts';
import { parseMonth } from '../../domain/month.ts';
import { sumTransfersUntil } from '../support/factories.ts';
import { fileSweepsOf } from '../support/files.ts';
import { field, runGenway } from '../support/genway.ts';
import { announcePaymentEvent } from '../support/payments.ts';
import { call, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, type TaskBody, taskWhenFinal } from '../support/tasks.ts';

const SECRET = 'whsec_of_a_month';
const WAIT = { timeoutMs: PATIENCE_MS, pauseMs: 200 };
/** 5 seconds of vidone-3.0, and their price. */
const [PRICE, COST] = [parseUsd('0.45'), parseUsd('0.25')];
/** USD for a token of textc-M3, with a tenth less. */
const [INPUT, OUTPUT] = [parseUsd('0.000000189'), parseUsd('0.000000756')];
const LATE = 'A lighthouse [sim:render_ms=8000,unstoppable]';

describe('a month of a reseller', () => {
  const month = new Date().toISOString().slice(0, 7);
  let folder: string;
  let stack: TestStack;
  let accountId: string;
  let apiKey: string;
  /** Added up during the month. */
  let charged: PicoUsd = 0n;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'genway-month-'));
    const catalogue = await readFile('catalogue/catalogue.yaml', 'utf8');
    const route = 'route: { provider: simulator, model: vidone-3.0 }';
    const withCost = catalogue.replace(route, route.replace(' }', `, cost: { usd_per_second: '0.05' } }`));
    expect(withCost).not.to.equal(catalogue);
    await writeFile(join(folder, 'catalogue.yaml'), withCost);
    stack = await startTestStack({
      env: {
        GENWAY_CATALOGUE: join(folder, 'catalogue.yaml'),
        GENWAY_PAYMENT_WEBHOOK_SECRET: SECRET,
        GENWAY_TASK_DEADLINE_S: '6',
        GENWAY_SELLER: 'Acme GmbH | Hauptstrasse 1 | Berlin',
        GENWAY_TAXES: 'VAT 19',
      },
    });
    await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
    ({ accountId, apiKey } = await stack.createAccount());
  });
  after(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const genway = (...words: string[]): Promise<string> => runGenway(words, stack.environment);

  /** As Stripe announces it. @returns the outcome */
  async function announce(type: string, object: object): Promise<string> {
    const answer = await announcePaymentEvent(stack.baseUrl, SECRET, { type, data: { object } });
    const read: { data?: { outcome: string } } = JSON.parse(await answer.text());
    return read.data?.outcome ?? `${answer.status}`;
  }

  const pay = (id: string, cents: number): Promise<string> =>
    announce('checkout.session.completed', {
      payment_intent: id,
      payment_status: 'paid',
      amount_total: cents,
      currency: 'usd',
      metadata: { account_id: accountId },
    });

  async function render(prompt: string): Promise<TaskBody> {
    const { id } = await createTask(stack, apiKey, prompt);
    const task = await taskWhenFinal(stack, apiKey, id);
    if (task.status === 'succeeded') charged += PRICE;
    return task;
  }

  async function setBudget(usd: string): Promise<void> {
    const budget = ['--end-user', 'grace', '--usage-limit-usd', usd, '--limit-period', 'month'];
    expect(await genway('budgets', 'set', accountId, ...budget)).to.include('grace');
  }

  /** @returns the status of the answer */
  async function ask(user: string): Promise<number> {
    const { status, body } = await call<{ usage?: { prompt_tokens: number; completion_tokens: number } }>(
      `${stack.textBaseUrl}/v1/chat/completions`,
      {
        key: apiKey,
        body: { model: 'textc-M3', messages: [{ role: 'user', content: 'Name a lighthouse.' }], max_tokens: 64, user },
      },
    );
    const { prompt_tokens: input = 0, completion_tokens: output = 0 } = body.usage ?? {};
    charged += BigInt(input) * INPUT + BigInt(output) * OUTPUT;
    return status;
  }

  async function jobOf({ id }: TaskBody): Promise<string> {
    const row = await stack.database<{ task_id: string; job_id: string }>('submissions').where({ task_id: id }).first();
    return row?.job_id ?? '';
  }

  it('ends with closed balances that agree with its sales, payments and refunds', async () => {
    expect(await pay('pi_1', 2_000)).to.equal('credited');
    expect(await pay('pi_2', 1_000)).to.equal('credited');
    const refund = { payment_intent: 'pi_2', amount_refunded: 400, currency: 'usd' };
    expect(await announce('charge.refunded', refund)).to.equal('taken_back');
    const dispute = { id: 'dp_1', payment_intent: 'pi_1', amount: 600, currency: 'usd', status: 'needs_response' };
    expect(await announce('charge.dispute.created', dispute)).to.equal('taken_back');
    expect((await call(`${stack.baseUrl}/v1/balance`, { key: apiKey })).status, 'suspended').to.equal(401);
    expect(await announce('charge.dispute.closed', { ...dispute, status: 'won' })).to.equal('given_back');
    await genway('accounts', 'reopen', accountId, '--reason', 'she won', '--author', 'ada');

    const because = ['--reason', 'a contract', '--author', 'ada'];
    await genway('price-lists', 'create', 'partners', '--factor', '0.9', ...because);
    await genway('accounts', 'price', accountId, '--price-list', 'partners', ...because);
    await waitUntil(async () => {
      const { body } = await call<{ data: readonly { id: string; pricing?: unknown }[] }>(
        `${stack.baseUrl}/v1/models`,
        { key: apiKey },
      );
      expect(JSON.stringify(body.data.find(({ id }) => id === 'vidone-3.0'))).to.include('0.09');
    }, WAIT);

    await setBudget('1');
    expect(await ask('grace')).to.equal(200);
    await setBudget('0.0000001');
    await waitUntil(async () => expect(await ask('grace')).to.equal(402), WAIT);
    expect(await ask('somebody else')).to.equal(200);

    const renders = [await render('A kite'), await render('A lighthouse'), await render('A harbour')];
    const failed = await render('A storm [sim:fail=content_policy_violation]');
    const late = await render(LATE);
    expect([...renders, failed, late].map(({ status }) => status)).to.deep.equal([
      ...Array(3).fill('succeeded'),
      'failed',
      'failed',
    ]);
    await waitUntil(async () => {
      const { status } = await call(`${stack.baseUrl}/v1/tasks/${late.id}/claim`, { key: apiKey, method: 'POST' });
      expect(status).to.equal(200);
    }, WAIT);
    charged += PRICE;

    await billWithThreeFaults(renders, late);
    const before = await exported();
    await erase();
    await reconcile();
    const closed = await closeAtTheEnd();
    expect(field(closed, 'revenue_usd')).to.equal(formatUsd(charged));
    expect(field(closed, 'amounts_usd.topup')).to.equal('130');
    expect(field(closed, 'amounts_usd.adjustment'), 'of the refund; the dispute is even').to.equal('-4');
    await documentsAgree();
    const left = parseUsd(126) - charged;
    const shown = await genway('accounts', 'show', accountId);
    expect(field(shown, 'balances.available_usd')).to.equal(formatUsd(left));
    const lines = (await exported()).filter((line) => !line.includes('acknowledged_finding'));
    expect(lines, 'an erasure changes no books').to.deep.equal(before);
  });

  /** The receipts less the credit notes are the payments, and the invoice is the charges. */
  async function documentsAgree(): Promise<void> {
    const { to = new Date() } = parseMonth(month) ?? {};
    await sumTransfersUntil(stack.database, to);
    await stack.api.stop();
    await stack.api.start();
    const documents = await waitUntil(async () => {
      const path = `/admin/v1/accounts/${accountId}/documents`;
      const { body } = await call<{ data: readonly Readonly<Record<string, string>>[] }>(`${stack.baseUrl}${path}`, {
        key: stack.adminToken,
      });
      expect(body.data.map(({ kind }) => kind)).to.include('invoice');
      return body.data;
    }, WAIT);
    const sumOf = (wanted: string) =>
      documents.filter(({ kind }) => kind === wanted).reduce((sum, { total_usd: usd = '' }) => sum + parseUsd(usd), 0n);
    expect(formatUsd(sumOf('receipt') - sumOf('credit_note'))).to.equal('126');
    const [invoice = {}] = documents.filter(({ kind }) => kind === 'invoice');
    const shown = await genway('accounts', 'document', invoice['id'] ?? '');
    expect(field(shown, 'subtotal_usd')).to.equal(formatUsd(charged));
    expect(field(shown, 'month')).to.equal(month);
  }

  /** The vendor omits one render, charges too much for another, and has one that is not ours. */
  async function billWithThreeFaults([first, second]: readonly TaskBody[], late: TaskBody): Promise<void> {
    if (!first || !second) throw new Error('nothing was rendered');
    // The same on the last day of a month, whose jobs may be in the next bill.
    await stack.database.transaction(async (transaction) => {
      await transaction.raw('SET LOCAL session_replication_role = replica');
      await transaction('submissions').update({ submitted_at: new Date(`${month}-15T12:00:00Z`) });
    });
    const cost = formatUsd(COST);
    const lines = [
      `${await jobOf(first)},vidone-3.0,${cost}`,
      `${await jobOf(second)},vidone-3.0,0.40`,
      `${await jobOf(late)},vidone-3.0,${cost}`,
      'job_of_another_customer,vidone-3.0,1.00',
    ];
    const file = join(folder, 'bill.csv');
    await writeFile(file, `job,model,usd\n${lines.join('\n')}\n`);
    const columns = ['--job-column', 'job', '--model-column', 'model', '--amount-column', 'usd'];
    await genway('months', 'import-bill', month, 'sim', file, '--upstreams', 'simulator', ...columns);
    const differences = (await genway('months', 'bill', month, 'sim', '--csv')).split('\n').slice(1, -1);
    expect(differences.map((line) => line.split(',')[0])).to.have.members(['extra', 'missing', 'wrong_price']);
  }

  async function erase(): Promise<void> {
    await genway('accounts', 'erase', accountId);
    const sweep = fileSweepsOf(stack, { erasedAfterMs: 0 })['content of tasks'];
    while ((await sweep(stack.database, 100)) > 0);
    const prompts = await stack.database('tasks').whereRaw(`request::text ILIKE '%lighthouse%'`);
    expect(prompts).to.have.length(0);
  }

  async function reconcile(): Promise<void> {
    const report = await genway('reconcile');
    const [id = ''] = /rec_[0-9a-z]+/.exec(report) ?? [];
    const found = (await genway('reconciliations', 'show', id, '--csv')).split('\r\n').slice(1, -1);
    expect(
      found.map((line) => line.split(',')[0]),
      report,
    ).to.deep.equal(['vendor_bills']);
    await genway('reconciliations', 'acknowledge', id, '1', '--reason', 'paid', '--author', 'ada');
  }

  /** Long after its end: `now()` is later for every process that connects from here on. */
  async function closeAtTheEnd(): Promise<string> {
    await Promise.all([stack.api.stop(), stack.text.stop(), stack.worker.stop()]);
    await stack.database.raw(`
      CREATE SCHEMA later;
      CREATE FUNCTION later.now() RETURNS timestamptz LANGUAGE sql STABLE
        AS $$ SELECT pg_catalog.now() + interval '45 days' $$`);
    const { rows } = await stack.database.raw<{ rows: { name: string }[] }>('SELECT current_database() AS name');
    await stack.database.raw('ALTER DATABASE ?? SET search_path = later, pg_catalog, public', [rows[0]?.name ?? '']);
    await stack.database('reconciliations').update({
      created_at: stack.database.raw(`created_at + interval '45 days'`),
      finished_at: stack.database.raw(`finished_at + interval '45 days'`),
    });
    await stack.api.start();
    return genway('months', 'close', month, '--author', 'ada');
  }

  async function exported(): Promise<readonly string[]> {
    const lines = (await genway('months', 'export', month)).split('\n').filter((line) => line !== '');
    // The message of a failure is content, and erased.
    return lines.map((line) => line.replace(/"message":"[^"]*"/, ''));
  }
});

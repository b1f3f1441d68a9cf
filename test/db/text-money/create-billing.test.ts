import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pino from 'pino';
import type { TextCharge, TextOutcome } from '../../../db/text-money/billing.ts';
import type { AllowanceSettings } from '../../../db/text-money/allowances.ts';
import { createTextBilling, type TextBillingService } from '../../../db/text-money/create-billing.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { startTcpProxy, type TcpProxy } from '../../../lab/stack/tcp-proxy.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import type { TextModel } from '../../../catalogue/types.ts';
import type { Database } from '../../../db/database.ts';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import { deleteApiKey, findCaller } from '../../../db/queries/api-keys.ts';
import { RateCardChangedError } from '../../../db/queries/rate-cards.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { newId } from '../../../domain/ids.ts';
import { formatUsd } from '../../../domain/money.ts';
import { usageOf } from '../../../domain/text-tokens.ts';
import { createMetrics } from '../../../telemetry/metrics.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createAccount, createKey, reloadAccount, type TestKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { MEASURED, newHold, openTextLedger } from '../../support/text-money.ts';

const metrics = createMetrics();
/** Today at 12:00 UTC+8: a peak of texte-3 on every day. */
const NOON_IN_CHINA = new Date().setUTCHours(4, 0, 0, 0);

const NO_USAGE = usageOf(() => null);

const ANSWERED: TextOutcome = {
  status: 'succeeded',
  errorCode: null,
  usage: { ...NO_USAGE, inputTotal: 100, outputTotal: 50, reasoning: 20 },
  countedOutputTokens: 47,
  upstream: { provider: 'simulator', format: 'chat-completions', model: 'textc-M3' },
  failedAttempts: [],
  ...MEASURED,
  latencyMs: 120.4,
  firstByteMs: 30,
};
const FAILED: TextOutcome = {
  ...ANSWERED,
  status: 'failed',
  errorCode: 'processing_failed',
  usage: null,
  countedOutputTokens: 0,
  firstByteMs: null,
};

describe('billing of text', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let billing: TextBillingService;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    billing = open(testDatabase.url);
  });

  after(async () => {
    await billing.close();
    await testDatabase.drop();
  });

  function open(databaseUrl: string, allowances?: AllowanceSettings): TextBillingService {
    const log = pino({ level: 'silent' });
    return createTextBilling({
      database,
      databaseUrl,
      catalogue: CATALOGUE,
      log,
      metrics,
      ...(allowances && { allowances }),
    });
  }

  async function chargeOf(
    key: TestKey,
    settings: Partial<TextCharge> & { modelId?: string } = {},
  ): Promise<TextCharge> {
    const caller = await findCaller(database, key.digest);
    if (!caller) throw new Error('the key was deleted before');
    return {
      caller,
      model: modelOf(settings.modelId ?? 'texte-3'),
      catalogueVersion: CATALOGUE.version,
      priceList: null,
      endUser: null,
      budgets: [],
      batchId: null,
      format: 'chat-completions',
      streamed: true,
      requestId: newId('request'),
      startedAtMs: Date.now(),
      estimateInputTokens: () => 130,
      maxInputTokens: 130,
      maxOutputTokens: 200,
      isCachedFor1h: false,
      hasAudioInput: false,
      hasAudioOutput: false,
      characters: 0,
      audioSeconds: 0,
      choiceCount: 1,
      callCount: 1,
      uncounted: null,
      ...settings,
    };
  }

  async function fundedKey(fundedUsd = 1): Promise<TestKey> {
    return createKey(database, await createAccount(database, { fundedUsd }));
  }

  /** All of the account's money, including the holds of processes. */
  async function balanceOf({ accountId }: TestKey): Promise<bigint> {
    const { fundedAvailable, fundedReserved } = await reloadAccount(database, { id: accountId });
    return fundedAvailable + fundedReserved;
  }

  /** The charge of a request of a new account, and its record. */
  async function bill(
    outcome: TextOutcome,
    settings: Parameters<typeof chargeOf>[1] = {},
  ): Promise<{ spent: string; usage: Record<string, unknown> }> {
    const key = await fundedKey();
    const hold = await billing.hold(await chargeOf(key, settings));
    await hold.settle(outcome);
    const usage: Record<string, unknown> = await database('text_requests').where('id', hold.textRequestId).first();
    return { spent: formatUsd(10n ** 12n - (await balanceOf(key))), usage };
  }

  it('charges the reported usage at the price of the moment the request started', async () => {
    // contract 1:7 2.6:14 8.3:8 8.3:10
    const { spent, usage } = await bill(ANSWERED, { startedAtMs: NOON_IN_CHINA });
    // 100 × 0.05775 + 50 × 0.231 USD per million, at 1.6 times.
    expect(spent).to.equal('0.00002772');
    expect(usage).to.include({
      model: 'texte-3',
      outcome: 'succeeded',
      charge: '27720000',
      input_tokens: '100',
      output_tokens: '50',
      reasoning_tokens: '20',
      estimated: false,
      catalogue_version: CATALOGUE.version,
      upstream: 'simulator',
      latency_ms: 120,
    });
    expect(usage['modifiers']).to.deep.equal([{ kind: 'peak', factor: '1.6' }]);
  });

  it('charges cached input at its own rate', async () => {
    // contract 2.6:15
    const usage = { ...NO_USAGE, inputTotal: 100, cacheRead: 60, cacheWrite: 10, cacheWrite1h: 0, outputTotal: 0 };
    const { spent } = await bill({ ...ANSWERED, usage }, { modelId: 'texth-4-argon' });
    // 40 × 1 + 60 × 0.05 USD per million.
    expect(spent).to.equal('0.000043');
  });

  it('charges its own counts, marked as estimated, if the upstream reported none', async () => {
    // contract 8.3:8
    const { spent, usage } = await bill({ ...ANSWERED, usage: NO_USAGE }, { modelId: 'textf3.8-max' });
    // 130 × 1.40 + 47 × 4.20 USD per million.
    expect(spent).to.equal('0.0003794');
    expect(usage).to.include({ estimated: true, input_tokens: '130', output_tokens: '47' });
  });

  it('ignores invalid counts', async () => {
    const usage = { ...NO_USAGE, inputTotal: -5, outputTotal: 1.5 };
    expect((await bill({ ...ANSWERED, usage })).usage).to.include({ input_tokens: '130', output_tokens: '47' });
  });

  it('charges a client that left for the output produced until then', async () => {
    const started = { ...NO_USAGE, inputTotal: 100, outputTotal: 1 };
    const { usage } = await bill({ ...ANSWERED, status: 'disconnected', usage: started });
    expect(usage).to.include({ outcome: 'disconnected', input_tokens: '100', output_tokens: '47', estimated: true });
  });

  it('charges nothing when the client left before an upstream answered', async () => {
    // contract 8.3:12
    const left = { ...ANSWERED, status: 'disconnected', usage: null, upstream: null, countedOutputTokens: 0 } as const;
    expect((await bill(left)).spent).to.equal('0');
  });

  it('charges nothing for a failure, and records its code', async () => {
    // contract 1:8 8.3:11
    const { spent, usage } = await bill(FAILED);
    expect(spent).to.equal('0');
    expect(usage).to.include({ outcome: 'failed', error_code: 'processing_failed', charge: '0' });
  });

  it('charges above the estimate as far as the balance covers', async () => {
    const usage = { ...NO_USAGE, inputTotal: 400_000, outputTotal: 400_000 };
    const { spent, usage: row } = await bill({ ...ANSWERED, usage }, { modelId: 'textg-6-astra' });
    expect(spent).to.equal('1');
    expect(BigInt(String(row['absorbed']))).to.equal(BigInt(String(row['charge'])) - 10n ** 12n);
  });

  it('charges at most the context and the limit, whatever the upstream reports, and warns the operator', async () => {
    // contract 8.3:7
    const usage = { ...NO_USAGE, inputTotal: 9e15, cacheRead: 9e15, outputTotal: 9e15, reasoning: 9e15 };
    const { usage: row } = await bill({ ...ANSWERED, usage }, { choiceCount: 3 });
    expect(row).to.include({ input_tokens: '256000', cache_read_tokens: '256000', output_tokens: '600' });
    expect(await metrics.render()).to.match(/genway_text_usage_clamped_total\{upstream="simulator"\} [1-9]/);
  });

  it('holds for every answer that a request asks for', async () => {
    // contract 8.3:4
    const key = await fundedKey();
    await billing.hold(await chargeOf(key, { modelId: 'textg-6-sol', maxOutputTokens: 1_000, choiceCount: 128 }));
    const { fundedReserved } = await reloadAccount(database, { id: key.accountId });
    // 130 × 0.80 + 128,000 × 4.00 USD per million.
    expect(formatUsd(fundedReserved)).to.equal('0.512104');
  });

  it('holds for the prompt of every call that a request may take, and records their number', async () => {
    // contract 8.3:4 4.8:38
    const several = { modelId: 'textg-6-sol', maxOutputTokens: 1_000, choiceCount: 128, callCount: 128 };
    const key = await fundedKey();
    const hold = await billing.hold(await chargeOf(key, several));
    const { fundedReserved } = await reloadAccount(database, { id: key.accountId });
    // 128 times 130 × 0.80 + 1,000 × 4.00 USD per million.
    expect(formatUsd(fundedReserved)).to.equal('0.525312');
    const one = { usage: { ...NO_USAGE, inputTotal: 130, outputTotal: 9e9 }, countedOutputTokens: 0, choiceCount: 1 };
    await hold.settle({ ...ANSWERED, ...one, otherCalls: [{ ...one, isWhole: true }] });
    const [row] = await database('text_requests').where('account_id', key.accountId);
    expect(row).to.include({ calls: 2, input_tokens: '260', output_tokens: '2000' });
  });

  describe('the hold of a request without a bound', () => {
    const unbounded = {
      modelId: 'textg-6-sol',
      maxOutputTokens: null,
      maxInputTokens: 0,
      estimateInputTokens: () => 0,
    };

    it('covers the whole output of the model where the balance is ample', async () => {
      // contract 8.3:5
      const key = await fundedKey(10);
      const holds = [];
      for (let count = 0; count < 8; count += 1) holds.push(await billing.hold(await chargeOf(key, unbounded)));
      expect(holds.map(({ maxOutputTokens }) => maxOutputTokens)).to.deep.equal(Array(8).fill(128_000));
    });

    it('leaves room for other requests and answers', async () => {
      // contract 8.3:5
      const key = await fundedKey(0.1);
      const holds = [];
      for (const choiceCount of [1, 2, 1]) {
        holds.push(await billing.hold(await chargeOf(key, { ...unbounded, choiceCount })));
      }
      // 0.0328 of 0.1 USD, a third of 0.0672 for two, and a third of 0.0448.
      expect(holds.map(({ maxOutputTokens }) => maxOutputTokens)).to.deep.equal([8_192, 2_801, 3_735]);
    });

    it('covers at most the rest of the context after the prompt', async () => {
      // contract 8.3:5
      const hold = await billing.hold(
        await chargeOf(await fundedKey(100), {
          ...unbounded,
          maxInputTokens: 1_000_000,
          estimateInputTokens: () => 1_000_000,
        }),
      );
      expect(hold.maxOutputTokens).to.equal(50_000);
    });

    it('sets no bound where output costs nothing', async () => {
      const hold = await billing.hold(await chargeOf(await fundedKey(), { ...unbounded, modelId: 'textk-5.3-free' }));
      expect(hold.maxOutputTokens).to.equal(null);
    });

    it('fails if the balance does not cover even a short answer', async () => {
      // contract 8.3:6
      const error = await rejectionOf(billing.hold(await chargeOf(await fundedKey(0.004), unbounded)));
      expect(error).to.include({ code: 'insufficient_credits' });
      expect(String(error)).to.include('needs at least 0.004096 USD, but the balance is 0.004 USD');
    });
  });

  it('settles once, however often it is called', async () => {
    const key = await fundedKey();
    const hold = await billing.hold(await chargeOf(key));
    await Promise.all([hold.settle(ANSWERED), hold.settle(FAILED), hold.settle(ANSWERED)]);
    expect(await database('text_requests').where('account_id', key.accountId)).to.have.length(1);
  });

  describe('the admission of a request', () => {
    async function refusal(key: TestKey, settings: Parameters<typeof chargeOf>[1] = {}): Promise<ServiceError> {
      const error = await rejectionOf(billing.hold(await chargeOf(key, settings)));
      expect(error).to.be.instanceOf(ServiceError);
      return error as ServiceError;
    }

    it('refuses with 402 a request that the balance does not cover, and states the balance', async () => {
      // contract 7.2:5
      const error = await refusal(await fundedKey(0.001), { modelId: 'textg-6-astra', maxOutputTokens: 1_000_000 });
      expect(error).to.include({ code: 'insufficient_credits', status: 402 });
      expect(error.message).to.equal(
        'This request may cost up to 20.00052 USD, but the balance is 0.001 USD. Ask for fewer output tokens, or top up.',
      );
    });

    it('refuses with 402 a request beyond the limit of the key', async () => {
      // contract 5:11 7.2:5
      const account = await createAccount(database, { fundedUsd: 1 });
      const key = await createKey(database, account, { usageLimit: 1n });
      const error = await refusal(key);
      expect(error).to.include({ code: 'insufficient_credits', status: 402 });
      expect(error.message).to.include("0.000000000001 USD is left of the key's usage limit");
    });

    it('refuses with 402 an extreme output bound', async () => {
      // contract 4.8:12
      expect((await refusal(await fundedKey(), { maxOutputTokens: 1e300 })).status).to.equal(402);
    });

    it('refuses with 401 a key that was deleted after it was looked up', async () => {
      // contract 5:17
      const key = await fundedKey();
      const charge = await chargeOf(key);
      await deleteApiKey(database, key.id);
      const error = await rejectionOf(billing.hold(charge));
      expect(error).to.include({ code: 'invalid_api_key' });
      expect(error.message).to.include('deleted');
    });

    it('refuses with 403 models off the free list before the first top-up', async () => {
      // contract 5:15 5:26
      const key = await createKey(database, await createAccount(database, { signupUsd: 5 }));
      expect(await refusal(key)).to.include({ code: 'forbidden', status: 403 });
      expect(await refusal(key, { modelId: 'textk-5.3-flashx' })).to.include({ code: 'forbidden' });
    });

    it('refuses with 402 texth-4-argon on signup credit', async () => {
      // contract 5:22
      const key = await createKey(database, await createAccount(database, { signupUsd: 5, fundedUsd: 0.000001 }));
      const error = await refusal(key, { modelId: 'texth-4-argon' });
      expect(error).to.include({ code: 'insufficient_credits' });
      expect(error.message).to.include('the funded balance, which alone pays for texth-4-argon, is 0.000001 USD');
    });

    it('refuses with 429 and Retry-After a second free request in a minute, but not after a failed one', async () => {
      // contract 8.1:3
      const key = await createKey(database, await createAccount(database));
      const failed = await billing.hold(await chargeOf(key, { modelId: 'textk-5.3-free' }));
      await failed.settle(FAILED);
      await billing.hold(await chargeOf(key, { modelId: 'texth-3.8-flash-free' }));
      const error = await refusal(key, { modelId: 'textl-v4.1-flash-free' });
      expect(error).to.include({ code: 'rate_limit_exceeded', status: 429 });
      expect(error.retryAfterSeconds).to.be.within(1, 60);
    });

    it('refuses with 429 a free request after one that failed when its client had received part of the answer', async () => {
      const key = await createKey(database, await createAccount(database));
      const broken = await billing.hold(await chargeOf(key, { modelId: 'textk-5.3-free' }));
      await broken.settle({ ...FAILED, countedOutputTokens: 3, firstByteMs: 20 });
      expect(await refusal(key, { modelId: 'textk-5.3-free' })).to.include({ code: 'rate_limit_exceeded' });
    });
  });

  it('refuses to start when prices were changed without a new version', async () => {
    await billing.ready();
    const dearer = modelOf('textd-v2.5');
    const changed = { ...dearer, pricing: { ...dearer.pricing, rates: { ...dearer.pricing.rates, output: 1n } } };
    const models = new Map([[changed.id, changed]]);
    const other = createTextBilling({
      database,
      databaseUrl: testDatabase.url,
      catalogue: { ...CATALOGUE, textModels: models },
      log: pino({ level: 'silent' }),
      metrics,
    });
    expect(await rejectionOf(other.ready())).to.be.instanceOf(RateCardChangedError);
    await other.close();
  });

  describe('over connections that fail', () => {
    let proxy: TcpProxy;
    let other: TextBillingService;
    let otherId: string;

    beforeEach(async () => {
      const known = await database('processes').pluck('id');
      proxy = await startTcpProxy(testDatabase.url);
      // On a slow machine, a repeated write may take longer than requests usually wait.
      other = open(proxy.urlOf(testDatabase.url), { askTimeoutMs: 60_000 });
      await other.ready();
      // Its first write would delay the write of a test.
      const added = await waitUntil(
        async () => {
          const rows = await database('processes').whereNotIn('id', known).pluck('id');
          expect(rows).to.have.length(1);
          return rows;
        },
        { timeoutMs: PATIENCE_MS },
      );
      [otherId] = added;
      await other.ping();
    });
    afterEach(async () => {
      await other.close();
      await proxy.close();
    });

    const recordsOf = ({ accountId }: TestKey) =>
      database('text_requests').where('account_id', accountId).select('outcome', 'charge');
    const allowancesOf = ({ accountId }: TestKey) =>
      database('text_allowances').where('account_id', accountId).pluck('id');

    it('keeps charges in memory while the database is unavailable, and writes them when it is available again', async () => {
      const key = await fundedKey();
      const hold = await other.hold(await chargeOf(key));
      proxy.refuseNew();
      proxy.reset();
      const recorded = hold.settle(ANSWERED);
      await sleep(200);
      expect(await recordsOf(key)).to.deep.equal([]);
      proxy.refuseNew(false);
      await recorded;
      expect(await recordsOf(key)).to.have.length(1);
    });

    it('holds once when the answer to the write is lost, and records the request once', async () => {
      const key = await fundedKey();
      proxy.swallowAnswers();
      const held = other.hold(await chargeOf(key));
      await waitUntil(async () => expect(await allowancesOf(key)).to.have.length(1), { timeoutMs: PATIENCE_MS });
      proxy.reset();
      await (await held).settle(ANSWERED);
      const [record, ...more] = await recordsOf(key);
      expect(more).to.deep.equal([]);
      expect(record).to.include({ outcome: 'succeeded' });
      expect(await balanceOf(key)).to.equal(10n ** 12n - BigInt(record.charge));
    });

    for (const [what, forgets] of [
      ['taken for dead', false],
      ['forgotten', true],
    ] as const) {
      it(`writes a charge once when its commit was not acknowledged and the process was ${what} meanwhile`, async () => {
        const key = await fundedKey();
        const hold = await other.hold(await chargeOf(key));
        proxy.swallowAnswers();
        const settled = hold.settle(ANSWERED);
        await waitUntil(async () => expect(await recordsOf(key)).to.have.length(1), { timeoutMs: PATIENCE_MS });
        proxy.refuseNew();
        proxy.reset();
        await releaseAll(key.accountId);
        if (forgets) await database('processes').where({ id: otherId }).delete();
        proxy.refuseNew(false);
        await settled;
        // The process serves on.
        await (await other.hold(await chargeOf(key))).settle(ANSWERED);
        const records = await recordsOf(key);
        expect(records).to.have.length(2);
        const charged = records.reduce((sum, { charge }) => sum + BigInt(charge), 0n);
        expect(await balanceOf(key)).to.equal(10n ** 12n - charged);
      });
    }

    it('counts a request once when the answer to the write is lost', async () => {
      const key = await fundedKey();
      const uncounted = { limit: 5, counted: () => {}, count: async () => {} };
      proxy.swallowAnswers();
      const held = other.hold(await chargeOf(key, { uncounted }));
      await waitUntil(async () => expect(await allowancesOf(key)).to.have.length(1), { timeoutMs: PATIENCE_MS });
      proxy.reset();
      await (await held).settle(ANSWERED);
      expect(await database('request_windows').where({ api_key_id: key.id }).pluck('requests')).to.deep.equal(['1']);
    });

    it('answers 503 while the database is unavailable, and releases the holds of a late write', async () => {
      const key = await fundedKey();
      const impatient = open(proxy.urlOf(testDatabase.url), { askTimeoutMs: 500 });
      await impatient.ready();
      proxy.silence();
      proxy.refuseNew();
      const error = await rejectionOf(impatient.hold(await chargeOf(key)));
      expect(error).to.include({ code: 'processing_unavailable', retryAfterSeconds: 2 });
      proxy.refuseNew(false);
      proxy.release();
      await waitUntil(
        async () => {
          const { fundedAvailable } = await reloadAccount(database, { id: key.accountId });
          expect(fundedAvailable).to.equal(10n ** 12n);
        },
        { timeoutMs: PATIENCE_MS },
      );
      expect(await recordsOf(key)).to.deep.equal([]);
      await impatient.close();
    });
  });

  it('keeps the allowances of other processes after an outage in which no process could renew its lease', async () => {
    const key = await fundedKey();
    const ledger = openTextLedger(testDatabase.url, { poolSize: 1 });
    await ledger.hold([newHold(key)]);
    // The process has not yet renewed its lease.
    await ledger.close();
    const longAgo = database.raw(`now() - interval '40 seconds'`);
    const left = () => database('text_allowances').where('account_id', key.accountId).pluck('process_id');
    await database('processes').update({ heartbeat_at: longAgo, heard_since: longAgo });
    const heard = async (moment: Date): Promise<void> => {
      const rows = await database('processes').where('heartbeat_at', '>', moment);
      expect(rows).to.have.length.above(0);
    };
    for (let beats = 0; beats < 2; beats += 1) {
      const from = new Date();
      await waitUntil(() => heard(from), { timeoutMs: PATIENCE_MS });
    }
    expect(await left()).to.deep.equal([ledger.processId]);
    await waitUntil(
      async () => {
        await database('processes').whereNot({ id: ledger.processId }).update({ heard_since: longAgo });
        expect(await left()).to.deep.equal([]);
      },
      { timeoutMs: PATIENCE_MS, pauseMs: 500 },
    );
  });

  it('releases nothing before it has renewed its own lease after an outage', async () => {
    const key = await fundedKey();
    const [silent, first] = [openTextLedger(testDatabase.url), openTextLedger(testDatabase.url)];
    await silent.hold([newHold(key)]);
    await first.send({});
    await silent.close();
    const longAgo = database.raw(`now() - interval '40 seconds'`);
    // The processes of other tests wait, too.
    await database('processes').update({ heard_since: database.raw('now()') });
    await database('processes')
      .whereIn('id', [silent.processId, first.processId])
      .update({ heartbeat_at: longAgo, heard_since: longAgo });
    await releaseDeadAllowances(database, first.processId);
    expect(await database('text_allowances').where('process_id', silent.processId)).to.have.length(1);
    await first.close();
  });

  /** Releases the allowances of an account, as if every process had died this long ago. */
  async function releaseAll(accountId: string, silentForMs = Date.now()): Promise<bigint> {
    const observer = openTextLedger(testDatabase.url, { poolSize: 1 });
    await observer.send({});
    const others = () => database('processes').whereNot({ id: observer.processId });
    let released = 0n;
    await waitUntil(
      async () => {
        // A process may renew its lease in between.
        await others().update({ heartbeat_at: new Date(Date.now() - silentForMs) });
        released += (await releaseDeadAllowances(database, observer.processId, 0)).amount;
        expect(await database('text_allowances').where('account_id', accountId)).to.have.length(0);
      },
      { timeoutMs: PATIENCE_MS },
    );
    await observer.close();
    return released;
  }

  it('releases the allowances of a dead process, with the reason, and counts a late charge as above the hold', async () => {
    const key = await fundedKey();
    const hold = await billing.hold(await chargeOf(key));
    expect((await releaseAll(key.accountId)) > 0n).to.equal(true);
    expect((await reloadAccount(database, { id: key.accountId })).fundedAvailable).to.equal(10n ** 12n);
    const release = await database('transfers').where({ account_id: key.accountId, kind: 'release' }).first('reason');
    expect(release.reason).to.match(/^process [0-9a-f-]{36} ended without settling$/);

    await hold.settle(ANSWERED);
    const late = await database('text_requests').where('id', hold.textRequestId).first('outcome', 'charge', 'excess');
    expect(late).to.include({ outcome: 'succeeded', excess: late.charge });
  });

  it('keeps its allowances while it is stalled, as long as its connections show that it is alive', async () => {
    const stalled = open(testDatabase.url);
    const key = await fundedKey();
    const hold = await stalled.hold(await chargeOf(key));
    const error = await rejectionOf(releaseAllWithin(key.accountId, 60_000));
    expect(String(error)).to.include('expected');
    await releaseAll(key.accountId, 3_600_000);
    await hold.settle(ANSWERED);
    await stalled.close();
  });

  /** As {@link releaseAll}, once. */
  async function releaseAllWithin(accountId: string, silentForMs: number): Promise<void> {
    const observer = openTextLedger(testDatabase.url, { poolSize: 1 });
    try {
      await observer.send({});
      const silentSince = new Date(Date.now() - silentForMs);
      await database('processes').whereNot({ id: observer.processId }).update({ heartbeat_at: silentSince });
      await releaseDeadAllowances(database, observer.processId, 0);
      expect(await database('text_allowances').where('account_id', accountId)).to.have.length(0);
    } finally {
      await observer.close();
    }
  }

  it('debits an allowance that was released too early again, and absorbs only what was spent since', async () => {
    const key = await fundedKey();
    const late = await billing.hold(await chargeOf(key, { modelId: 'textg-6-sol', maxOutputTokens: 1_500 }));
    await releaseAll(key.accountId);
    const charge = await chargeOf(key, { modelId: 'textg-6-sol', maxInputTokens: 0, maxOutputTokens: 249_000 });
    const other = await billing.hold(charge);
    await other.settle({ ...ANSWERED, usage: { ...NO_USAGE, inputTotal: 0, outputTotal: 249_000 } });
    await late.settle({ ...ANSWERED, usage: { ...NO_USAGE, inputTotal: 0, outputTotal: 1_500 } });
    const row = await database('text_requests').where('id', late.textRequestId).first('charge', 'excess', 'absorbed');
    expect(row).to.deep.equal({ charge: '6000000000', excess: '4000000000', absorbed: '2000000000' });
  });

  it('removes itself from the list of processes when it stops', async () => {
    const other = open(testDatabase.url);
    const known = async (): Promise<number> => (await database('processes')).length;
    const before = await known();
    await other.ready();
    await waitUntil(async () => expect(await known()).to.equal(before + 1), { timeoutMs: PATIENCE_MS });
    await other.close();
    expect(await known()).to.equal(before);
  });
});

function modelOf(id: string): TextModel {
  const model = CATALOGUE.textModels.get(id);
  if (!model) throw new Error(`there is no model ${id}`);
  return model;
}

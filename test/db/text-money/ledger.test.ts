import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Database } from '../../../db/database.ts';
import { reopenAccount, suspendAccount } from '../../../db/queries/accounts.ts';
import { deleteApiKey, updateApiKey } from '../../../db/queries/api-keys.ts';
import { topUp } from '../../../db/queries/credits.ts';
import { countRequests } from '../../../db/queries/request-windows.ts';
import { returnPayment } from '../../../db/queries/returned-payments.ts';
import type { NewTextHold } from '../../../db/text-money/ledger.ts';
import type { HoldRefusal, RefusedHold } from '../../../domain/text-refusal.ts';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import { newId } from '../../../domain/ids.ts';
import { parseUsd } from '../../../domain/money.ts';
import { createTestDatabase, type TestDatabase, whenOneWaitsForLock } from '../../support/database.ts';
import { createAccount, createKey, reloadAccount, startNextPeriod, type TestKey } from '../../support/factories.ts';
import { withinOneMinute } from '../../support/one-minute.ts';
import {
  failureOf,
  type HoldSettings,
  newFreeHold,
  newAllowanceRequest,
  newHold,
  openTextLedger,
  type TestLedger,
  settlementOf,
  transfersOf,
  usageOf,
} from '../../support/text-money.ts';

const USD = parseUsd(1);

describe('the money of text requests', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let ledger: TestLedger;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    ledger = openTextLedger(testDatabase.url);
  });

  after(async () => {
    await ledger.close();
    await testDatabase.drop();
  });

  async function keyWith(
    credit: { fundedUsd?: number; signupUsd?: number },
    settings: Parameters<typeof createKey>[2] = {},
  ): Promise<TestKey> {
    return createKey(database, await createAccount(database, credit), settings);
  }

  async function refusals(holds: readonly NewTextHold[]): Promise<(HoldRefusal | null)[]> {
    return (await ledger.hold(holds)).map(({ refusal }) => refusal);
  }

  async function held(hold: NewTextHold): Promise<NewTextHold> {
    expect(await refusals([hold])).to.deep.equal([null]);
    return hold;
  }

  async function balances({ accountId }: Pick<TestKey, 'accountId'>): Promise<Record<string, bigint>> {
    const account = await reloadAccount(database, { id: accountId });
    return {
      signup: account.signupAvailable,
      signupReserved: account.signupReserved,
      funded: account.fundedAvailable,
      fundedReserved: account.fundedReserved,
    };
  }

  async function used({ id }: Pick<TestKey, 'id'>): Promise<bigint> {
    const row = await database<{ used: string }>('api_keys').where('id', id).first('used');
    return BigInt(row?.used ?? -1);
  }

  /** Releases the holds of a process that has been silent for long, as another process does. */
  async function releaseAllOf(processId: string): Promise<void> {
    const other = openTextLedger(testDatabase.url);
    await other.send({});
    await database('processes')
      .where({ id: processId })
      .update({ heartbeat_at: new Date(0) });
    await releaseDeadAllowances(database, other.processId, 0);
    await other.close();
  }

  const takenAt = (id: string, secondsAgo: number): PromiseLike<unknown> =>
    database('text_free_slots')
      .where('text_request_id', id)
      .update({ taken_at: new Date(Date.now() - secondsAgo * 1000) });

  describe('a hold', () => {
    it('reserves its amount, signup credit first', async () => {
      // contract 5:22
      const key = await keyWith({ fundedUsd: 1, signupUsd: 1 });
      await held(newHold(key, { amount: USD + 5n }));
      expect(await balances(key)).to.deep.equal({
        signup: 0n,
        signupReserved: USD,
        funded: USD - 5n,
        fundedReserved: 5n,
      });
      expect(await used(key)).to.equal(USD + 5n);
    });

    it('reserves only funded credit for a model that signup credit does not pay for', async () => {
      const key = await keyWith({ fundedUsd: 1, signupUsd: 5 });
      expect(await ledger.hold([newHold(key, { amount: USD + 1n, fundedOnly: true })])).to.deep.equal([
        { refusal: 'insufficient_funds', remaining: USD, retryAfterSeconds: null } satisfies Omit<
          RefusedHold,
          'budgetId'
        >,
      ]);
      await held(newHold(key, { amount: USD, fundedOnly: true }));
      expect((await balances(key))['signup']).to.equal(5n * USD);
    });

    it('is decided in order within a batch: a refused hold leaves room for smaller ones', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const amounts = [USD / 2n, USD, USD / 2n, 1n];
      expect(await refusals(amounts.map((amount) => newHold(key, { amount })))).to.deep.equal([
        null,
        'insufficient_credits',
        null,
        'insufficient_credits',
      ]);
      expect((await balances(key))['funded']).to.equal(0n);
    });

    it('in a batch of many accounts and keys is decided by its own balance and limit', async () => {
      const rich = await keyWith({ fundedUsd: 1 }, { usageLimit: 100n });
      const sibling = await createKey(database, { id: rich.accountId });
      const poor = await keyWith({ fundedUsd: 1 });
      const holds = [
        newHold(poor, { amount: 2n * USD }),
        newHold(rich, { amount: 101n }),
        newHold(sibling, { amount: 101n }),
        newHold(rich, { amount: 100n }),
        newHold(rich, { amount: 1n }),
        newHold(poor, { amount: 1n }),
      ];
      expect(await refusals(holds)).to.deep.equal(['insufficient_credits', 'key_limit', null, null, 'key_limit', null]);
    });

    it('returns the remaining balance when it is refused', async () => {
      const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 30n });
      const [byLimit] = await ledger.hold([newHold(key, { amount: 31n })]);
      expect(byLimit).to.include({ refusal: 'key_limit', remaining: 30n });
      const other = await keyWith({ fundedUsd: 1, signupUsd: 2 });
      const [byBalance] = await ledger.hold([newHold(other, { amount: 4n * USD })]);
      expect(byBalance).to.include({ refusal: 'insufficient_credits', remaining: 3n * USD });
    });

    describe('with a minimum and a maximum amount', () => {
      async function amounts(key: TestKey, count: number, settings: HoldSettings): Promise<(bigint | HoldRefusal)[]> {
        const decisions = await ledger.hold(Array.from({ length: count }, () => newHold(key, settings)));
        return decisions.map((decision) => (decision.refusal === null ? decision.amount : decision.refusal));
      }

      it('reserves the maximum as long as it is at most a quarter of the balance', async () => {
        const key = await keyWith({ fundedUsd: 1 });
        const wanted = { minAmount: 1n, usualAmount: 2n, maxAmount: USD / 4n };
        expect(await amounts(key, 2, wanted)).to.deep.equal([USD / 4n, (3n * USD) / 16n]);
        expect(await balances(key)).to.include({ funded: (9n * USD) / 16n, fundedReserved: (7n * USD) / 16n });
      });

      it('reserves the usual amount as long as it is at most a third of the balance', async () => {
        const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 100n });
        const wanted = { minAmount: 15n, usualAmount: 30n, maxAmount: USD };
        // A third of 70 and of 47; then the minimum, as long as the balance covers it.
        expect(await amounts(key, 6, wanted)).to.deep.equal([30n, 23n, 15n, 15n, 15n, 'key_limit']);
        expect(await used(key)).to.equal(98n);
      });

      it('reserves funded credit only for a model that signup credit does not pay for', async () => {
        const key = await keyWith({ fundedUsd: 1, signupUsd: 100 });
        const wanted = { minAmount: 1n, usualAmount: 1n, maxAmount: USD, fundedOnly: true };
        expect(await amounts(key, 1, wanted)).to.deep.equal([USD / 4n]);
      });
    });

    it('is refused for a key that was deleted, disabled or has expired, whatever a cache holds', async () => {
      // contract 5:17
      const deleted = await keyWith({ fundedUsd: 1 });
      const disabled = await keyWith({ fundedUsd: 1 });
      const expired = await keyWith({ fundedUsd: 1 }, { expiresAt: new Date(Date.now() - 1) });
      await deleteApiKey(database, deleted.id);
      await updateApiKey(database, disabled.id, { disabled: true });
      expect(await refusals([deleted, disabled, expired].map((key) => newHold(key)))).to.deep.equal([
        'key_deleted',
        'key_disabled',
        'key_expired',
      ]);
    });

    it('is refused to a suspended account, whose holds are still settled', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const before = await held(newHold(key));
      await suspendAccount(database, key.accountId);
      expect(await refusals([newHold(key), newFreeHold(key)])).to.deep.equal([
        'account_suspended',
        'account_suspended',
      ]);
      await ledger.settle([settlementOf(before)]);
      expect(await transfersOf(database, before)).to.deep.equal([['charge', 600]]);
      await reopenAccount(database, key.accountId);
      expect(await refusals([newHold(key)])).to.deep.equal([null]);
    });

    it('is refused for a key of another account', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const other = await keyWith({ fundedUsd: 1 });
      expect(await refusals([newHold({ id: key.id, accountId: other.accountId })])).to.deep.equal(['key_deleted']);
    });

    it('is refused to an account that never topped up, unless the model is free', async () => {
      const key = await keyWith({ signupUsd: 5 });
      expect(await refusals([newHold(key), newFreeHold(key)])).to.deep.equal(['never_topped_up', null]);
    });

    it('is refused for an exhausted key, free models included', async () => {
      const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 0n });
      expect(await refusals([newHold(key), newFreeHold(key)])).to.deep.equal(['key_exhausted', 'key_exhausted']);
    });

    it('is refused beyond the limit while the rest is only reserved, and as exhausted once the rest is spent', async () => {
      const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 1_000n });
      const hold = await held(newHold(key, { amount: 1_000n }));
      const [beyond] = await ledger.hold([newHold(key, { amount: 1n })]);
      expect(beyond).to.include({ refusal: 'key_limit', remaining: 0n });
      expect(await refusals([newFreeHold(key)])).to.deep.equal([null]);
      await ledger.settle([settlementOf(hold, { charge: 1_000n })]);
      expect(await refusals([newHold(key, { amount: 1n })])).to.deep.equal(['key_exhausted']);
    });

    it('is granted again when the reserved amount has been released', async () => {
      const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 1_000n });
      const hold = await held(newHold(key, { amount: 1_000n }));
      await ledger.settle([settlementOf(hold, { charge: 400n })]);
      expect(await refusals([newHold(key, { amount: 601n }), newHold(key, { amount: 600n })])).to.deep.equal([
        'key_limit',
        null,
      ]);
    });
  });

  describe('a write of holds and settlements', () => {
    it('holds and settles in one statement, each request by its own account and key', async () => {
      const one = await keyWith({ fundedUsd: 1 });
      const other = await keyWith({ fundedUsd: 1 });
      const ending = [await held(newHold(one)), await held(newHold(other, { amount: 500n }))];
      const lost = newHold(one);
      const holds = [newHold(one, { amount: 2n * USD }), newHold(other, { amount: 30n }), newHold(one, { amount: 7n })];
      const settlements = [...ending, lost].map((hold) => settlementOf(hold, { charge: 100n }));
      const { decisions } = await ledger.write({ holds, settlements });
      expect(decisions.map(({ refusal }) => refusal)).to.deep.equal(['insufficient_credits', null, null]);
      // The request without a hold is charged to the available balance.
      expect(await usageOf(database, lost)).to.include({ held: 0n, excess: 100n });
      expect(await balances(one)).to.include({ funded: USD - 207n, fundedReserved: 7n });
      expect(await balances(other)).to.include({ funded: USD - 130n, fundedReserved: 30n });
      expect(await Promise.all([one, other].map(used))).to.deep.equal([207n, 130n]);
    });

    it('writes any text unchanged', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const texts = ['', 'NULL', 'a "b" \\c', '{d,e}', 'ü f', "g'h"];
      const holds = texts.map((model) => newHold(key, { model }));
      await ledger.write({ holds, settlements: [] });
      const upstreams = texts.map((provider) => ({ provider, format: 'chat-completions', model: provider }));
      await ledger.settle(holds.map((hold, index) => settlementOf(hold, { upstream: upstreams[index] ?? null })));
      const written = await database('text_requests')
        .where({ api_key_id: key.id })
        .orderBy('id')
        .select('id', 'model', 'upstream');
      const wanted = holds.map(({ id, model }) => ({ id, model, upstream: model }));
      expect(written).to.have.deep.members(wanted);
    });

    it("holds from a settlement's released amount only once the settlement is written", async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const ending = await held(newHold(key, { amount: USD }));
      const next = newHold(key, { amount: USD });
      const settlements = [failureOf(ending)];
      const { decisions } = await ledger.write({ holds: [next], settlements });
      expect(decisions.map(({ refusal }) => refusal)).to.deep.equal(['insufficient_credits']);
      expect(await refusals([next])).to.deep.equal([null]);
    });

    it('reports an allowance as small up to a hundredth of what the account and the key could spend', async () => {
      const isSmall = async (key: TestKey, extra: bigint): Promise<unknown> => {
        const request = newAllowanceRequest({
          id: newId('allowance'),
          accountId: key.accountId,
          apiKeyId: key.id,
          extra,
        });
        const { answers } = await ledger.send({ allowanceRequests: [{ ...request, largest: 1n }] });
        return answers[0]?.isSmall;
      };
      const rich = await keyWith({ fundedUsd: 1 });
      const limited = await createKey(database, { id: rich.accountId }, { usageLimit: USD / 10n });
      expect(await isSmall(rich, USD / 100n)).to.equal(true);
      expect(await isSmall(rich, USD / 100n)).to.equal(false);
      expect(await isSmall(limited, USD / 1_000n)).to.equal(true);
      expect(await isSmall(limited, USD / 100n)).to.equal(false);
    });

    it('changes nothing when it is sent again with its number, and reports the allowances', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const id = newId('allowance');
      const request = newAllowanceRequest({ id, accountId: key.accountId, apiKeyId: key.id });
      const hold = newHold(key, { requestLimit: 2 });
      const write = { number: 1_000, allowanceRequests: [{ ...request, holds: [{ hold, recalledSince: null }] }] };
      const first = await ledger.send(write);
      const balance = await balances(key);
      const second = await ledger.send(write);
      expect(first).to.deep.include({ isRepeated: false });
      expect(second).to.deep.include({ isRepeated: true, decisions: [], allowances: first.allowances });
      expect(await balances(key)).to.deep.equal(balance);
    });

    it('pays a debt from returned money before it grants any of it again', async () => {
      const { accountId, ...key } = await keyWith({});
      const reference = `payment:${accountId}`;
      await topUp(database, { accountId, amount: 100n, reference });
      const hold = newHold({ accountId, ...key }, { amount: 50n });
      const request = newAllowanceRequest({ id: newId('allowance'), accountId, apiKeyId: key.id });
      await ledger.send({ allowanceRequests: [{ ...request, holds: [{ hold, recalledSince: null }] }] });
      await returnPayment(database, reference, { refunded: 80n, refundedAt: 0 });
      expect(await balances({ accountId })).to.include({ funded: 0n, fundedReserved: 50n });
      const again = [20n, 1n].map((amount) => ({
        hold: newHold({ accountId, ...key }, { amount }),
        recalledSince: null,
      }));
      const { decisions, recalled } = await ledger.send({
        allowanceRequests: [{ ...request, returned: { signup: 0n, funded: 50n }, holds: again }],
      });
      expect(decisions.map(({ refusal }) => refusal)).to.deep.equal([null, 'insufficient_credits']);
      expect(recalled).to.deep.equal([request.id]);
      expect(await balances({ accountId })).to.include({ funded: 0n, fundedReserved: 20n });
    });

    it('moves the balance of an account once for all of its keys', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const others = await Promise.all([1, 2].map(() => createKey(database, { id: key.accountId })));
      const holds = [key, ...others].map((one) => newHold(one, { amount: 11n }));
      await ledger.write({ holds, settlements: [] });
      expect(await balances(key)).to.include({ funded: USD - 33n, fundedReserved: 33n });
      expect(await Promise.all([key, ...others].map(used))).to.deep.equal([11n, 11n, 11n]);
    });
  });

  describe('a request that is not counted yet', () => {
    // A request of another kind that was counted on its own before.
    const countAlone = ({ id }: TestKey) => countRequests(database, [{ apiKeyId: id, reads: false }]);

    it('gets its place among the requests of its key, and holds nothing beyond the limit', async () => {
      const { decisions, funded } = await withinOneMinute(database, async () => {
        const [one, other] = [await keyWith({ fundedUsd: 1 }), await keyWith({ fundedUsd: 1 })];
        await countAlone(one);
        const holds = [
          newHold(one, { requestLimit: 2 }),
          newHold(other, { requestLimit: 2 }),
          newHold(one, { requestLimit: null }),
          newHold(one, { requestLimit: 2 }),
        ];
        const { decisions: made } = await ledger.write({ holds, settlements: [] });
        return { decisions: made, funded: (await balances(one))['fundedReserved'] };
      });
      expect(decisions.map(({ refusal }) => refusal)).to.deep.equal([null, null, null, 'request_limit']);
      expect(decisions.map(({ position }) => position)).to.deep.equal([2, 1, null, 3]);
      expect(funded).to.equal(2_000n);
      const refused = decisions.at(-1);
      expect(refused).to.have.property('retryAfterSeconds').within(1, 60);
    });

    it('is counted whether or not the balance covers it', async () => {
      const positions = await withinOneMinute(database, async () => {
        const key = await keyWith({ fundedUsd: 1 });
        const tooDear = newHold(key, { amount: 2n * USD, requestLimit: 9 });
        const { decisions } = await ledger.write({ holds: [tooDear], settlements: [] });
        expect(decisions.map(({ refusal }) => refusal)).to.deep.equal(['insufficient_credits']);
        return (await countAlone(key)).map(({ position }) => position);
      });
      expect(positions).to.deep.equal([2]);
    });

    it('shares the limit exactly with requests that other processes count at the same moment', async () => {
      const limit = 25;
      const others = [openTextLedger(testDatabase.url), openTextLedger(testDatabase.url)];
      const { held, alone } = await withinOneMinute(database, async () => {
        const key = await keyWith({ fundedUsd: 1 });
        const turns = [ledger, ...others].flatMap((process) =>
          Array.from({ length: 4 }, () => process.hold([1, 2, 3].map(() => newHold(key, { requestLimit: limit })))),
        );
        const counts = Array.from({ length: 5 }, () => countAlone(key));
        const decisions = (await Promise.all(turns)).flat();
        const places = (await Promise.all(counts)).flat().map(({ position }) => position);
        return {
          held: decisions.filter(({ refusal }) => refusal === null),
          alone: places.filter((place) => place <= limit),
        };
      });
      expect([...held, ...alone]).to.have.length(limit);
      await Promise.all(others.map((other) => other.close()));
    });
  });

  describe('a settlement', () => {
    it('charges the used amount and releases the rest', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const hold = await held(newHold(key));
      await ledger.settle([settlementOf(hold)]);
      expect((await balances(key))['funded']).to.equal(USD - 600n);
      expect(await used(key)).to.equal(600n);
      expect(await transfersOf(database, hold)).to.deep.equal([['charge', 600]]);
      expect(await usageOf(database, hold)).to.deep.equal({
        outcome: 'succeeded',
        held: 1_000n,
        charge: 600n,
        excess: 0n,
        absorbed: 0n,
      });
    });

    it('charges signup credit first, within the hold', async () => {
      const key = await keyWith({ fundedUsd: 1, signupUsd: 1 });
      const hold = await held(newHold(key, { amount: 2n * USD }));
      await ledger.settle([settlementOf(hold, { charge: USD / 2n })]);
      expect(await balances(key)).to.deep.equal({
        signup: USD / 2n,
        signupReserved: 0n,
        funded: USD,
        fundedReserved: 0n,
      });
    });

    it('charges nothing for a request that failed', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const hold = await held(newHold(key));
      await ledger.settle([failureOf(hold)]);
      expect((await balances(key))['funded']).to.equal(USD);
      expect(await used(key)).to.equal(0n);
      expect(await transfersOf(database, hold)).to.deep.equal([]);
    });

    it('takes a cost above the hold from the available balance, and absorbs the rest', async () => {
      // contract 8.3:9
      const key = await keyWith({ fundedUsd: 1 });
      const hold = await held(newHold(key, { amount: USD - 300n }));
      await ledger.settle([settlementOf(hold, { charge: USD + 200n })]);
      expect(await balances(key)).to.deep.equal({ signup: 0n, signupReserved: 0n, funded: 0n, fundedReserved: 0n });
      expect(await usageOf(database, hold)).to.include({ charge: USD + 200n, excess: 300n, absorbed: 200n });
      expect(await transfersOf(database, hold)).to.deep.equal([
        ['charge', Number(USD - 300n)],
        ['excess', 300],
        ['absorbed_loss', 200],
      ]);
    });

    for (const [what, settings] of [
      ['limit', {}],
      ['renewing limit', { limitPeriod: 'day' }],
    ] as const) {
      it(`absorbs what exceeds the ${what} of its key, whatever was spent after its process was taken for dead`, async () => {
        // contract 8.3:9
        const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 1_000n, ...settings });
        const late = await held(newHold(key, { amount: 900n }));
        await releaseAllOf(ledger.processId);
        const other = await held(newHold(key, { amount: 700n }));
        await ledger.settle([settlementOf(other, { charge: 700n })]);
        await ledger.settle([settlementOf(late, { charge: 900n })]);
        expect(await usageOf(database, late)).to.include({ held: 0n, charge: 900n, excess: 300n, absorbed: 600n });
        expect(await used(key)).to.equal(1_000n);
        expect((await balances(key))['funded']).to.equal(USD - 1_000n);
      });
    }

    it('counts a late charge towards the period in which it arrives', async () => {
      const key = await keyWith({ fundedUsd: 1 }, { usageLimit: 1_000n, limitPeriod: 'day' });
      const late = await held(newHold(key, { amount: 900n }));
      await releaseAllOf(ledger.processId);
      await startNextPeriod(database, key);
      await ledger.settle([settlementOf(late, { charge: 900n })]);
      expect(await refusals([newHold(key, { amount: 200n }), newHold(key, { amount: 100n })])).to.deep.equal([
        'key_limit',
        null,
      ]);
    });

    it('charges no signup credit for a model that it does not pay for, also above the hold', async () => {
      const key = await keyWith({ fundedUsd: 1, signupUsd: 1 });
      const hold = await held(newHold(key, { amount: USD - 10n, fundedOnly: true }));
      await ledger.settle([settlementOf(hold, { charge: USD + 5n })]);
      expect(await balances(key)).to.include({ signup: USD, funded: 0n });
      expect(await usageOf(database, hold)).to.include({ excess: 10n, absorbed: 5n });
    });

    it('is applied although its process was taken for dead: the charge is taken from the available balance', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const hold = await held(newHold(key));
      await releaseAllOf(ledger.processId);
      expect((await balances(key))['funded']).to.equal(USD);
      await ledger.settle([settlementOf(hold)]);
      expect((await balances(key))['funded']).to.equal(USD - 600n);
      expect(await used(key)).to.equal(600n);
      expect(await usageOf(database, hold)).to.deep.equal({
        outcome: 'succeeded',
        held: 0n,
        charge: 600n,
        excess: 600n,
        absorbed: 0n,
      });
    });

    it('is applied although a crash of the database lost its hold', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const lost = newHold(key);
      const settlement = settlementOf(lost, { charge: 2n * USD });
      await ledger.settle([settlement]);
      expect(await usageOf(database, lost)).to.include({ held: 0n, excess: USD, absorbed: USD });
    });
  });

  describe('a free model', () => {
    it('moves no money, and needs no balance', async () => {
      // contract 2.6:16
      const key = await keyWith({});
      const hold = await held(newFreeHold(key));
      await ledger.settle([settlementOf(hold, { charge: 0n })]);
      expect(await transfersOf(database, hold)).to.deep.equal([]);
      expect(await usageOf(database, hold)).to.include({ outcome: 'succeeded', held: 0n, charge: 0n });
    });

    it('answers once a minute before the first top-up, over all keys and models of the account', async () => {
      // contract 8.1:3
      const key = await keyWith({ signupUsd: 5 });
      const sibling = await createKey(database, { id: key.accountId });
      await held(newFreeHold(key));
      const [refused] = await ledger.hold([
        newFreeHold(sibling, { model: 'texth-3.8-flash-free', format: 'messages' }),
      ]);
      if (refused?.refusal !== 'free_limit') throw new Error('it was not refused');
      expect(refused.retryAfterSeconds).to.be.within(1, 60);
    });

    it('answers ten times a minute after it', async () => {
      // contract 8.1:3
      const key = await keyWith({ fundedUsd: 1 });
      const outcomes = await refusals(Array.from({ length: 12 }, () => newFreeHold(key)));
      expect(outcomes.filter((refusal) => refusal === null)).to.have.length(10);
      expect(outcomes.slice(10)).to.deep.equal(['free_limit', 'free_limit']);
    });

    it('answers again when the minute is over', async () => {
      // contract 8.1:7
      const key = await keyWith({});
      const first = await held(newFreeHold(key));
      await takenAt(first.id, 59);
      const [early] = await ledger.hold([newFreeHold(key)]);
      expect(early).to.include({ refusal: 'free_limit', retryAfterSeconds: 1 });
      await takenAt(first.id, 60);
      await held(newFreeHold(key));
    });

    it('releases the slot of a failed request, and keeps that of a successful one', async () => {
      // contract 8.1:7
      const key = await keyWith({});
      const failed = await held(newFreeHold(key));
      await ledger.settle([failureOf(failed)]);
      const succeeded = await held(newFreeHold(key));
      await ledger.settle([settlementOf(succeeded, { charge: 0n })]);
      expect(await refusals([newFreeHold(key)])).to.deep.equal(['free_limit']);
    });

    it('keeps the slot of a failed request whose client received part of the answer', async () => {
      const key = await keyWith({});
      const broken = await held(newFreeHold(key));
      await ledger.settle([{ ...failureOf(broken), releasesSlot: false }]);
      expect(await refusals([newFreeHold(key)])).to.deep.equal(['free_limit']);
    });

    it('enforces its limit when many requests arrive at once in different processes', async () => {
      const key = await keyWith({ fundedUsd: 1 });
      const ledgers = Array.from({ length: 4 }, () => openTextLedger(testDatabase.url));
      const outcomes = await Promise.all(
        ledgers.flatMap((one) => Array.from({ length: 10 }, () => one.hold([newFreeHold(key)]))),
      );
      await Promise.all(ledgers.map((one) => one.close()));
      expect(outcomes.filter(([decision]) => decision?.refusal === null)).to.have.length(10);
    });
  });

  it('dates transfers by the moment they were made, however long ago the request started', async () => {
    const key = await keyWith({ fundedUsd: 1 });
    const hold = await held(newHold(key, { id: newId('textRequest', Date.now() - 60_000) }));
    await ledger.settle([settlementOf(hold)]);
    const rows = await database<{ kind: string; created_at: Date }>('transfers')
      .where('account_id', key.accountId)
      .orderBy('created_at')
      .select('kind', 'created_at');
    expect(rows.map(({ kind }) => kind)).to.deep.equal(['topup', 'allowance', 'charge', 'release']);
  });

  it('reports a write as repeated although its first attempt is still in progress', async () => {
    const writer = randomUUID();
    const renewLease = async (connection: Database, writeNumber: number): Promise<number> => {
      const { rows } = await connection.raw<{ rows: { previous: string }[] }>(
        'SELECT renew_text_lease(:writer, :writeNumber) AS previous',
        { writer, writeNumber },
      );
      return Number(rows[0]?.previous);
    };
    await renewLease(database, 1);
    const repeated = await database.transaction(async (first) => {
      await renewLease(first, 2);
      const second = renewLease(database, 2);
      await whenOneWaitsForLock(database);
      return { second };
    });
    expect(await repeated.second).to.equal(2);
  });
});

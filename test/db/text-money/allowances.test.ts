/** Text processes that serve the same accounts from allowances, with real ledgers and connections of their own. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { assert, asyncProperty, array, bigInt, nat, record } from 'fast-check';
import { DatabaseError } from 'pg';
import pino from 'pino';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import type { Database } from '../../../db/database.ts';
import { suspendAccount } from '../../../services/people/account-actions.ts';
import { deleteApiKey, updateApiKey } from '../../../db/queries/api-keys.ts';
import {
  deleteEndUserBudget,
  listEndUserBudgets,
  type NewBudget,
  setEndUserBudget,
} from '../../../db/queries/end-user-budgets.ts';
import { setAccountBudget } from '../../../db/queries/account-budgets.ts';
import { BUDGET_CHECK } from '../../../db/reconciliation/budget-check.ts';
import { LEDGER_CHECKS } from '../../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../../db/reconciliation/promo-checks.ts';
import { TEXT_CHECKS } from '../../../db/reconciliation/text-checks.ts';
import { Allowances, type DecidedHold, type HeldText } from '../../../db/text-money/allowances.ts';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import {
  createTextLedger,
  type NewTextHold,
  type TextLedger,
  type TextWrite,
  type WrittenText,
} from '../../../db/text-money/ledger.ts';
import { parseUsd } from '../../../domain/money.ts';
import { startTcpProxy, type TcpProxy } from '../../../lab/stack/tcp-proxy.ts';
import { eventually, PATIENCE_MS } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createAccount, createKey, reloadAccount, startNextPeriod, type TestKey } from '../../support/factories.ts';
import { awaitRoomInMinute, currentMinute } from '../../support/one-minute.ts';
import { checkBooks } from '../../support/reconciliation.ts';
import { type HoldSettings, newHold, settlementOf } from '../../support/text-money.ts';
import { casesOf } from '../../support/properties.ts';

const USD = parseUsd(1);
const PROCESSES = 4;

interface Process {
  hold(hold: NewTextHold): DecidedHold | Promise<DecidedHold>;
  close(): Promise<void>;
}

describe('allowances', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  /** Serve all tests: the connections of new ones would take most of the time. */
  let lasting: readonly Process[];
  /** With those that only the current test has. */
  let processes: Process[];

  before(async () => {
    testDatabase = await createTestDatabase();
    database = testDatabase.database;
    lasting = Array.from({ length: PROCESSES }, () => open(testDatabase.url));
  });
  after(async () => {
    await Promise.all(lasting.map((process) => process.close()));
    await testDatabase.drop();
  });

  beforeEach(() => {
    processes = [...lasting];
  });
  afterEach(async () => {
    await Promise.all(processes.slice(PROCESSES).map((process) => process.close()));
  });

  interface ProcessSettings {
    /** Delays each write. */
    readonly beforeWrite?: (write: TextWrite) => Promise<void>;
    /** Runs before the answer to a write arrives. */
    readonly afterWrite?: (write: TextWrite) => Promise<void>;
  }

  function open(url: string, { beforeWrite, afterWrite }: ProcessSettings = {}): Process {
    const ledger: TextLedger = createTextLedger({
      url,
      poolSize: 2,
      processId: randomUUID(),
      freeRequestsPerMinute: { neverToppedUp: 1, toppedUp: 10 },
    });
    const write = async (one: TextWrite): Promise<WrittenText> => {
      await beforeWrite?.(one);
      const written = await ledger.write(one);
      await afterWrite?.(one);
      return written;
    };
    const allowances = new Allowances({ write }, pino({ level: 'silent' }), { retrySettlementMs: 500 });
    return {
      hold: (hold) => allowances.hold(hold),
      close: async () => {
        await allowances.close(10_000);
        await ledger.close();
      },
    };
  }

  function first(): Process {
    return at(0);
  }

  function at(index: number): Process {
    const process = processes[index % PROCESSES];
    if (!process) throw new Error('there are four processes');
    return process;
  }

  async function fundedKey(fundedUsd: number, settings: Parameters<typeof createKey>[2] = {}): Promise<TestKey> {
    return createKey(database, await createAccount(database, { fundedUsd }), settings);
  }

  /** A request from its hold to its recorded charge. */
  async function serve(process: Process, hold: NewTextHold, charge = 600n): Promise<DecidedHold> {
    const decided = await process.hold(hold);
    if (decided.refusal === null) await decided.settle(settlementOf(hold, { charge }));
    return decided;
  }

  async function availableOf({ accountId }: TestKey): Promise<bigint> {
    return (await reloadAccount(database, { id: accountId })).fundedAvailable;
  }

  const allowancesOf = ({ accountId }: TestKey) => database('text_allowances').where({ account_id: accountId });

  /** Every process serves requests until each has money of the key in its allowance. */
  async function spread(key: TestKey, settings: HoldSettings = {}, charge?: bigint): Promise<void> {
    // A process releases an idle allowance, so a slow machine may need a second try.
    await eventually(async () => {
      await Promise.all(lasting.map((process) => serve(process, newHold(key, settings), charge)));
      return (await allowancesOf(key)).length === PROCESSES;
    });
  }

  describe('a rich account', () => {
    it('waits for the ledger once; later requests hold at once', async () => {
      const key = await fundedKey(1);
      const hold = newHold(key);
      const asked = first().hold(hold);
      expect(asked).to.be.instanceOf(Promise);
      const decided = await asked;
      if (decided.refusal !== null) throw new Error('the account has enough');
      await decided.settle(settlementOf(hold));
      // An idle allowance has been released, so a slow machine may need a second try.
      await eventually(async () => {
        const later = first().hold(newHold(key));
        await later;
        return !(later instanceof Promise);
      });
    });

    it('gets unused money back within about two seconds', async () => {
      const key = await fundedKey(1);
      await serve(first(), newHold(key));
      await waitUntil(async () => expect(await availableOf(key)).to.equal(USD - 600n), { timeoutMs: PATIENCE_MS });
      expect(await allowancesOf(key)).to.deep.equal([]);
    });

    it('is charged beyond a hold from the allowance first', async () => {
      const key = await fundedKey(1);
      await serve(first(), newHold(key));
      const hold = newHold(key);
      await serve(first(), hold, 1_200n);
      const row = await database('text_requests').where({ id: hold.id }).first('held', 'excess', 'absorbed');
      expect(row).to.deep.equal({ held: '1200', excess: '0', absorbed: '0' });
    });
  });

  describe('a write', () => {
    /** The number of settlements in each write that has any. */
    let settled: number[];
    let busy: Process;

    beforeEach(() => {
      settled = [];
      busy = open(testDatabase.url, {
        beforeWrite: async ({ settlements }) => {
          if (settlements.length > 0) settled.push(settlements.length);
        },
      });
      processes.push(busy);
    });

    it('takes all requests of up to 100 ms under load', async () => {
      const key = await fundedKey(100);
      await eventually(async () => {
        await Promise.all(Array.from({ length: 40 }, () => serve(busy, newHold(key))));
        settled = [];
        const before = Array.from({ length: 8 }, () => serve(busy, newHold(key)));
        await sleep(40);
        await Promise.all([...before, serve(busy, newHold(key))]);
        // A renewal of the lease may come between.
        return settled.length === 1;
      });
      expect(settled).to.deep.equal([9]);
    });
  });

  describe('a process whose allowance is nearly spent', () => {
    let release: () => void;
    /** The money that it keeps with each request for more. */
    let kept: bigint[];
    let busy: Process;

    beforeEach(() => {
      kept = [];
      let held: Promise<void> = Promise.resolve();
      release = () => {};
      busy = open(testDatabase.url, {
        beforeWrite: async (write) => {
          kept.push(...write.allowanceRequests.map((request) => request.kept));
          if (write.allowanceRequests.some((request) => request.kept > 0n))
            held = new Promise((resolve) => (release = resolve));
          await held;
        },
      });
      processes.push(busy);
    });

    function holdAtOnce(hold: NewTextHold): HeldText {
      const decided = busy.hold(hold);
      if (decided instanceof Promise) decided.catch(() => {});
      else if (decided.refusal === null) return decided;
      throw new Error('it did not hold at once');
    }

    /** Holds while the write of the request for more waits, if it still does, and then lets it go on. */
    function holdNineAtOnce(hold: () => NewTextHold): readonly HeldText['window'][] {
      try {
        return Array.from({ length: 9 }, () => holdAtOnce(hold()).window);
      } finally {
        release();
      }
    }

    const SUPPLIES: readonly [what: string, settings: HoldSettings][] = [
      ['money', {}],
      ['places of the minute', { amount: 1n, requestLimit: 10_000 }],
    ];
    for (const [what, settings] of SUPPLIES) {
      it(`requests more ${what} before the last is spent, and serves from the rest meanwhile`, async () => {
        await awaitRoomInMinute(database);
        // An idle allowance goes back, so a slow machine may need a second try.
        const windows = await eventually(async () => {
          kept = [];
          const key = await fundedKey(1);
          const hold = (): NewTextHold => newHold(key, settings);
          const charge = hold().maxAmount;
          // The first twenty wait; the ledger grants as much again for the next twenty.
          const first = Array.from({ length: 20 }, hold);
          await Promise.all(first.map((one) => serve(busy, one, charge)));
          const next = Array.from({ length: 11 }, hold);
          const settled = next.map((one) => holdAtOnce(one).settle(settlementOf(one, { charge })));
          await waitUntil(async () => expect(kept.some((amount) => amount > 0n)).to.equal(true), { timeoutMs: 2_000 });
          const meanwhile = holdNineAtOnce(hold);
          await Promise.all(settled);
          return [...meanwhile, ...holdNineAtOnce(hold)];
        });
        const positions = windows.flatMap((window) => (window ? [window.position] : []));
        expect(new Set(positions).size).to.equal('requestLimit' in settings ? 18 : 0);
      });
    }
  });

  describe('a small balance', () => {
    it('is granted request by request, and released with the settlement', async () => {
      // A later release would be that of an idle allowance. A slow machine may need a second try.
      await eventually(async () => {
        const key = await fundedKey(0.000000003);
        await serve(first(), newHold(key));
        await waitUntil(async () => expect(await availableOf(key)).to.equal(2_400n), { timeoutMs: 900 });
        return true;
      });
    });

    it('for one request serves every process in turn, and refuses none', async () => {
      const key = await fundedKey(0.000000001);
      for (let turn = 0; turn < 8; turn += 1) {
        const { refusal } = await serve(at(turn), newHold(key), 0n);
        expect(refusal, `turn ${turn}`).to.equal(null);
      }
    });

    it('is never refused while it lies unused in the allowance of another process or key', async () => {
      const account = await createAccount(database, { fundedUsd: 0.000001 });
      const keys = await Promise.all([1, 2].map(() => createKey(database, account)));
      const [one, two] = keys;
      if (!one || !two) throw new Error('there are two keys');
      // Small holds leave the account plenty, so each process keeps some of it.
      await spread(one, { amount: 10n }, 1n);
      const charges = await database('text_requests').where({ account_id: one.accountId }).pluck('charge');
      const all = newHold(two, { amount: 1_000_000n - BigInt(charges.length) });
      expect((await first().hold(all)).refusal).to.equal(null);
      expect((await at(1).hold(newHold(one, { amount: 1n }))).refusal).to.equal('insufficient_credits');
    });
  });

  const BUDGET = { usageLimit: 10_000n, limitPeriod: 'month' } as const;

  /** An end user or key with a budget, whose requests the function makes. */
  interface Holder {
    readonly key: TestKey;
    readonly newHold: (settings: HoldSettings) => NewTextHold;
    readonly startNextPeriod: () => Promise<unknown>;
  }

  async function endUser(name: string, settings: Partial<NewBudget> = {}, of?: TestKey): Promise<Holder> {
    const key = of ?? (await fundedKey(1));
    const budget = await setEndUserBudget(database, {
      accountId: key.accountId,
      endUser: name,
      ...BUDGET,
      ...settings,
    });
    if (!budget) throw new Error('the account has few budgets');
    return {
      key,
      newHold: (given) => newHold(key, { endUser: name, budgets: [budget], ...given }),
      startNextPeriod: () =>
        database('budgets')
          .where({ id: budget.id })
          .update({ period_since: database.raw(`period_since - interval '1 month'`) }),
    };
  }

  /** An account with a budget, and an end user whose budget is larger by 1. */
  async function withAccountBudget(models: readonly string[] | null): Promise<Holder> {
    const alice = await endUser('alice', { usageLimit: BUDGET.usageLimit + 1n });
    const { accountId } = alice.key;
    const budget = await setAccountBudget(database, { accountId, models, isCeiling: false, ...BUDGET });
    if (!budget) throw new Error('the account has few budgets');
    const { budgets: own } = alice.newHold({});
    return {
      key: alice.key,
      newHold: (given) =>
        alice.newHold({ model: 'textg-6-sol', budgets: [{ ...budget, endUser: null }, ...own], ...given }),
      startNextPeriod: () =>
        database('budgets')
          .where({ account_id: accountId })
          .update({ period_since: database.raw(`period_since - interval '1 month'`) }),
    };
  }

  const HOLDERS: readonly [what: string, refusal: string, make: () => Promise<Holder>][] = [
    [
      'of a key',
      'key_limit',
      async () => {
        const key = await fundedKey(1, BUDGET);
        return {
          key,
          newHold: (settings) => newHold(key, settings),
          startNextPeriod: () => startNextPeriod(database, key),
        };
      },
    ],
    ['of an end user', 'end_user_limit', () => endUser('alice')],
    ['of an account, beside a larger one of an end user', 'budget_limit', () => withAccountBudget(null)],
    ['of a group of models, beside a larger one of an end user', 'budget_limit', () => withAccountBudget(['textg-*'])],
  ];
  for (const [what, refusal, make] of HOLDERS) {
    describe(`a budget ${what}`, () => {
      let holder: Holder;
      beforeEach(async () => {
        holder = await make();
      });

      it('with room for one lets exactly one of eight simultaneous requests pass', async () => {
        // contract 5:21
        const decided = await Promise.all(
          Array.from({ length: 8 }, async (_, index) => at(index).hold(holder.newHold({ amount: 10_000n }))),
        );
        expect(decided.map((one) => one.refusal)).to.have.members([null, ...Array(7).fill(refusal)]);
      });

      it('is never exceeded by all processes together, and can be spent again in the next period', async () => {
        // contract 5:21
        const spend = async (): Promise<number> => {
          const decided = await Promise.all(
            Array.from({ length: 40 }, (_, index) => serve(at(index), holder.newHold({ amount: 400n }), 400n)),
          );
          return decided.filter((one) => one.refusal === null).length;
        };
        expect(await spend()).to.equal(25);
        await holder.startNextPeriod();
        expect(await spend()).to.equal(25);
      });

      it('counts the holds of processes when a period starts', async () => {
        // contract 5:21
        await first().hold(holder.newHold({ amount: 6_000n }));
        await holder.startNextPeriod();
        expect((await at(1).hold(holder.newHold({ amount: 4_001n }))).refusal).to.equal(refusal);
        expect((await at(1).hold(holder.newHold({ amount: 4_000n }))).refusal).to.equal(null);
      });

      it('is refused only when the other processes have spent it', async () => {
        await Promise.all(processes.map((process) => serve(process, holder.newHold({ amount: 10n }), 10n)));
        expect((await first().hold(holder.newHold({ amount: 10_000n - 40n }))).refusal).to.equal(null);
        expect((await at(1).hold(holder.newHold({ amount: 1n }))).refusal).to.equal(refusal);
      });
    });
  }

  describe('the budget of an end user', () => {
    const usedOf = async ({ key }: Holder): Promise<bigint> => {
      const [budget] = await listEndUserBudgets(database, { accountId: key.accountId, limit: 1 });
      return budget?.usedOfLimit ?? -1n;
    };

    it('allows holds at once where the account and the budget have plenty, and limits no other end user', async () => {
      const alice = await endUser('alice', { usageLimit: 10_000n });
      // An idle allowance has been released, so a slow machine may need a second try.
      await eventually(async () => {
        await serve(first(), alice.newHold({ amount: 10n }), 10n);
        const later = first().hold(alice.newHold({ amount: 10n }));
        return (await later).refusal === null && !(later instanceof Promise);
      });
      expect((await first().hold(alice.newHold({ amount: 10_000n }))).refusal).to.equal('end_user_limit');
      expect((await first().hold(newHold(alice.key, { amount: 20_000n }))).refusal).to.equal(null);
      const bob = newHold(alice.key, { amount: 20_000n, endUser: 'bob' });
      expect((await first().hold(bob)).refusal).to.equal(null);
    });

    it('is shared by all keys of the account, and reports the remainder', async () => {
      // contract 5:21
      const alice = await endUser('alice');
      const other = await createKey(database, { id: alice.key.accountId });
      const hold = (amount: bigint, apiKeyId = alice.key.id) => alice.newHold({ amount, apiKeyId });
      await Promise.all([serve(first(), hold(4_000n), 4_000n), serve(first(), hold(4_000n, other.id), 4_000n)]);
      expect(await first().hold(hold(2_001n, other.id))).to.include({ refusal: 'end_user_limit', remaining: 2_000n });
    });

    it('applies in every process before the answer to a call that lowers it', async () => {
      const alice = await endUser('alice');
      await Promise.all(processes.map((process) => serve(process, alice.newHold({ amount: 10n }), 10n)));
      await endUser('alice', { usageLimit: 40n }, alice.key);
      const decided = await Promise.all(processes.map(async (one) => one.hold(alice.newHold({ amount: 1n }))));
      expect(decided.map(({ refusal }) => refusal)).to.deep.equal(Array(PROCESSES).fill('end_user_limit'));
    });

    it('restarts with another period, apart from the holds', async () => {
      const alice = await endUser('alice');
      await serve(first(), alice.newHold({ amount: 3_000n }), 3_000n);
      await first().hold(alice.newHold({ amount: 2_000n }));
      await endUser('alice', { limitPeriod: 'day' }, alice.key);
      expect(await usedOf(alice)).to.equal(2_000n);
    });

    it('limits nothing once it is deleted, and its holds are charged and released', async () => {
      const alice = await endUser('alice');
      const hold = alice.newHold({ amount: 10_000n });
      const decided = await first().hold(hold);
      expect(await deleteEndUserBudget(database, { id: hold.budgets[0]?.id ?? '' })).to.equal(true);
      if (decided.refusal !== null) throw new Error('the budget has enough');
      await decided.settle(settlementOf(hold, { charge: 600n }));
      expect((await at(1).hold(alice.newHold({ amount: 20_000n }))).refusal).to.equal(null);
    });

    it('gets back the holds of a dead process, and pays nothing for a charge beyond the budget', async () => {
      const alice = await endUser('alice');
      const hold = alice.newHold({ amount: 9_000n });
      const stalled = open(testDatabase.url);
      const decided = await stalled.hold(hold);
      if (decided.refusal !== null) throw new Error('the budget has enough');
      const [row] = await allowancesOf(alice.key);
      // In one transaction, so that the process cannot renew its lease in between.
      await database.transaction(async (transaction) => {
        const rows = () => transaction('processes');
        await rows()
          .where({ id: row?.process_id })
          .update({ heartbeat_at: new Date(0) });
        const [other] = await rows().whereNot({ id: row?.process_id }).orderBy('heartbeat_at', 'desc');
        await rows()
          .where({ id: other?.id })
          .update({ heard_since: new Date(0), heartbeat_at: new Date() });
        await releaseDeadAllowances(transaction, other?.id, 0);
      });
      expect(await usedOf(alice)).to.equal(0n);
      await serve(first(), alice.newHold({ amount: 8_000n }), 8_000n);
      await decided.settle(settlementOf(hold, { charge: 5_000n }));
      const charged = await database('text_requests').where({ id: hold.id }).first('held', 'excess', 'absorbed');
      expect(charged).to.deep.equal({ held: '0', excess: '2000', absorbed: '3000' });
      expect(await usedOf(alice)).to.equal(10_000n);
      await stalled.close();
    });
  });

  describe('a change', () => {
    async function refusals(key: TestKey): Promise<readonly (string | null)[]> {
      return Promise.all(processes.map(async (process) => (await process.hold(newHold(key))).refusal));
    }

    const BY = { author: 'Ada', reason: 'An attack' };
    const CHANGES: readonly [what: string, change: (key: TestKey) => Promise<unknown>, refusal: string][] = [
      ['a deleted key', ({ id }) => deleteApiKey(database, id), 'key_deleted'],
      ['a disabled key', ({ id }) => updateApiKey(database, id, { disabled: true }), 'key_disabled'],
      ['a spent key', ({ id }) => updateApiKey(database, id, { usageLimit: 1n }), 'key_exhausted'],
      ['an expired key', ({ id }) => updateApiKey(database, id, { expiresAt: new Date(0) }), 'key_expired'],
      ['a suspended account', ({ accountId }) => suspendAccount(database, accountId, BY), 'account_suspended'],
    ];
    for (const [what, change, refusal] of CHANGES) {
      it(`stops ${what} in every process before it is answered`, async () => {
        const key = await fundedKey(1);
        await spread(key);
        await change(key);
        expect(await refusals(key)).to.deep.equal(Array(PROCESSES).fill(refusal));
      });
    }

    it('stops a key that expires by itself', async () => {
      const key = await fundedKey(1, { expiresAt: new Date(Date.now() + 1_500) });
      await Promise.all(processes.map((process) => serve(process, newHold(key))));
      await sleep(1_600);
      expect(await refusals(key)).to.deep.equal(Array(PROCESSES).fill('key_expired'));
    });
  });

  describe('a process that is cut off from the database', () => {
    let proxy: TcpProxy;
    let cut: Process;

    beforeEach(async () => {
      proxy = await startTcpProxy(testDatabase.url);
      cut = open(proxy.urlOf(testDatabase.url));
    });
    afterEach(async () => {
      // While it can still return its money, for which it would otherwise wait.
      await cut.close();
      await proxy.close();
    });

    it('serves from its allowance while its lease is valid, and settles once the database is available again', async () => {
      const { hold, decided } = await eventually(async () => {
        const key = await fundedKey(1);
        await serve(cut, newHold(key));
        proxy.refuseNew();
        proxy.reset();
        const hold = newHold(key);
        const decided = cut.hold(hold);
        if (!(decided instanceof Promise)) return { hold, decided };
        // A slow machine has released the idle allowance.
        proxy.refuseNew(false);
        const late = await decided;
        if (late.refusal === null) await late.settle(settlementOf(hold));
        return undefined;
      });
      if (decided.refusal !== null) throw new Error(`the hold was refused: ${decided.refusal}`);
      const recorded = decided.settle(settlementOf(hold));
      await sleep(1_000);
      proxy.refuseNew(false);
      await recorded;
      expect(await database('text_requests').where({ id: hold.id })).to.have.length(1);
    });

    it('spends nothing after its lease, so that a deletion need not wait for the process any longer', async () => {
      const key = await fundedKey(1);
      await serve(cut, newHold(key));
      proxy.refuseNew();
      proxy.reset();
      await deleteApiKey(database, key.id);
      const hold = cut.hold(newHold(key));
      expect(hold).to.be.instanceOf(Promise);
      proxy.refuseNew(false);
      expect((await hold).refusal).to.equal('key_deleted');
    });

    it('adopts the state of the ledger after either lost something', async () => {
      const key = await fundedKey(1);
      await serve(cut, newHold(key));
      // The state after a restored backup: the allowance was never granted.
      await database.transaction(async (transaction) => {
        await transaction.raw('SET LOCAL session_replication_role = replica');
        await transaction('text_allowances').where({ account_id: key.accountId }).delete();
        await transaction('transfers').where({ account_id: key.accountId }).whereNot({ kind: 'topup' }).delete();
        await transaction('text_requests').where({ account_id: key.accountId }).delete();
        await transaction.raw(
          `UPDATE accounts SET funded_available = 1000000000000, funded_reserved = 0 WHERE id = ?`,
          [key.accountId],
        );
        await transaction('api_keys').where({ id: key.id }).update({ used: 0, reserved: 0 });
      });
      await eventually(() => cut.hold(newHold(key)) instanceof Promise);
      const hold = newHold(key);
      await serve(cut, hold);
      expect(await database('text_requests').where({ id: hold.id }).first('held', 'excess')).to.deep.include({
        excess: '0',
      });
    });
  });

  it('writes a settlement once when its answer was lost and PostgreSQL refuses its repetition', async () => {
    const key = await fundedKey(1);
    let lost: TextWrite | undefined;
    let refusals = 0;
    const failing = open(testDatabase.url, {
      beforeWrite: async ({ number }) => {
        if (number !== lost?.number) return;
        refusals += 1;
        throw new DatabaseError('refused', 7, 'error');
      },
      afterWrite: async (write) => {
        if (lost || write.settlements.length === 0) return;
        lost = write;
        throw Object.assign(new Error('lost'), { code: 'ECONNRESET' });
      },
    });
    processes.push(failing);
    const hold = newHold(key);
    await serve(failing, hold);
    expect(refusals).to.equal(1);
    expect(await database('text_requests').where({ id: hold.id }).pluck('charge')).to.deep.equal(['600']);
  });

  it('writes settlements while PostgreSQL refuses another, which it writes once PostgreSQL accepts it', async () => {
    const key = await fundedKey(1);
    const bad = newHold(key);
    let isRefused = true;
    const sizes: number[] = [];
    const failing = open(testDatabase.url, {
      beforeWrite: async ({ settlements }) => {
        if (!isRefused || !settlements.some(({ hold }) => hold.id === bad.id)) return;
        sizes.push(settlements.length);
        throw new DatabaseError('refused', 7, 'error');
      },
    });
    processes.push(failing);
    const refused = serve(failing, bad);
    await waitUntil(async () => expect(sizes).to.have.length.above(0), { timeoutMs: PATIENCE_MS });
    const good = newHold(key);
    await serve(failing, good);
    await waitUntil(async () => expect(sizes.length).to.be.above(1), { timeoutMs: PATIENCE_MS });
    isRefused = false;
    await refused;
    expect(sizes.every((size) => size === 1)).to.equal(true);
    expect(await database('text_requests').where({ account_id: key.accountId }).pluck('id')).to.have.members([
      bad.id,
      good.id,
    ]);
  });

  describe('requests per minute', () => {
    it('all reach the end users of a key, each of whom has a budget and sends one request', async () => {
      await awaitRoomInMinute(database);
      const key = await fundedKey(1, { rateLimitRpm: 40 });
      for (let user = 1; user <= 40; user += 1) {
        const { newHold: holdOf } = await endUser(`user-${user}`, { usageLimit: USD }, key);
        const { refusal } = await serve(first(), holdOf({ amount: 1n, requestLimit: 40 }), 0n);
        expect(refusal, `user ${user}`).to.equal(null);
      }
    });

    it('never exceed the limit of the key over all processes', async () => {
      const limit = 40;
      const key = await fundedKey(1, { rateLimitRpm: limit });
      const alice = await endUser('alice', { usageLimit: USD }, key);
      const makers = [(settings: HoldSettings) => newHold(key, settings), alice.newHold] as const;
      const before = await currentMinute(database);
      const decided: DecidedHold[] = [];
      for (let round = 0; round < 5; round += 1) {
        const holds = Array.from({ length: 20 }, (_, index) =>
          // An end user with a budget has another allowance.
          serve(at(index), makers[index < 10 ? 0 : 1]({ amount: 1n, requestLimit: limit }), 0n),
        );
        decided.push(...(await Promise.all(holds)));
      }
      const admitted = decided.filter(({ refusal }) => refusal === null).length;
      const minutes = (await currentMinute(database)) === before ? 1 : 2;
      expect(admitted).to.be.at.most(minutes * limit);
      // A process may take a few unused places.
      expect(admitted).to.be.at.least(limit - 4 * PROCESSES);
      const places = decided.flatMap(({ refusal, window }) => (refusal === null && window ? [window.position] : []));
      if (minutes === 1) expect(new Set(places).size).to.equal(places.length);
    });
  });

  it('are exact for any requests in any processes: the granted money is the remaining and the charged money', async () => {
    const request = record({
      process: nat({ max: PROCESSES - 1 }),
      key: nat({ max: 1 }),
      endUser: nat({ max: 2 }),
      amount: bigInt({ min: 1n, max: 3_000n }),
      charge: bigInt({ min: 0n, max: 4_000n }),
    });
    await assert(
      asyncProperty(array(request, { minLength: 1, maxLength: 60 }), nat({ max: 100_000 }), async (requests, funds) => {
        const account = await createAccount(database, { fundedUsd: (funds + 1) / 1e12, signupUsd: 0.000000001 });
        const keys = [await createKey(database, account), await createKey(database, account, { usageLimit: 20_000n })];
        const budgets = await Promise.all(
          ['alice', 'bob'].map((name) =>
            setEndUserBudget(database, {
              accountId: account.id,
              endUser: name,
              usageLimit: 15_000n,
              limitPeriod: 'week',
            }),
          ),
        );
        await Promise.all(
          requests.map(({ process, key, endUser: who, amount, charge }) => {
            const owner = keys[key];
            if (!owner) throw new Error('there are two keys');
            const budget = budgets[who] ?? null;
            return serve(
              at(process),
              newHold(owner, { amount, budgets: budget ? [budget] : [], endUser: budget?.endUser ?? null }),
              charge,
            );
          }),
        );
        await waitUntil(
          async () => expect(await database('text_allowances').where({ account_id: account.id })).to.deep.equal([]),
          { timeoutMs: PATIENCE_MS },
        );
        const { fundedAvailable, fundedReserved, signupAvailable } = await reloadAccount(database, account);
        const rows = await database('text_requests')
          .where({ account_id: account.id })
          .select('charge', 'absorbed', 'end_user');
        const paidBy = (some: typeof rows) =>
          some.reduce((sum, { charge, absorbed }) => sum + BigInt(charge) - BigInt(absorbed), 0n);
        const paid = paidBy(rows);
        for (const { endUser: name, usedOfLimit } of await listEndUserBudgets(database, {
          accountId: account.id,
          limit: 2,
        })) {
          expect(usedOfLimit).to.equal(paidBy(rows.filter(({ end_user: named }) => named === name)));
          expect(usedOfLimit <= 15_000n).to.equal(true);
        }
        expect(fundedReserved).to.equal(0n);
        expect(fundedAvailable + signupAvailable + paid).to.equal(BigInt(funds + 1) + 1_000n);
      }),
      { numRuns: casesOf(24) },
    );
    const wanted = new Set(['account_balances', 'key_usage', 'text_allowances', 'text_charges', 'text_usage']);
    const checks = [...LEDGER_CHECKS, ...PROMO_CHECKS, ...TEXT_CHECKS].filter(({ name }) => wanted.has(name));
    const { findings } = await checkBooks(database, [...checks, BUDGET_CHECK]);
    // One test above removed transfers by hand.
    expect(findings.filter(({ check }) => check !== 'key_usage')).to.deep.equal([]);
  });
});

/**
 * Runs any sequence of top-ups, returned payments, grants, batches of holds, settlements, repetitions and crashes in PostgreSQL and in a
 * model of a few lines: both accept the same holds and have the same balances after each step.
 */
import { expect } from 'chai';
import { array, assert, asyncProperty, bigInt, boolean, constantFrom, nat, oneof, record } from 'fast-check';
import { picoUsd } from '../../../db/database.ts';
import { releaseDeadAllowances } from '../../../db/text-money/dead-processes.ts';
import { grantSignupCredit, topUp } from '../../../db/queries/credits.ts';
import { returnPayment } from '../../../db/queries/returned-payments.ts';
import type { NewTextHold } from '../../../db/text-money/ledger.ts';
import { newId } from '../../../domain/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { createAccount, createKey, reloadAccount, type TestKey } from '../../support/factories.ts';
import { newHold, openTextLedger, type TestLedger, settlementOf } from '../../support/text-money.ts';
import { casesOf } from '../../support/properties.ts';

const RUNS = casesOf(60);
const MAX_STEPS = 25;
const MAX_AMOUNT = 20n;
const USAGE_LIMIT = 25n;
/** Two processes serve two keys of one account, the second with a limit, and the key of another account. */
const PROCESSES = 2;
const KEYS = [
  { account: 0, limit: null },
  { account: 0, limit: USAGE_LIMIT },
  { account: 1, limit: null },
] as const;

const amount = bigInt({ min: 1n, max: MAX_AMOUNT });
const key = nat({ max: KEYS.length - 1 });
const hold = record({ key, amount, usual: amount, more: bigInt({ min: 0n, max: MAX_AMOUNT }), fundedOnly: boolean() });

/** Amounts are close together, so that steps are refused about as often as they are accepted. */
const anyStep = oneof(
  record({ action: constantFrom('topUp'), account: nat({ max: 1 }), amount }),
  // The refund returns the first payment of an account.
  record({ action: constantFrom('refund'), account: nat({ max: 1 }), amount }),
  record({ action: constantFrom('grant'), account: nat({ max: 1 }), amount }),
  record({
    action: constantFrom('hold'),
    process: nat({ max: PROCESSES - 1 }),
    batch: array(hold, { minLength: 1, maxLength: 4 }),
  }),
  // The index of the request among the existing ones. Its process may have died.
  record({ action: constantFrom('settle'), request: nat(), charge: bigInt({ min: 0n, max: 2n * MAX_AMOUNT }) }),
  record({ action: constantFrom('crash'), process: nat({ max: PROCESSES - 1 }) }),
);

type Step = typeof anyStep extends { generate(...args: never[]): { value: infer S } } ? S : never;
type HoldStep = Extract<Step, { action: 'hold' }>;

/** Enough of both kinds of credit for some holds. */
const FIRST_STEPS: readonly Step[] = [
  { action: 'grant', account: 0, amount: 30n },
  { action: 'topUp', account: 0, amount: 30n },
  { action: 'topUp', account: 1, amount: MAX_AMOUNT },
];

interface ModelAccount {
  signup: bigint;
  signupReserved: bigint;
  funded: bigint;
  fundedReserved: bigint;
  toppedUp: boolean;
  /** The first payment, what of it went back to its payer, and what the account gave for that. */
  paid: bigint;
  due: bigint;
  taken: bigint;
}

interface ModelRequest {
  readonly key: number;
  readonly process: number;
  readonly signup: bigint;
  readonly funded: bigint;
  readonly fundedOnly: boolean;
  state: 'open' | 'crashed' | 'ended';
}

/** The expected state, kept by the simplest code possible. */
class Model {
  readonly accounts: ModelAccount[] = [emptyAccount(), emptyAccount()];
  readonly used: bigint[] = KEYS.map(() => 0n);
  readonly requests: ModelRequest[] = [];
  absorbed = 0n;

  /** @returns the held amount; null when the hold is refused */
  hold(process: number, step: HoldStep['batch'][number]): bigint | null {
    const account = this.accountOf(step.key);
    const limit = KEYS[step.key]?.limit ?? null;
    const funds = account.funded + (step.fundedOnly ? 0n : account.signup);
    const room = limit === null ? funds : min(funds, limit - (this.used[step.key] ?? 0n));
    if (!account.toppedUp || step.amount > room) return null;
    const amount = min(step.amount + step.more, max(step.amount, max(min(step.usual, room / 3n), room / 4n)));
    const signup = step.fundedOnly ? 0n : min(account.signup, amount);
    const funded = amount - signup;
    account.signup -= signup;
    account.signupReserved += signup;
    account.funded -= funded;
    account.fundedReserved += funded;
    this.use(step.key, amount);
    this.requests.push({ key: step.key, process, signup, funded, fundedOnly: step.fundedOnly, state: 'open' });
    return amount;
  }

  settle(request: ModelRequest, charge: bigint): void {
    if (request.state === 'ended') return;
    const held = request.state === 'open' ? request.signup + request.funded : 0n;
    if (request.state === 'open') this.release(request);
    request.state = 'ended';
    // The part within the hold is paid from the hold, in the order in which the credit was held.
    const account = this.accountOf(request.key);
    const paid = min(charge, held);
    const paidBySignup = min(paid, request.signup);
    account.signup -= paidBySignup;
    account.funded -= paid - paidBySignup;
    this.use(request.key, paid);
    const beyond = charge - paid;
    const limit = KEYS[request.key]?.limit ?? null;
    const payable = limit === null ? beyond : min(beyond, limit - (this.used[request.key] ?? 0n));
    const beyondBySignup = request.fundedOnly ? 0n : min(payable, account.signup);
    const beyondByFunded = min(payable - beyondBySignup, account.funded);
    account.signup -= beyondBySignup;
    account.funded -= beyondByFunded;
    this.use(request.key, beyondBySignup + beyondByFunded);
    this.absorbed += beyond - beyondBySignup - beyondByFunded;
  }

  refund(account: ModelAccount, refunded: bigint): void {
    account.due = max(account.due, min(refunded, account.paid));
  }

  /** Accounts give the funded credit that they have for what they owe. */
  collectDebts(): void {
    for (const account of this.accounts) {
      const taken = min(account.due - account.taken, account.funded);
      account.funded -= taken;
      account.taken += taken;
    }
  }

  crash(process: number): void {
    for (const request of this.requests) {
      if (request.process !== process || request.state !== 'open') continue;
      this.release(request);
      request.state = 'crashed';
    }
  }

  private release({ key, signup, funded }: ModelRequest): void {
    const account = this.accountOf(key);
    account.signupReserved -= signup;
    account.signup += signup;
    account.fundedReserved -= funded;
    account.funded += funded;
    this.use(key, -signup - funded);
  }

  private use(key: number, amount: bigint): void {
    this.used[key] = (this.used[key] ?? 0n) + amount;
  }

  accountOf(key: number): ModelAccount {
    const account = this.accounts[KEYS[key]?.account ?? 0];
    if (!account) throw new Error(`there is no key ${key}`);
    return account;
  }
}

describe('the money of text requests', () => {
  let testDatabase: TestDatabase;

  before(async () => {
    testDatabase = await createTestDatabase();
  });

  after(() => testDatabase.drop());

  it('agrees with its model after every step, is the sum of its transfers, and is never negative', async () => {
    // contract 8.3:9
    await assert(
      asyncProperty(array(anyStep, { minLength: 1, maxLength: MAX_STEPS, size: 'max' }), async (steps) => {
        const model = new Model();
        const real = await createReal(testDatabase);
        try {
          for (const step of [...FIRST_STEPS, ...steps]) {
            await perform(step, model, real);
            model.collectDebts();
            const expected = stateOf(model);
            expect(await real.state(BALANCES), `balances after ${step.action}`).to.deep.equal(expected);
            expect(await real.state(SUMS), `sums of transfers after ${step.action}`).to.deep.equal(expected);
            expect(await real.absorbed(), 'absorbed').to.equal(model.absorbed);
            expect((model.used[1] ?? 0n) <= USAGE_LIMIT, 'within the limit of the key').to.equal(true);
          }
        } finally {
          await real.close();
        }
      }),
      { numRuns: RUNS },
    );
  });
});

async function perform(step: Step, model: Model, real: Real): Promise<void> {
  switch (step.action) {
    case 'topUp':
    case 'grant': {
      const account = model.accounts[step.account];
      if (!account) throw new Error('there are two accounts');
      await real.credit(step.action, step.account, step.amount);
      account[step.action === 'topUp' ? 'funded' : 'signup'] += step.amount;
      if (step.action === 'topUp' && !account.toppedUp) account.paid = step.amount;
      account.toppedUp ||= step.action === 'topUp';
      return;
    }
    case 'refund':
      await real.refund(step.account, step.amount);
      model.refund(at(model.accounts, step.account), step.amount);
      return;
    case 'hold': {
      const held = await real.hold(step.process, step.batch);
      // The database decides a batch key by key.
      const expected: (bigint | null)[] = step.batch.map(() => null);
      for (const index of real.decisionOrder(step.batch)) {
        const one = step.batch[index];
        const amount = one ? model.hold(step.process, one) : null;
        if (amount === null) continue;
        expected[index] = amount;
        real.remember(index);
      }
      expect(held, 'held').to.deep.equal(expected);
      return;
    }
    case 'settle': {
      const index = step.request % Math.max(1, model.requests.length);
      const request = model.requests[index];
      if (!request || request.state === 'ended') return;
      await real.settle(index, step.charge);
      model.settle(request, step.charge);
      return;
    }
    case 'crash':
      await real.crash(step.process);
      model.crash(step.process);
  }
}

type State = readonly (readonly bigint[])[];

interface Real {
  credit(action: 'topUp' | 'grant', account: number, amount: bigint): Promise<void>;
  refund(account: number, refunded: bigint): Promise<void>;
  hold(process: number, batch: HoldStep['batch']): Promise<(bigint | null)[]>;
  /** The places of a batch in the order in which the database decides about them. */
  decisionOrder(batch: HoldStep['batch']): number[];
  /** Numbers the request at that place of the latest batch. */
  remember(place: number): void;
  settle(request: number, charge: bigint): Promise<void>;
  crash(process: number): Promise<void>;
  state(sql: string): Promise<State>;
  absorbed(): Promise<bigint>;
  close(): Promise<void>;
}

/** The same steps in PostgreSQL, on accounts and in processes of their own. */
async function createReal({ database, url }: TestDatabase): Promise<Real> {
  const accounts = [await createAccount(database), await createAccount(database)].map(({ id }) => id);
  const keys: TestKey[] = [];
  for (const { account, limit } of KEYS) {
    keys.push(await createKey(database, { id: accounts[account] ?? '' }, { usageLimit: limit }));
  }
  const processes: { id: string; ledger: TestLedger }[] = [];
  for (let index = 0; index < PROCESSES; index += 1) processes.push(await startProcess(url));
  const requests: { readonly hold: NewTextHold; readonly ledger: TestLedger }[] = [];
  let latest: { readonly holds: NewTextHold[]; readonly ledger: TestLedger } | undefined;

  return {
    credit: async (action, account, amount) => {
      const accountId = at(accounts, account);
      if (action === 'grant') await grantSignupCredit(database, accountId, amount);
      else {
        // The first payment of an account may go back.
        const { toppedUpAt } = await reloadAccount(database, { id: accountId });
        const reference = toppedUpAt === null ? `payment:${accountId}` : newId('request');
        await topUp(database, { accountId, amount, reference });
      }
    },
    refund: async (account, refunded) => {
      await returnPayment(database, `payment:${at(accounts, account)}`, { refunded, refundedAt: 0 });
    },
    hold: async (process, batch) => {
      const { ledger } = at(processes, process);
      const holds = batch.map(({ key, amount, usual, more, fundedOnly }) =>
        newHold(at(keys, key), {
          minAmount: amount,
          usualAmount: usual,
          maxAmount: amount + more,
          fundedOnly,
        }),
      );
      latest = { holds, ledger };
      const decisions = await ledger.hold(holds);
      return decisions.map((decision) => (decision.refusal === null ? decision.amount : null));
    },
    decisionOrder: (batch) => {
      const keyOf = (index: number): string => {
        const { accountId, id } = at(keys, at(batch, index).key);
        return `${accountId} ${id}`;
      };
      return batch
        .map((_, index) => index)
        .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : a - b));
    },
    remember: (place) => {
      if (latest) requests.push({ hold: at(latest.holds, place), ledger: latest.ledger });
    },
    settle: async (request, charge) => {
      const { hold, ledger } = at(requests, request);
      // No other process knows the holds of a dead process.
      const isAlive = processes.some((process) => process.ledger === ledger);
      await (isAlive ? ledger : at(processes, 0).ledger).settle([settlementOf(hold, { charge })]);
    },
    crash: async (process) => {
      const dead = at(processes, process);
      await database('processes')
        .where('id', dead.id)
        .update({ heartbeat_at: new Date(0) });
      const { id, ledger } = await startProcess(url);
      await releaseDeadAllowances(database, id, 0);
      await dead.ledger.close();
      processes[process] = { id, ledger };
    },
    state: async (sql) => {
      const { rows } = await database.raw<{ rows: { values: string[] }[] }>(sql, { keys: keys.map(({ id }) => id) });
      return rows.map(({ values }) => values.map(picoUsd));
    },
    absorbed: async () => {
      const [row] = await database('transfers')
        .where('kind', 'absorbed_loss')
        .whereIn('account_id', accounts)
        .sum<{ sum: string | null }[]>('amount');
      return picoUsd(row?.sum ?? '0');
    },
    close: async () => {
      await Promise.all(processes.map(({ ledger }) => ledger.close()));
    },
  };
}

async function startProcess(url: string): Promise<{ id: string; ledger: TestLedger }> {
  const ledger = openTextLedger(url, { poolSize: 1 });
  await ledger.send({});
  return { id: ledger.processId, ledger };
}

/** The balances of each key's account, and the usage of the key. */
function stateOf(model: Model): State {
  return KEYS.map((_, key) => {
    const { signup, signupReserved, funded, fundedReserved } = model.accountOf(key);
    return [signup, signupReserved, funded, fundedReserved, model.used[key] ?? 0n];
  });
}

const BALANCES = /* sql */ `
  SELECT ARRAY[signup_available, signup_reserved, funded_available, funded_reserved, used]::text[] AS values
  FROM api_keys JOIN accounts ON accounts.id = account_id
  WHERE api_keys.id = ANY (:keys) ORDER BY array_position(:keys, api_keys.id)`;

/** The sum of the transfers, leg by leg. */
const SUMS = /* sql */ `
  WITH legs AS (
    SELECT account_id, api_key_id, credit AS book, amount, signup_amount AS signup FROM transfers
    UNION ALL SELECT account_id, api_key_id, debit, -amount, -signup_amount FROM transfers
  )
  SELECT ARRAY[
    coalesce(sum(signup) FILTER (WHERE book = 'available'), 0),
    coalesce(sum(signup) FILTER (WHERE book = 'reserved'), 0),
    coalesce(sum(amount - signup) FILTER (WHERE book = 'available'), 0),
    coalesce(sum(amount - signup) FILTER (WHERE book = 'reserved'), 0),
    coalesce(sum(amount) FILTER (WHERE legs.api_key_id = api_keys.id AND book IN ('reserved', 'revenue')), 0)
      - coalesce(sum(-amount) FILTER (WHERE legs.api_key_id = api_keys.id AND book = 'absorbed_loss'), 0)]::text[] AS values
  FROM api_keys LEFT JOIN legs ON legs.account_id = api_keys.account_id
  WHERE api_keys.id = ANY (:keys) GROUP BY api_keys.id ORDER BY array_position(:keys, api_keys.id)`;

function emptyAccount(): ModelAccount {
  return {
    signup: 0n,
    signupReserved: 0n,
    funded: 0n,
    fundedReserved: 0n,
    toppedUp: false,
    paid: 0n,
    due: 0n,
    taken: 0n,
  };
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no item ${index}`);
  return item;
}

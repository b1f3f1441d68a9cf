/**
 * Runs any sequence of top-ups, returned payments, grants, adjustments, creates and completions in PostgreSQL and in a
 * model of a few lines: both accept the same steps and agree after each, and every balance is the sum of its transfers.
 */
import { expect } from 'chai';
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  bigInt,
  constant,
  constantFrom,
  nat,
  oneof,
  record,
} from 'fast-check';
import { CHECK_VIOLATION, type Database, isDatabaseError, picoUsd } from '../../db/database.ts';
import { adjust, grantSignupCredit, topUp } from '../../db/queries/credits.ts';
import { returnPayment } from '../../db/queries/returned-payments.ts';
import { createTasks } from '../../db/queries/tasks.ts';
import { LEDGER_CHECKS } from '../../db/reconciliation/ledger-checks.ts';
import { checkBooks } from '../support/reconciliation.ts';
import { useTestDatabase } from '../support/database.ts';
import {
  createAccount,
  createKey,
  finishAsFailed,
  finishAsSucceeded,
  newTask,
  type TestKey,
} from '../support/factories.ts';
import { casesOf } from '../support/properties.ts';

const RUNS = casesOf(60);
const MAX_STEPS = 25;
const ACCOUNTS = 2;
const MAX_AMOUNT = 20n;

type Step =
  | { readonly action: 'topUp'; readonly account: number; readonly amount: bigint; readonly reference: string }
  /** The amount of the payment that went back so far: a dispute may be won. */
  | { readonly action: 'return'; readonly account: number; readonly amount: bigint; readonly reference: string }
  | { readonly action: 'grant'; readonly account: number; readonly amount: bigint }
  /** A negative amount debits. */
  | { readonly action: 'adjust'; readonly account: number; readonly amount: bigint }
  | { readonly action: 'create'; readonly account: number; readonly price: bigint }
  /** The index of the task among the existing ones; a final task is completed again. */
  | { readonly action: 'finish'; readonly task: number; readonly ending: 'succeeded' | 'failed' };

const account = nat({ max: ACCOUNTS - 1 });
const amount = bigInt({ min: 1n, max: MAX_AMOUNT });

/** Close to each other, so that balances are often just sufficient or just insufficient. */
const anyStep: Arbitrary<Step> = oneof(
  record({ action: constant('topUp' as const), account, amount, reference: constantFrom('a', 'b', 'c') }),
  record({
    action: constant('return' as const),
    account,
    amount: bigInt({ min: 0n, max: MAX_AMOUNT }),
    reference: constantFrom('a', 'b', 'c'),
  }),
  record({ action: constant('grant' as const), account, amount }),
  record({ action: constant('adjust' as const), account, amount: amount.chain((n) => constantFrom(n, -n)) }),
  record({ action: constant('create' as const), account, price: amount }),
  record({ action: constant('finish' as const), task: nat(), ending: constantFrom('succeeded' as const, 'failed') }),
);

interface Balances {
  readonly signup: bigint;
  readonly signupReserved: bigint;
  readonly funded: bigint;
  readonly fundedReserved: bigint;
  /** By the account's only key. */
  readonly used: bigint;
}

interface Model {
  readonly accounts: readonly Balances[];
  /** By account and reference. */
  readonly topUps: ReadonlyMap<string, ModelPayment>;
  readonly tasks: readonly ModelTask[];
}

interface ModelPayment {
  readonly account: number;
  readonly amount: bigint;
  /** What went back to the payer. */
  readonly due: bigint;
  /** What the account gave for it. */
  readonly taken: bigint;
}

interface ModelTask {
  readonly account: number;
  readonly signup: bigint;
  readonly funded: bigint;
  readonly ended: boolean;
}

const NOTHING: Balances = { signup: 0n, signupReserved: 0n, funded: 0n, fundedReserved: 0n, used: 0n };

describe('the ledger', () => {
  const testDatabase = useTestDatabase();

  it('agrees with its model after every step, is the sum of its transfers, and is never negative', async () => {
    await assert(
      asyncProperty(array(anyStep, { minLength: 1, maxLength: MAX_STEPS, size: 'max' }), async (steps) => {
        const ledger = await createLedger(testDatabase.database);
        let model: Model = { accounts: Array.from({ length: ACCOUNTS }, () => NOTHING), topUps: new Map(), tasks: [] };
        for (const step of steps) {
          const next = applyStep(model, step);
          expect(await ledger.perform(step), `accepted ${step.action}`).to.equal(next !== null);
          model = next === null ? model : collectDebts(next);
          expect(await ledger.balances(), 'balances').to.deep.equal(model.accounts);
          expect(await ledger.sums(), 'sums of transfers').to.deep.equal(model.accounts);
          expect(model.accounts.flatMap(Object.values).every((balance: bigint) => balance >= 0n)).to.equal(true);
          expect(await ledger.debts(), 'debts').to.deep.equal(
            model.accounts.map((_, account) => debtOf(model, account)),
          );
        }
      }),
      { numRuns: RUNS },
    );
    const { findings } = await checkBooks(testDatabase.database, LEDGER_CHECKS);
    expect(findings.filter(({ detail }) => !/ returned, .* taken back$/.test(detail))).to.deep.equal([]);
  });
});

/** @returns null for a step that is refused or changes nothing */
function applyStep(model: Model, step: Step): Model | null {
  switch (step.action) {
    case 'topUp': {
      const payment = `${step.account} ${step.reference}`;
      if (model.topUps.has(payment)) return null;
      const credited = { account: step.account, amount: step.amount, due: 0n, taken: 0n };
      return {
        ...move(model, step.account, { funded: step.amount }),
        topUps: new Map(model.topUps).set(payment, credited),
      };
    }
    case 'return':
      return returnInModel(model, step);
    case 'grant':
      return move(model, step.account, { signup: step.amount });
    case 'adjust':
      if (accountOf(model, step.account).funded + step.amount < 0n) return null;
      return move(model, step.account, { funded: step.amount });
    case 'create':
      return createInModel(model, step);
  }
  return finishInModel(model, step);
}

function returnInModel(model: Model, { account, amount, reference }: Step & { action: 'return' }): Model | null {
  const name = `${account} ${reference}`;
  const payment = model.topUps.get(name);
  if (!payment) return null;
  const due = amount < payment.amount ? amount : payment.amount;
  const taken = payment.taken < due ? payment.taken : due;
  if (due === payment.due) return null;
  const given = move(model, account, { funded: payment.taken - taken });
  return { ...given, topUps: new Map(model.topUps).set(name, { ...payment, due, taken }) };
}

/** Every account that owes gives its funded credit. */
function collectDebts(model: Model): Model {
  let collected = model;
  for (const [name, payment] of model.topUps) {
    const { funded } = accountOf(collected, payment.account);
    const owed = payment.due - payment.taken;
    const taken = owed < funded ? owed : funded;
    collected = {
      ...move(collected, payment.account, { funded: -taken }),
      topUps: new Map(collected.topUps).set(name, { ...payment, taken: payment.taken + taken }),
    };
  }
  return collected;
}

function debtOf(model: Model, account: number): bigint {
  const own = [...model.topUps.values()].filter((payment) => payment.account === account);
  return own.reduce((sum, { due, taken }) => sum + due - taken, 0n);
}

function createInModel(model: Model, { account, price }: Step & { action: 'create' }): Model | null {
  const { signup: signupAvailable, funded: fundedAvailable } = accountOf(model, account);
  const hasToppedUp = [...model.topUps.values()].some((payment) => payment.account === account);
  if (!hasToppedUp || signupAvailable + fundedAvailable < price) return null;
  const signup = price < signupAvailable ? price : signupAvailable;
  const funded = price - signup;
  const held = { signup: -signup, signupReserved: signup, funded: -funded, fundedReserved: funded, used: price };
  return { ...move(model, account, held), tasks: [...model.tasks, { account, signup, funded, ended: false }] };
}

function finishInModel(model: Model, { task: number, ending }: Step & { action: 'finish' }): Model | null {
  const index = number % model.tasks.length;
  const task = model.tasks[index];
  if (!task || task.ended) return null;
  const { account, signup, funded } = task;
  const released = { signupReserved: -signup, fundedReserved: -funded };
  const returned = ending === 'failed' ? { signup, funded, used: -signup - funded } : {};
  return {
    ...move(model, account, { ...released, ...returned }),
    tasks: model.tasks.with(index, { ...task, ended: true }),
  };
}

function move(model: Model, account: number, by: Partial<Balances>): Model {
  const old = accountOf(model, account);
  const balances = {
    signup: old.signup + (by.signup ?? 0n),
    signupReserved: old.signupReserved + (by.signupReserved ?? 0n),
    funded: old.funded + (by.funded ?? 0n),
    fundedReserved: old.fundedReserved + (by.fundedReserved ?? 0n),
    used: old.used + (by.used ?? 0n),
  };
  return { ...model, accounts: model.accounts.with(account, balances) };
}

function accountOf(model: Model, account: number): Balances {
  return model.accounts[account] ?? NOTHING;
}

interface Ledger {
  /** @returns whether the step was accepted and changed something */
  perform(step: Step): Promise<boolean>;
  balances(): Promise<readonly Balances[]>;
  sums(): Promise<readonly Balances[]>;
  debts(): Promise<readonly bigint[]>;
}

/** The same steps in PostgreSQL, on accounts of their own. */
async function createLedger(database: Database): Promise<Ledger> {
  const keys: TestKey[] = [];
  for (let index = 0; index < ACCOUNTS; index += 1) keys.push(await createKey(database, await createAccount(database)));
  const taskIds: string[] = [];

  function keyOf(account: number): TestKey {
    const key = keys[account];
    if (!key) throw new Error(`there is no account ${account}`);
    return key;
  }

  async function create(key: TestKey, price: bigint): Promise<boolean> {
    const task = newTask(key, { price });
    const [outcome] = await createTasks(database, [task]);
    if (outcome === 'created') taskIds.push(task.id);
    return outcome === 'created';
  }

  async function finish(number: number, ending: 'succeeded' | 'failed'): Promise<boolean> {
    const id = taskIds[number % taskIds.length];
    if (id === undefined) return false;
    const { applied } = await (ending === 'succeeded' ? finishAsSucceeded : finishAsFailed)(database, { id });
    return applied;
  }

  const findReturned = (reference: string) =>
    database<{ reference: string; due: string }>('returned_payments').where({ reference }).first();

  /** A dispute changes its amount in both directions. */
  async function giveBack(accountId: string, name: string, amount: bigint): Promise<boolean> {
    const reference = referenceOf(accountId, name);
    const known = await findReturned(reference);
    if (!(await database('top_ups').where({ reference }).first())) return false;
    await returnPayment(database, reference, { dispute: { id: 'dp_1', amount, isWon: false, isPrevented: false } });
    const now = await findReturned(reference);
    return now?.due !== (known?.due ?? '0');
  }

  return {
    perform: async (step) => {
      switch (step.action) {
        case 'topUp': {
          const { accountId } = keyOf(step.account);
          const reference = referenceOf(accountId, step.reference);
          return (await topUp(database, { accountId, amount: step.amount, reference })).applied;
        }
        case 'return':
          return giveBack(keyOf(step.account).accountId, step.reference, step.amount);
        case 'grant':
          await grantSignupCredit(database, keyOf(step.account).accountId, step.amount);
          return true;
        case 'adjust':
          return acceptedBy(
            adjust(database, {
              accountId: keyOf(step.account).accountId,
              amount: step.amount,
              author: 'a',
              reason: 'b',
            }),
          );
        case 'create':
          return create(keyOf(step.account), step.price);
      }
      return finish(step.task, step.ending);
    },
    balances: () => readBalances(database, keys, BALANCES),
    sums: () => readBalances(database, keys, SUMS),
    debts: async () => {
      const ids = keys.map(({ accountId }) => accountId);
      const rows = await database<{ id: string; debt: string }>('accounts').whereIn('id', ids).select('id', 'debt');
      return ids.map((id) => picoUsd(rows.find((row) => row.id === id)?.debt ?? ''));
    },
  };
}

/** No two accounts have the same payment. */
function referenceOf(accountId: string, name: string): string {
  return `payment:${accountId} ${name}`;
}

async function acceptedBy(change: Promise<unknown>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (isDatabaseError(error, CHECK_VIOLATION)) return false;
    throw error;
  }
}

const BALANCES = /* sql */ `
  SELECT account_id, signup_available AS signup, signup_reserved AS "signupReserved", funded_available AS funded,
    funded_reserved AS "fundedReserved", used
  FROM accounts JOIN api_keys ON account_id = accounts.id WHERE account_id = ANY (?)`;

/** The sum of the transfers, leg by leg. */
const SUMS = /* sql */ `
  SELECT account_id,
    coalesce(sum(signup) FILTER (WHERE book = 'available'), 0) AS signup,
    coalesce(sum(signup) FILTER (WHERE book = 'reserved'), 0) AS "signupReserved",
    coalesce(sum(amount - signup) FILTER (WHERE book = 'available'), 0) AS funded,
    coalesce(sum(amount - signup) FILTER (WHERE book = 'reserved'), 0) AS "fundedReserved",
    coalesce(sum(amount) FILTER (WHERE api_key_id IS NOT NULL AND book IN ('reserved', 'revenue')), 0) AS used
  FROM (
    SELECT account_id, api_key_id, credit AS book, amount, signup_amount AS signup FROM transfers
    UNION ALL
    SELECT account_id, api_key_id, debit, -amount, -signup_amount FROM transfers
  ) AS legs
  WHERE account_id = ANY (?) GROUP BY account_id`;

async function readBalances(database: Database, keys: readonly TestKey[], sql: string): Promise<readonly Balances[]> {
  const accountIds = keys.map(({ accountId }) => accountId);
  const { rows } = await database.raw<{ rows: (Record<keyof Balances, string> & { account_id: string })[] }>(sql, [
    accountIds,
  ]);
  return accountIds.map((id) => {
    const row = rows.find(({ account_id }) => account_id === id);
    if (!row) return NOTHING;
    return {
      signup: picoUsd(row.signup),
      signupReserved: picoUsd(row.signupReserved),
      funded: picoUsd(row.funded),
      fundedReserved: picoUsd(row.fundedReserved),
      used: picoUsd(row.used),
    };
  });
}

/**
 * Runs any sequence of top-ups, grants, adjustments, creates and completions in PostgreSQL and in a model of a few
 * lines: both accept the same steps and agree after each, and every balance is the sum of its transfers.
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
import { createTasks } from '../../db/queries/tasks.ts';
import { useTestDatabase } from '../support/database.ts';
import {
  createAccount,
  createKey,
  finishAsFailed,
  finishAsSucceeded,
  newTask,
  type TestKey,
} from '../support/factories.ts';

const RUNS = 20;
const MAX_STEPS = 25;
const ACCOUNTS = 2;
const MAX_AMOUNT = 20n;

type Step =
  | { readonly action: 'topUp'; readonly account: number; readonly amount: bigint; readonly reference: string }
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
  /** Account and reference of each top-up. */
  readonly topUps: readonly string[];
  readonly tasks: readonly ModelTask[];
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
        let model: Model = { accounts: Array.from({ length: ACCOUNTS }, () => NOTHING), topUps: [], tasks: [] };
        for (const step of steps) {
          const next = applyStep(model, step);
          expect(await ledger.perform(step), `accepted ${step.action}`).to.equal(next !== null);
          model = next ?? model;
          expect(await ledger.balances(), 'balances').to.deep.equal(model.accounts);
          expect(await ledger.sums(), 'sums of transfers').to.deep.equal(model.accounts);
          expect(model.accounts.flatMap(Object.values).every((balance: bigint) => balance >= 0n)).to.equal(true);
        }
      }),
      { numRuns: RUNS },
    );
  });
});

/** @returns null for a step that is refused or changes nothing */
function applyStep(model: Model, step: Step): Model | null {
  switch (step.action) {
    case 'topUp': {
      const payment = `${step.account} ${step.reference}`;
      if (model.topUps.includes(payment)) return null;
      return { ...move(model, step.account, { funded: step.amount }), topUps: [...model.topUps, payment] };
    }
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

function createInModel(model: Model, { account, price }: Step & { action: 'create' }): Model | null {
  const { signup: signupAvailable, funded: fundedAvailable } = accountOf(model, account);
  const hasToppedUp = model.topUps.some((payment) => payment.startsWith(`${account} `));
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

  return {
    perform: async (step) => {
      switch (step.action) {
        case 'topUp': {
          const { accountId } = keyOf(step.account);
          return (await topUp(database, { accountId, amount: step.amount, reference: step.reference })).applied;
        }
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
  };
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

/**
 * Runs any sequence of grants, top-ups, holds, settlements, refunds and expiries in PostgreSQL and in a model of a few
 * lines: both agree on every grant after each step, and on the balances.
 */
import { expect } from 'chai';
import { array, assert, asyncProperty, bigInt, boolean, constantFrom, nat, oneof, record } from 'fast-check';
import { type Database, picoUsd } from '../../db/database.ts';
import { grantSignupCredit, topUp } from '../../db/queries/credits.ts';
import { expirePromoCredit, grantPromoCredit } from '../../db/queries/promo-grants.ts';
import { LEDGER_CHECKS } from '../../db/reconciliation/ledger-checks.ts';
import { PROMO_CHECKS } from '../../db/reconciliation/promo-checks.ts';
import type { NewTextHold } from '../../db/text-money/ledger.ts';
import { newId } from '../../domain/ids.ts';
import { useTestDatabase } from '../support/database.ts';
import { createAccount, createKey, type TestKey } from '../support/factories.ts';
import { checkBooks } from '../support/reconciliation.ts';
import { newHold, openTextLedger, type TestLedger, settlementOf } from '../support/text-money.ts';
import { casesOf } from '../support/properties.ts';

const RUNS = casesOf(48);
const MAX_STEPS = 25;
const MAX_AMOUNT = 20n;
const DAY_MS = 86_400_000;
/** How far expired grants are moved into the past, instead of waiting. */
const AGO_DAYS = 1_000;

const amount = bigInt({ min: 1n, max: MAX_AMOUNT });

const anyStep = oneof(
  record({ action: constantFrom('promo'), amount, days: nat({ max: 4 }) }),
  record({ action: constantFrom('signup', 'topUp'), amount }),
  record({ action: constantFrom('hold'), amount }),
  // The index of the request among the existing ones. A charge of zero refunds.
  record({ action: constantFrom('settle'), request: nat(), charge: bigInt({ min: 0n, max: 2n * MAX_AMOUNT }) }),
  // Expired credit may not have been removed yet.
  record({ action: constantFrom('wait'), days: nat({ max: 3 }), isSwept: boolean() }),
);
type Step = typeof anyStep extends { generate(...args: never[]): { value: infer S } } ? S : never;

interface ModelGrant {
  readonly expiresOnDay: number;
  available: bigint;
  reserved: bigint;
  spent: bigint;
  expired: bigint;
}

interface ModelHold {
  readonly amount: bigint;
  /** The part that is signup or promo credit. */
  readonly signup: bigint;
}

/** The expected state, kept by the simplest code possible. */
class Model {
  readonly grants: ModelGrant[] = [];
  readonly holds: (ModelHold | null)[] = [];
  signup = 0n;
  /** Signup credit without promo credit that is held. All holds are of one allowance. */
  signupHeld = 0n;
  funded = 0n;
  today = 0;

  hold(amount: bigint): boolean {
    if (amount > this.available()) return false;
    const promo = this.takePromo(amount);
    for (const [grant, taken] of promo) grant.reserved += taken;
    const rest = amount - sum(promo.map(([, taken]) => taken));
    const signup = min(this.signup, rest);
    this.signup -= signup;
    this.funded -= rest - signup;
    this.signupHeld += signup;
    this.holds.push({ amount, signup: signup + sum(promo.map(([, taken]) => taken)) });
    return true;
  }

  settle(index: number, charge: bigint): void {
    const hold = this.holds[index];
    if (!hold) return;
    this.holds[index] = null;
    const paid = min(charge, hold.amount);
    const paidBySignup = min(paid, hold.signup);
    const spent = this.takeReserved(paidBySignup, (grant, taken) => (grant.spent += taken));
    this.signupHeld -= paidBySignup - spent;
    // Other signup credit returns before promo credit, unless the promo credit has expired.
    const returned = hold.signup - paidBySignup;
    const expired = sum(this.grants.filter((grant) => !this.isValid(grant)).map(({ reserved }) => reserved));
    const promo = min(returned, max(returned - this.signupHeld, expired));
    this.takeReserved(promo, (grant, taken) => (grant.available += taken));
    this.signupHeld -= returned - promo;
    this.signup += returned - promo;
    this.funded += hold.amount - hold.signup - (paid - paidBySignup);
    this.takeBeyond(charge - hold.amount);
  }

  /** Takes promo credit from the hold, the first to expire first. @returns the amount taken */
  private takeReserved(amount: bigint, use: (grant: ModelGrant, taken: bigint) => void): bigint {
    let left = amount;
    for (const grant of this.grants.toSorted((a, b) => a.expiresOnDay - b.expiresOnDay)) {
      const taken = min(left, grant.reserved);
      grant.reserved -= taken;
      left -= taken;
      use(grant, taken);
    }
    return amount - left;
  }

  wait(days: number, isSwept: boolean): void {
    this.today += days;
    for (const grant of isSwept ? this.grants.filter((grant) => !this.isValid(grant)) : []) {
      grant.expired += grant.available;
      grant.available = 0n;
    }
  }

  /** The cost of a request above its hold, as far as the account's balance covers it. */
  private takeBeyond(beyond: bigint): void {
    const amount = min(beyond, this.available());
    if (amount <= 0n) return;
    const promo = this.takePromo(amount);
    for (const [grant, taken] of promo) grant.spent += taken;
    const rest = amount - sum(promo.map(([, taken]) => taken));
    const signup = min(this.signup, rest);
    this.signup -= signup;
    this.funded -= rest - signup;
  }

  private takePromo(amount: bigint): [ModelGrant, bigint][] {
    const parts: [ModelGrant, bigint][] = [];
    let left = amount;
    for (const grant of this.grants
      .filter((grant) => this.isValid(grant))
      .toSorted((a, b) => a.expiresOnDay - b.expiresOnDay)) {
      const taken = min(left, grant.available);
      if (taken === 0n) continue;
      grant.available -= taken;
      left -= taken;
      parts.push([grant, taken]);
    }
    return parts;
  }

  private available(): bigint {
    const valid = this.grants.filter((grant) => this.isValid(grant));
    return this.signup + this.funded + sum(valid.map(({ available }) => available));
  }

  private isValid({ expiresOnDay }: ModelGrant): boolean {
    return expiresOnDay > this.today;
  }
}

describe('promo credit', () => {
  const testDatabase = useTestDatabase();

  it('is neither lost nor invented, and agrees with its model after every step', async () => {
    // contract 5:23
    const { database, url } = testDatabase;
    const ledger = openTextLedger(url, { poolSize: 1 });
    try {
      await assert(
        asyncProperty(array(anyStep, { minLength: 1, maxLength: MAX_STEPS, size: 'max' }), async (steps) => {
          const model = new Model();
          const real = await createReal(database, ledger);
          // An account that never topped up holds nothing here.
          for (const step of [{ action: 'topUp', amount: 1n } as const, ...steps]) {
            await perform(step, model, real);
            expect(await real.grants(), `grants after ${step.action}`).to.deep.equal(model.grants.map(partsOf));
            expect(await real.otherCredit(), `credit after ${step.action}`).to.deep.equal([model.signup, model.funded]);
          }
        }),
        { numRuns: RUNS },
      );
      // Credit that returned to a grant after its expiry, as the last steps of a run may have left it.
      await expirePromoCredit(database, 1_000);
      expect(await findingsOf(database)).to.deep.equal([]);
    } finally {
      await ledger.close();
    }
  });
});

/** The findings of reconciliation about the money of all accounts. */
async function findingsOf(database: Database): Promise<readonly unknown[]> {
  const checks = [...PROMO_CHECKS, ...LEDGER_CHECKS.filter(({ name }) => name === 'account_balances')];
  return (await checkBooks(database, checks)).findings;
}

async function perform(step: Step, model: Model, real: Real): Promise<void> {
  switch (step.action) {
    case 'promo': {
      // No two grants of a run expire at once, so their order is known.
      const expiresOnDay = model.today + 1 + step.days + model.grants.length / 1_000;
      await real.grant(step.amount, expiresOnDay);
      model.grants.push({ expiresOnDay, available: step.amount, reserved: 0n, spent: 0n, expired: 0n });
      return;
    }
    case 'signup':
      await real.signup(step.amount);
      model.signup += step.amount;
      return;
    case 'topUp':
      await real.topUp(step.amount);
      model.funded += step.amount;
      return;
    case 'hold':
      expect(await real.hold(step.amount), 'accepted').to.equal(model.hold(step.amount));
      return;
    case 'settle': {
      const index = step.request % Math.max(1, model.holds.length);
      if (!model.holds[index]) return;
      await real.settle(index, step.charge);
      model.settle(index, step.charge);
      return;
    }
    case 'wait':
      model.wait(step.days, step.isSwept);
      await real.waitUntil(model.today, step.isSwept);
  }
}

interface Real {
  grant(amount: bigint, expiresOnDay: number): Promise<void>;
  signup(amount: bigint): Promise<void>;
  topUp(amount: bigint): Promise<void>;
  hold(amount: bigint): Promise<boolean>;
  settle(index: number, charge: bigint): Promise<void>;
  waitUntil(day: number, isSwept: boolean): Promise<void>;
  grants(): Promise<readonly (readonly bigint[])[]>;
  /** Signup credit and funded credit that are available. */
  otherCredit(): Promise<readonly bigint[]>;
}

/** The same steps in PostgreSQL, on an account of its own. */
async function createReal(database: Database, ledger: TestLedger): Promise<Real> {
  const key: TestKey = await createKey(database, await createAccount(database));
  const { accountId } = key;
  const start = Date.now() + DAY_MS;
  const holds: NewTextHold[] = [];
  let references = 0;

  return {
    grant: async (amount, expiresOnDay) => {
      references += 1;
      const expiresAt = new Date(start + Math.round(expiresOnDay * DAY_MS));
      const common = { reference: `grant ${references}`, author: 'ada', reason: 'a test' };
      await grantPromoCredit(database, { accountId, amount, expiresAt, ...common });
    },
    signup: async (amount) => void (await grantSignupCredit(database, accountId, amount)),
    topUp: async (amount) => void (await topUp(database, { accountId, amount, reference: newId('request') })),
    hold: async (amount) => {
      const hold = newHold(key, { amount });
      const [decision] = await ledger.hold([hold]);
      const accepted = decision?.refusal === null;
      if (accepted) holds.push(hold);
      return accepted;
    },
    settle: async (index, charge) => {
      const hold = holds[index];
      if (!hold) throw new Error(`there is no hold ${index}`);
      await ledger.settle([settlementOf(hold, { charge })]);
    },
    waitUntil: async (day, isSwept) => {
      await database.transaction(async (transaction) => {
        await transaction.raw('SET LOCAL session_replication_role = replica');
        await transaction.raw(
          `UPDATE promo_grants SET expires_at = expires_at - make_interval(days => :ago),
            created_at = created_at - make_interval(days => :ago + 1)
          WHERE account_id = :accountId AND expires_at > now() AND expires_at < :end`,
          { ago: AGO_DAYS, accountId, end: new Date(start + Math.floor(day) * DAY_MS + 1) },
        );
      });
      if (isSwept) await Promise.all([expirePromoCredit(database, 100), expirePromoCredit(database, 100)]);
    },
    grants: async () => {
      const rows = await database<Record<string, string>>('promo_grants')
        .where('account_id', accountId)
        .orderByRaw(`substring(reference FROM '\\d+')::integer`);
      return rows.map((row) => ['available', 'reserved', 'spent', 'expired'].map((part) => picoUsd(row[part] ?? '')));
    },
    otherCredit: async () => {
      const { rows } = await database.raw<{ rows: { signup: string; funded: string }[] }>(
        `SELECT signup_available - (SELECT coalesce(sum(available), 0) FROM promo_grants WHERE account_id = accounts.id)
          AS signup, funded_available AS funded FROM accounts WHERE id = ?`,
        [accountId],
      );
      return rows.flatMap(({ signup, funded }) => [picoUsd(signup), picoUsd(funded)]);
    },
  };
}

function partsOf({ available, reserved, spent, expired }: ModelGrant): readonly bigint[] {
  return [available, reserved, spent, expired];
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

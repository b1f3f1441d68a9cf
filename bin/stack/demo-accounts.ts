/**
 * Creates demo accounts and people once, through the administration endpoints, and keeps their keys and ids. Books
 * their money in the database: above `GENWAY_SECOND_APPROVAL_USD`, the administration requires a second approval.
 */
import { join } from 'node:path';
import Joi from 'joi';
import { request } from 'undici';
import { createDatabase, type Database } from '../../db/database.ts';
import { adjust, grantSignupCredit, topUp } from '../../db/queries/credits.ts';
import { parseUsd } from '../../domain/money.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export interface DemoAccount {
  readonly account_id: string;
  readonly api_key: string;
}

/** The initial credit of each account, in USD. */
const ACCOUNTS = {
  funded: { signupCredit: 0, toppedUp: 1_000, spent: 0 },
  second: { signupCredit: 0, toppedUp: 1_000, spent: 0 },
  free: { signupCredit: 5, toppedUp: 0, spent: 0 },
  empty: { signupCredit: 0, toppedUp: 1, spent: 1 },
} as const satisfies Record<string, AccountPlan>;

interface AccountPlan {
  readonly signupCredit: number;
  readonly toppedUp: number;
  readonly spent: number;
}

export type DemoAccounts = Readonly<Record<keyof typeof ACCOUNTS, DemoAccount>>;

const account = Joi.object<DemoAccount, true>({
  account_id: Joi.string().required(),
  api_key: Joi.string().required(),
}).required();
const accountsSchema = Joi.object<DemoAccounts, true>({
  funded: account,
  second: account,
  free: account,
  empty: account,
});
const createdSchema = Joi.object({
  data: Joi.object({ id: Joi.string().required() }).unknown(true).required(),
}).required();
const keySchema = Joi.object({
  data: Joi.object({ api_key: Joi.string().required() }).unknown(true).required(),
}).required();

interface Administration {
  readonly baseUrl: string;
  readonly adminToken: string;
}

/**
 * Returns the demo accounts in the folder's `demo-accounts.json`. If there are none, or the database lacks them,
 * creates the accounts and writes the file.
 */
export async function ensureDemoAccounts(
  home: string,
  administration: Administration,
  databaseUrl: string,
): Promise<DemoAccounts> {
  const file = join(home, 'demo-accounts.json');
  const { value: kept, error } = accountsSchema.required().validate(await readPrivateFile(file), { convert: false });
  if (!error && (await isKnown(kept.funded.account_id, administration))) return kept;
  const database = createDatabase(databaseUrl, 1);
  const create = (name: keyof typeof ACCOUNTS) => createDemoAccount(name, administration, database);
  const accounts = {
    funded: await create('funded'),
    second: await create('second'),
    free: await create('free'),
    empty: await create('empty'),
  };
  await database.destroy();
  await writePrivateFile(file, accounts);
  return accounts;
}

async function isKnown(accountId: string, administration: Administration): Promise<boolean> {
  const { status } = await call(administration, 'GET', `/accounts/${accountId}`);
  return status === 200;
}

async function createDemoAccount(
  name: keyof typeof ACCOUNTS,
  administration: Administration,
  database: Database,
): Promise<DemoAccount> {
  const created = await post(administration, '/accounts', { name: `demo ${name}` });
  const accountId = Joi.attempt(created, createdSchema).data.id;
  await fund(database, accountId, ACCOUNTS[name]);
  const key = await post(administration, `/accounts/${accountId}/keys`, { name: 'demo' });
  return { account_id: accountId, api_key: Joi.attempt(key, keySchema).data.api_key };
}

async function fund(database: Database, accountId: string, { signupCredit, toppedUp, spent }: AccountPlan) {
  if (signupCredit > 0) await grantSignupCredit(database, accountId, parseUsd(signupCredit));
  if (toppedUp > 0) await topUp(database, { accountId, amount: parseUsd(toppedUp), reference: `demo-${accountId}` });
  if (spent > 0) {
    const reason = 'demo account without balance';
    await adjust(database, { accountId, amount: -parseUsd(spent), author: 'admin', reason });
  }
}

async function post(administration: Administration, path: string, body: object): Promise<unknown> {
  const answer = await call(administration, 'POST', path, body);
  if (answer.status !== 200 && answer.status !== 201) {
    throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}

async function call(
  { baseUrl, adminToken }: Administration,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await request(`${baseUrl}/admin/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${adminToken}`,
      'content-type': 'application/json',
      'user-agent': 'genway-start',
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.statusCode, body: await response.body.json() };
}

/** The people who can sign in to the console, one of each kind. */
const PEOPLE = {
  owner: { email: 'owner@example.com', name: 'Olive Owner' },
  operator: { email: 'operator@example.com', name: 'Otto Operator', staff_role: 'operator' },
  finance: { email: 'finance@example.com', name: 'Fay Finance', staff_role: 'finance' },
} as const;

const KINDS = ['owner', 'operator', 'finance'] as const satisfies readonly (keyof typeof PEOPLE)[];

/** A link for each kind of person to choose a password. Each link works once. */
export type DemoLinks = Readonly<Record<keyof typeof PEOPLE, string>>;

const idsSchema = Joi.object<Record<keyof typeof PEOPLE, string>, true>({
  owner: Joi.string().required(),
  operator: Joi.string().required(),
  finance: Joi.string().required(),
});
const userSchema = Joi.object({
  data: Joi.object({ id: Joi.string().required(), link: Joi.string().required() }).unknown(true).required(),
}).required();

/** Makes the people of `demo-people.json` if there are none, and a new link for each. */
export async function ensureDemoPeople(
  home: string,
  administration: Administration,
  { funded }: DemoAccounts,
): Promise<DemoLinks> {
  const file = join(home, 'demo-people.json');
  const { value: kept, error } = idsSchema.required().validate(await readPrivateFile(file), { convert: false });
  const ids: Record<string, string> = {};
  const links: Record<string, string> = {};
  for (const kind of KINDS) {
    const person = PEOPLE[kind];
    const account = kind === 'owner' ? { account_id: funded.account_id } : {};
    const known = error ? null : await call(administration, 'POST', `/users/${kept[kind]}/links`);
    const answer = known?.status === 201 ? known.body : await post(administration, '/users', { ...person, ...account });
    const { data } = Joi.attempt(answer, userSchema);
    ids[kind] = data.id;
    links[kind] = data.link;
  }
  await writePrivateFile(file, ids);
  return Joi.attempt(links, idsSchema.required());
}

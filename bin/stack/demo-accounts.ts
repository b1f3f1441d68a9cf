/** Demo accounts and people: created once through the administration endpoints, then kept with their keys and ids. */
import { join } from 'node:path';
import Joi from 'joi';
import { request } from 'undici';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

export interface DemoAccount {
  readonly account_id: string;
  readonly api_key: string;
}

/** What each account starts with, in USD. */
const ACCOUNTS = {
  funded: { signupCredit: 0, topUp: 1_000, adjustment: 0 },
  second: { signupCredit: 0, topUp: 1_000, adjustment: 0 },
  free: { signupCredit: 5, topUp: 0, adjustment: 0 },
  empty: { signupCredit: 0, topUp: 1, adjustment: -1 },
} as const satisfies Record<string, AccountPlan>;

interface AccountPlan {
  readonly signupCredit: number;
  readonly topUp: number;
  readonly adjustment: number;
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
 * Returns the demo accounts in the folder's `demo-accounts.json`. If there are none, or the database does not know
 * them, creates them and writes the file.
 */
export async function ensureDemoAccounts(home: string, administration: Administration): Promise<DemoAccounts> {
  const file = join(home, 'demo-accounts.json');
  const { value: kept, error } = accountsSchema.required().validate(await readPrivateFile(file), { convert: false });
  if (!error && (await isKnown(kept.funded.account_id, administration))) return kept;
  const accounts = {
    funded: await createDemoAccount('funded', administration),
    second: await createDemoAccount('second', administration),
    free: await createDemoAccount('free', administration),
    empty: await createDemoAccount('empty', administration),
  };
  await writePrivateFile(file, accounts);
  return accounts;
}

async function isKnown(accountId: string, administration: Administration): Promise<boolean> {
  const { status } = await call(administration, 'GET', `/accounts/${accountId}`);
  return status === 200;
}

async function createDemoAccount(name: keyof typeof ACCOUNTS, administration: Administration): Promise<DemoAccount> {
  const { signupCredit, topUp, adjustment } = ACCOUNTS[name];
  const created = await post(administration, '/accounts', { name: `demo ${name}`, signup_credit_usd: signupCredit });
  const accountId = Joi.attempt(created, createdSchema).data.id;
  const path = `/accounts/${accountId}`;
  if (topUp > 0) await post(administration, `${path}/topups`, { amount_usd: topUp, reference: `demo-${accountId}` });
  if (adjustment !== 0) {
    await post(administration, `${path}/adjustments`, {
      amount_usd: adjustment,
      reason: 'demo account without balance',
    });
  }
  const key = await post(administration, `${path}/keys`, { name: 'demo' });
  return { account_id: accountId, api_key: Joi.attempt(key, keySchema).data.api_key };
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

/** Who may sign in to the console: one of each kind. */
const PEOPLE = {
  owner: { email: 'owner@example.com', name: 'Olive Owner' },
  operator: { email: 'operator@example.com', name: 'Otto Operator', staff_role: 'operator' },
  finance: { email: 'finance@example.com', name: 'Fay Finance', staff_role: 'finance' },
} as const;

const KINDS = ['owner', 'operator', 'finance'] as const satisfies readonly (keyof typeof PEOPLE)[];

/** A link for each kind of person, where they choose a password: works once. */
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

/** Accounts of a stack, made over its API as operators and clients make them. */
import Joi from 'joi';
import { dataReader } from './answers.ts';
import { ask } from './client.ts';

/** Where accounts are made. */
export interface Administration {
  readonly apiUrl: string;
  readonly adminToken: string;
}

export interface OpenedAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

/** The answer to a call that creates something; fields that only other calls return are empty. */
interface Made {
  readonly id: string;
  readonly api_key: string;
  readonly secret: string;
  readonly link: string;
}

const readMade = dataReader<Made>({
  id: Joi.string(),
  api_key: Joi.string().optional().default(''),
  secret: Joi.string().optional().default(''),
  link: Joi.string().optional().default(''),
});

/**
 * Opens an account with one key.
 *
 * @param usd topped up; with 0 the account has never paid
 * @param key settings of the key
 * @throws Error when a call is refused
 */
export async function openAccount(
  { apiUrl, adminToken }: Administration,
  usd: number,
  key: object = {},
): Promise<OpenedAccount> {
  const accounts = `${apiUrl}/admin/v1/accounts`;
  const { id } = await make(accounts, adminToken, { name: 'account of a bench' });
  if (usd > 0) await make(`${accounts}/${id}/topups`, adminToken, { amount_usd: usd, reference: `first of ${id}` });
  const { id: keyId, api_key: apiKey } = await make(`${accounts}/${id}/keys`, adminToken, key);
  return { accountId: id, keyId, apiKey };
}

/** Sends a POST that must be answered 201. @throws Error for any other answer */
export async function make(url: string, token: string, body: object): Promise<Made> {
  const { status, text } = await ask(url, { token, body });
  if (status !== 201) throw new Error(`POST ${url} was answered ${status}: ${text}`);
  return readMade(text);
}

/** The accounts that use the gateway in a drill, each with money, a key and webhook endpoints. */
import Joi from 'joi';
import { ask } from './client.ts';
import type { Receiver } from './receiver.ts';

export interface Customer {
  readonly accountId: string;
  readonly apiKey: string;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  /** By which the receiver knows it. */
  readonly path: string;
  readonly events: readonly string[];
}

const EVERY_EVENT = ['task.succeeded', 'task.failed'];
/** The events that each endpoint of each customer hears of. */
const CUSTOMERS: readonly (readonly (readonly string[])[])[] = [[EVERY_EVENT], [EVERY_EVENT, ['task.failed']], []];
const TOP_UP_USD = 10_000;

const answered = Joi.object<{ data: { id: string; api_key?: string; secret?: string } }>({
  data: Joi.object({ id: Joi.string().required(), api_key: Joi.string(), secret: Joi.string() })
    .unknown(true)
    .required(),
}).required();

/** Makes them through the administration of one api process. */
export async function createCustomers(apiUrl: string, adminToken: string, receiver: Receiver): Promise<Customer[]> {
  const make = async (path: string, token: string, body: object) => {
    const { status, text } = await ask(apiUrl + path, { token, body });
    if (status !== 201) throw new Error(`POST ${path} answered ${status}: ${text}`);
    const { data } = Joi.attempt(JSON.parse(text), answered, { convert: false });
    return { id: data.id, apiKey: data.api_key ?? '', secret: data.secret ?? '' };
  };
  const customers: Customer[] = [];
  for (const [number, endpoints] of CUSTOMERS.entries()) {
    const { id: accountId } = await make('/admin/v1/accounts', adminToken, { name: `customer ${number}` });
    const account = `/admin/v1/accounts/${accountId}`;
    await make(`${account}/topups`, adminToken, { amount_usd: TOP_UP_USD, reference: `top-up ${number}` });
    const { apiKey } = await make(`${account}/keys`, adminToken, { name: 'drill' });
    const made: Endpoint[] = [];
    for (const events of endpoints) {
      const path = `${number}-${made.length}`;
      const { secret } = await make('/v1/webhooks', apiKey, { url: `${receiver.url}/${path}`, events });
      receiver.setSecret(path, secret);
      made.push({ path, events });
    }
    customers.push({ accountId, apiKey, endpoints: made });
  }
  return customers;
}

/** The accounts that use the gateway in a drill, each with money, a key and webhook endpoints. */
import { type Administration, make, openAccount } from '../stack/accounts.ts';
import type { Receiver } from './receiver.ts';

export interface Customer {
  readonly accountId: string;
  readonly apiKey: string;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  readonly id: string;
  /** The receiver's name for the endpoint. */
  readonly path: string;
  readonly events: readonly string[];
}

const EVERY_EVENT = ['task.succeeded', 'task.failed'];
/** The events that each endpoint of each customer subscribes to. */
const CUSTOMERS: readonly (readonly (readonly string[])[])[] = [[EVERY_EVENT], [EVERY_EVENT, ['task.failed']], []];
export const TOP_UP_USD = 10_000;

/** Creates the customers through the administration endpoints of one api process. */
export async function createCustomers(administration: Administration, receiver: Receiver): Promise<Customer[]> {
  const customers: Customer[] = [];
  for (const [number, endpoints] of CUSTOMERS.entries()) {
    const account = await openAccount(administration, TOP_UP_USD);
    const made: Endpoint[] = [];
    for (const events of endpoints) {
      const path = `${number}-${made.length}`;
      const endpoint = { url: `${receiver.url}/${path}`, events };
      const { id, secret } = await make(`${administration.apiUrl}/v1/webhooks`, account.apiKey, endpoint);
      receiver.setSecret(path, secret);
      made.push({ id, path, events });
    }
    customers.push({ ...account, endpoints: made });
  }
  return customers;
}

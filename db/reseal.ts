/** Re-encrypts stored secrets with today's key, so that earlier keys are no longer needed. */
import type { Database } from './database.ts';
import type { Sealer } from './sealing.ts';

interface EndpointRow {
  id: string;
  sealed_secret: Buffer;
  previous_sealed_secret: Buffer | null;
}

interface ResponseRow {
  account_id: string;
  key: string;
  sealed_body: Buffer | null;
}

/** Progress with a table. */
export interface Resealed {
  readonly table: 'webhook_endpoints' | 'idempotency_keys';
  readonly rows: number;
  /** The number of values that had another key. */
  readonly changed: number;
}

const PAGE_SIZE = 500;

/** Safe alongside running processes, and repeatable. @throws SealBrokenError when no key decrypts a value */
export async function* reseal(database: Database, sealer: Sealer): AsyncIterable<Resealed> {
  yield* resealEndpoints(database, sealer);
  yield* resealResponses(database, sealer);
}

async function* resealEndpoints(database: Database, sealer: Sealer): AsyncIterable<Resealed> {
  let rows = 0;
  let changed = 0;
  let after = '';
  for (;;) {
    const page = await database<EndpointRow>('webhook_endpoints')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_SIZE);
    for (const { id, sealed_secret: sealed, previous_sealed_secret: previous } of page) {
      const secret = sealer.reseal(sealed, id);
      const previousSecret = previous && sealer.reseal(previous, id);
      if (secret === null && previousSecret === null) continue;
      // Unless its owner has replaced the secret in the meantime.
      changed += await database<EndpointRow>('webhook_endpoints')
        .where({ id, sealed_secret: sealed })
        .update({
          ...(secret && { sealed_secret: secret }),
          ...(previousSecret && { previous_sealed_secret: previousSecret }),
        });
    }
    rows += page.length;
    after = page.at(-1)?.id ?? after;
    yield { table: 'webhook_endpoints', rows, changed };
    if (page.length < PAGE_SIZE) return;
  }
}

/** Stored answers for replays, which are kept for a day. */
async function* resealResponses(database: Database, sealer: Sealer): AsyncIterable<Resealed> {
  let rows = 0;
  let changed = 0;
  let after = { account_id: '', key: '' };
  for (;;) {
    const page = await database<ResponseRow>('idempotency_keys')
      .whereNotNull('sealed_body')
      .whereRaw('(account_id, key) > (?, ?)', [after.account_id, after.key])
      .orderBy(['account_id', 'key'])
      .limit(PAGE_SIZE)
      .select('account_id', 'key', 'sealed_body');
    for (const { account_id, key, sealed_body: sealed } of page) {
      const body = sealed && sealer.reseal(sealed);
      if (!sealed || !body) continue;
      changed += await database<ResponseRow>('idempotency_keys')
        .where({ account_id, key, sealed_body: sealed })
        .update({ sealed_body: body });
    }
    rows += page.length;
    after = page.at(-1) ?? after;
    yield { table: 'idempotency_keys', rows, changed };
    if (page.length < PAGE_SIZE) return;
  }
}

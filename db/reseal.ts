/** Seals what the database keeps sealed with the key of today, so that the one before is needed no more. */
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

/** How far it has come with a table. */
export interface Resealed {
  readonly table: 'webhook_endpoints' | 'idempotency_keys';
  readonly rows: number;
  /** Of them, those that were sealed with another key. */
  readonly changed: number;
}

const PAGE_SIZE = 500;

/** Safe beside running processes, and to be made again. @throws SealBrokenError when something opens with no key */
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
      // Not over a secret that its owner has replaced meanwhile.
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

/** Of answers that may be given again, which are kept for a day. */
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

/** Finds things by a part of a name, address, id or payment reference, by the end of a key, by a vendor's job or an end user. */
import { endUserName } from '../../domain/end-user.ts';
import { firstIdAt, ID_PREFIX, isId } from '../../domain/ids.ts';
import { type Database, isDatabaseError } from '../database.ts';
import { periodOfRequest } from '../period.ts';

/** The kinds of things that a search finds. */
const MATCH_KINDS = [
  'account',
  'member',
  'apiKey',
  'payment',
  'billingDocument',
  'webhookEndpoint',
  'delivery',
  'task',
  'batch',
  'textRequest',
  'transfer',
] as const;

export type MatchKind = (typeof MATCH_KINDS)[number];

export interface Match {
  readonly kind: MatchKind;
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  /** How people know the thing: a name, an address, a reference or the id. */
  readonly label: string;
  /** The endpoint of a delivery; null for other things. */
  readonly endpointId: string | null;
}

/** Returns the accounts in which to search for a kind: null for all, an empty list for none. */
export type SearchScope = (kind: MatchKind) => readonly string[] | null;

/** Shorter parts match too many rows, and no index finds them. */
export const MIN_SEARCH_LENGTH = 3;
const MIN_ID_PART_LENGTH = 6;
/** The end of a key, of which lists show the last four characters. */
const KEY_TAIL = /^(?:sk-)?…?[0-9a-z]{0,8}([0-9a-z]{4})$/;
const MAX_MATCHES_OF_KIND = 8;
const MAX_COLLECTED = 1_000;
const TIMEOUT_MS = 2_000;
/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
const QUERY_CANCELED = '57014';
const REQUEST_TIME_LENGTH = ID_PREFIX.request.length + 10;

/** Tables with few enough rows for a trigram index. Each condition reads such an index. */
const INDEXED: Readonly<Partial<Record<MatchKind, string>>> = {
  account: /* sql */ `SELECT id, id AS account_id, name AS label FROM accounts
    WHERE (name ILIKE :part OR email ILIKE :part OR external_id ILIKE :part OR id ILIKE :part)`,
  member: /* sql */ `SELECT users.id, account_id, email AS label FROM users
    JOIN account_members ON account_members.user_id = users.id WHERE (email ILIKE :part OR users.name ILIKE :part)`,
  apiKey: /* sql */ `SELECT id, account_id, concat_ws(' ', nullif(name, ''), hint) AS label FROM api_keys
    WHERE (hint = :hint OR name ILIKE :part OR id ILIKE :part)`,
  payment: /* sql */ `SELECT transfer_id AS id, account_id, reference AS label FROM top_ups WHERE reference ILIKE :part`,
  billingDocument: /* sql */ `SELECT id, account_id, number AS label FROM billing_documents WHERE number ILIKE :part`,
  webhookEndpoint: /* sql */ `SELECT id, account_id, url AS label FROM webhook_endpoints
    WHERE deleted_at IS NULL AND (url ILIKE :part OR id ILIKE :part)`,
};

/** Tables that grow without bound. Their primary key finds rows by the start of an id. */
const GROWING = { task: 'tasks', batch: 'batches', textRequest: 'text_requests', transfer: 'transfers' } as const;
type GrowingKind = keyof typeof GROWING;
const GROWING_KINDS: readonly GrowingKind[] = ['task', 'batch', 'textRequest', 'transfer'];

const TASKS_OF_JOB = /* sql */ `SELECT id, account_id, job_id AS label FROM vendor_jobs
  JOIN tasks ON tasks.id = task_id AND tasks.created_at = id_created_at(task_id) WHERE job_id = :jobId`;

type Found = Pick<Match, 'id' | 'label'> & { readonly account_id: string; readonly endpoint_id?: string };

/**
 * Searches for a part of at least {@link MIN_SEARCH_LENGTH} characters, or {@link MIN_ID_PART_LENGTH} characters of an
 * id. The id of a vendor's job and the name of an end user must be whole. Scans growing tables for a part from the
 * middle of an id, but only if nothing else matches.
 *
 * @param text must have no characters that PostgreSQL cannot store
 * @returns null if the search took too long
 */
export async function searchFor(
  database: Database,
  text: string,
  scope: SearchScope,
): Promise<readonly Match[] | null> {
  const wanted = text.trim();
  if (wanted.length < MIN_SEARCH_LENGTH) return [];
  try {
    return await database.transaction(async (transaction) => {
      await transaction.raw(`SET LOCAL statement_timeout = ${TIMEOUT_MS}`);
      const search = searchIn(transaction, scope);
      const found = [
        ...(await searchIndexed(search, wanted)),
        ...(await searchBeginnings(search, wanted)),
        ...(await searchDeliveries(search, wanted)),
        ...(await searchJobs(search, wanted)),
        ...(await searchEndUsers(search, wanted)),
      ];
      return withNames(transaction, found.length > 0 ? found : await searchRows(search, wanted));
    });
  } catch (error) {
    if (isDatabaseError(error, QUERY_CANCELED)) return null;
    throw error;
  }
}

type FoundOfKind = Found & { readonly kind: MatchKind };
type Search = (
  kind: MatchKind,
  /** @param isInScope a condition on `account_id` */
  sqlOf: (isInScope: string) => string,
  bindings: Readonly<Record<string, string>>,
) => Promise<FoundOfKind[]>;

function searchIn(database: Database, scope: SearchScope): Search {
  return async (kind, sqlOf, bindings) => {
    const accountIds = scope(kind);
    if (accountIds?.length === 0) return [];
    const isInScope = accountIds === null ? 'true' : 'account_id = ANY(:accountIds)';
    const { rows } = await database.raw<{ rows: Found[] }>(
      `${sqlOf(isInScope)} ORDER BY id DESC LIMIT ${MAX_MATCHES_OF_KIND}`,
      { ...bindings, ...(accountIds !== null && { accountIds }) },
    );
    return rows.map((row) => ({ ...row, kind }));
  };
}

async function searchIndexed(search: Search, wanted: string): Promise<FoundOfKind[]> {
  const found: FoundOfKind[] = [];
  const part = containsPattern(wanted);
  const tail = KEY_TAIL.exec(wanted)?.[1];
  const hint = tail === undefined ? '' : `sk-…${tail}`;
  for (const kind of MATCH_KINDS) {
    const sql = INDEXED[kind];
    if (sql === undefined) continue;
    // Collects the rows before sorting: to sort by id, PostgreSQL would scan the table instead of the trigram index.
    const sqlOf = (isInScope: string): string =>
      `WITH found AS MATERIALIZED (SELECT * FROM (${sql}) AS matching WHERE ${isInScope} LIMIT ${MAX_COLLECTED}) SELECT * FROM found`;
    found.push(...(await search(kind, sqlOf, kind === 'apiKey' ? { part, hint } : { part })));
  }
  return found;
}

/** Finds rows by the start of their id, with or without its prefix, or by the start of their request's id. */
async function searchBeginnings(search: Search, wanted: string): Promise<FoundOfKind[]> {
  const found: FoundOfKind[] = [];
  const part = wanted.toLowerCase();
  if (part.startsWith(ID_PREFIX.request)) return searchRequests(search, part);
  if (part.length < MIN_ID_PART_LENGTH) return found;
  for (const kind of GROWING_KINDS) {
    const prefix = ID_PREFIX[kind];
    const from = part.startsWith(prefix) ? part : prefix + part;
    const sqlOf = (isInScope: string): string =>
      `SELECT id, account_id, id AS label FROM ${GROWING[kind]} WHERE id >= :from AND id < :to AND ${isInScope}`;
    found.push(...(await search(kind, sqlOf, { from, to: `${from}~` })));
  }
  return found;
}

/** Finds rows by the start of their request's id. The time in the id bounds the search. */
async function searchRequests(search: Search, part: string): Promise<FoundOfKind[]> {
  const whole = part.padEnd(ID_PREFIX.request.length + 32, '0');
  if (part.length < REQUEST_TIME_LENGTH || !isId('request', whole)) return [];
  const period = periodOfRequest(whole);
  const found: FoundOfKind[] = [];
  for (const kind of ['task', 'textRequest'] as const) {
    const sqlOf = (isInScope: string): string =>
      `SELECT id, account_id, request_id AS label FROM ${GROWING[kind]}
      WHERE request_id LIKE :part AND id >= :from AND id < :to AND ${isInScope}`;
    const [from, to] = [firstIdAt(kind, period.from.getTime()), firstIdAt(kind, period.to.getTime())];
    found.push(...(await search(kind, sqlOf, { part: `${escaped(part)}%`, from, to })));
  }
  return found;
}

/** Finds deliveries by the start of their id, with its prefix, or by the whole id of their event. */
async function searchDeliveries(search: Search, wanted: string): Promise<FoundOfKind[]> {
  const from = wanted.toLowerCase();
  const columns = 'SELECT id, account_id, id AS label, endpoint_id FROM deliveries';
  if (isId('event', from)) {
    return search('delivery', (isInScope) => `${columns} WHERE event_id = :from AND ${isInScope}`, { from });
  }
  if (!from.startsWith(ID_PREFIX.delivery) || from.length < ID_PREFIX.delivery.length + MIN_ID_PART_LENGTH) return [];
  const sqlOf = (isInScope: string): string => `${columns} WHERE id >= :from AND id < :to AND ${isInScope}`;
  return search('delivery', sqlOf, { from, to: `${from}~` });
}

/** Finds the tasks with a vendor's job of that id. */
function searchJobs(search: Search, jobId: string): Promise<FoundOfKind[]> {
  return search('task', (isInScope) => `${TASKS_OF_JOB} AND ${isInScope}`, { jobId });
}

/** Finds the latest tasks and text requests that named an end user. */
async function searchEndUsers(search: Search, wanted: string): Promise<FoundOfKind[]> {
  const found: FoundOfKind[] = [];
  for (const kind of ['task', 'textRequest'] as const) {
    const sqlOf = (isInScope: string): string =>
      `SELECT id, account_id, id AS label FROM ${GROWING[kind]} WHERE end_user = :name AND ${isInScope}`;
    found.push(...(await search(kind, sqlOf, { name: endUserName(wanted) })));
  }
  return found;
}

async function searchRows(search: Search, wanted: string): Promise<FoundOfKind[]> {
  const body = wanted.toLowerCase();
  if (body.length < MIN_ID_PART_LENGTH || !/^[0-9a-z_]+$/.test(body)) return [];
  for (const kind of GROWING_KINDS) {
    const sqlOf = (isInScope: string): string =>
      `SELECT id, account_id, id AS label FROM ${GROWING[kind]} WHERE id LIKE :part AND ${isInScope}`;
    const found = await search(kind, sqlOf, { part: containsPattern(body) });
    if (found.length > 0) return found;
  }
  return [];
}

async function withNames(database: Database, found: readonly FoundOfKind[]): Promise<readonly Match[]> {
  const names = await findAccountNames(
    database,
    found.map(({ account_id }) => account_id),
  );
  return found.map(({ kind, id, label, account_id: accountId, endpoint_id: endpointId = null }) => ({
    kind,
    id,
    label,
    endpointId,
    accountId,
    accountName: names.get(accountId) ?? accountId,
  }));
}

/** Finds the names of accounts by their ids. */
export async function findAccountNames(
  database: Database,
  accountIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await database<{ id: string; name: string }>('accounts')
    .whereIn('id', [...new Set(accountIds)])
    .select('id', 'name');
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** Returns the LIKE pattern for texts that contain the part. */
export function containsPattern(part: string): string {
  return `%${escaped(part)}%`;
}

function escaped(part: string): string {
  return part.replace(/[\\%_]/g, String.raw`\$&`);
}

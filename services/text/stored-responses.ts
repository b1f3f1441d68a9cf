/** Stores responses for a while, so that later requests can continue them or refer to their items: contract 4.8.2. */
import type { Logger } from 'pino';
import { createBatcher } from '../../db/batcher.ts';
import { retryOnLostConnection } from '../../db/connections.ts';
import type { Database } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import {
  deleteStoredResponse,
  findConversation,
  findResponsesWithItems,
  insertStoredResponses,
  type NewStoredResponse,
  type StoredResponse,
  trimStoredResponses,
} from '../../db/queries/stored-responses.ts';
import type { Compatibility } from '../../domain/compatibility.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { RESPONSES } from '../../domain/policy.ts';
import { pause, repeat } from '../../domain/background-loop.ts';
import { parseJson } from '../../text/json/parse.ts';
import { byteLengthOf, writeJson } from '../../text/json/write.ts';
import {
  hasInput,
  inputItemsOf,
  isStorableId,
  itemsOf,
  outputItemsById,
  previousResponseIdOf,
  referencesOf,
  type StoredContent,
  withoutReferences,
} from '../../text/responses/stored.ts';
import { createFairQueue } from '../fair-queue.ts';

/** A request with everything to which it refers. */
export interface CompleteRequest {
  readonly body: JsonObject;
  /** The stored response that the request continues; null for none. */
  readonly previousId: string | null;
}

/** The request of a response that is to be stored. */
export interface StoringRequest extends Pick<NewStoredResponse, 'accountId' | 'previousId' | 'createdAt' | 'minutes'> {
  /** As sent. */
  readonly body: JsonObject;
}

export interface ResponseStore {
  /** @throws ServiceError `bad_request` if the response that the request continues is not stored */
  complete(body: JsonObject, accountId: string): Promise<CompleteRequest>;
  /** Resolves when the response can be found, or cannot be stored. Never throws. */
  store(request: StoringRequest, response: JsonObject): Promise<void>;
  /** The response as its client got it; null if it is not stored. */
  find(accountId: string, responseId: string): Promise<JsonObject | null>;
  /** @returns whether there was such a response */
  remove(accountId: string, responseId: string): Promise<boolean>;
  /** Waits until everything is written. */
  stop(): Promise<void>;
}

/** By this code agents recognise that they must send the whole conversation: https://developers.openai.com/api/docs/guides/websocket-mode */
const NOT_FOUND_CODE = 'previous_response_not_found';
/** A client waits no longer than this for the storage of its response. */
const MAX_WAIT_MS = 1_000;
/** Responses that wait to be written take no more memory than this. */
const MAX_PENDING_BYTES = 64 * 2 ** 20;
const MAX_BATCH = 16;
/** Conversations that are read from the store at the same time. */
const READING = { atOnce: 16, perHolder: 4 };
const TRIM_PAUSE_MS = 2_000;

/** How long the account's responses are stored; 0 for never. */
export function storedMinutesOf({ responseMinutes }: Caller['account']): number {
  return responseMinutes ?? RESPONSES.defaultMinutes;
}

/** Whether requests to a model may refer to stored responses, which the specification does not know. */
export function mayRefer(format: string, compatibility: Compatibility): boolean {
  return format === 'responses' && compatibility === 'full';
}

interface StoreDependencies {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly log: Pick<Logger, 'warn'>;
}

export function createResponseStore({ database, encryption, log }: StoreDependencies): ResponseStore {
  const writer = createWriter(database, log);
  const reader = createReader(database, encryption);
  const queueReading = createFairQueue(READING);

  async function readAll(body: JsonObject, accountId: string): Promise<CompleteRequest> {
    const before = await reader.findBefore(accountId, previousResponseIdOf(body));
    const items = [...itemsOf(await reader.readContents(before)), ...inputItemsOf(body)];
    const known = await reader.findItems(accountId, referencesOf(items));
    return { body: { ...body, input: withoutReferences(items, known) }, previousId: before.at(-1)?.id ?? null };
  }

  return {
    complete: async (body, accountId) => {
      const refers = previousResponseIdOf(body) !== null || referencesOf(inputItemsOf(body)).length > 0;
      return refers && hasInput(body)
        ? queueReading(accountId, () => readAll(body, accountId))
        : { body, previousId: null };
    },
    store: async ({ body, ...request }, response) => {
      const { id: responseId } = response;
      if (!isStorableId(responseId)) return;
      const itemIds = [...outputItemsById(response).keys()];
      const written = await writeJson({ input: inputItemsOf(body), response } satisfies StoredContent);
      if (byteLengthOf(written) > RESPONSES.maxBytes) return;
      const id = crypto.randomUUID();
      const text = typeof written === 'string' ? written : Buffer.concat(written).toString();
      await writer.write({ ...request, id, responseId, itemIds, encryptedContent: encryption.encrypt(text, id) });
    },
    find: async (accountId, responseId) => {
      const [row, other] = await findConversation(database, { accountId, responseId }, { responses: 1 });
      return row === undefined || other !== undefined ? null : (await reader.readContent(row)).response;
    },
    remove: (accountId, responseId) => deleteStoredResponse(database, { accountId, responseId }),
    stop: () => writer.stop(),
  };
}

/** Finds and decrypts responses. */
function createReader(database: Database, encryption: Encryption) {
  async function readContent({ id, encryptedContent }: StoredResponse): Promise<StoredContent> {
    const content = await parseJson(Buffer.from(encryption.decrypt(encryptedContent, id)));
    if (!isObject(content) || !Array.isArray(content['input']) || !isObject(content['response'])) {
      throw new Error(`the stored response ${id} has another form`);
    }
    return { input: content['input'], response: content['response'] };
  }

  async function readContents(rows: readonly StoredResponse[]): Promise<readonly StoredContent[]> {
    const contents: StoredContent[] = [];
    for (const row of rows) contents.push(await readContent(row));
    return contents;
  }

  /** A response and everything before it; null unless all is stored. */
  async function findWhole(query: Parameters<typeof findConversation>[1]): Promise<readonly StoredResponse[] | null> {
    if (!isStorableId(query.responseId)) return null;
    const rows = await retryOnLostConnection(() => findConversation(database, query));
    const isOne = rows.filter(({ number }) => number === 1).length === 1;
    return isOne && rows[0]?.previousId === null ? rows : null;
  }

  return {
    readContent,
    readContents,
    /** @throws ServiceError `bad_request` if the conversation up to the response is not stored */
    findBefore: async (accountId: string, responseId: string | null): Promise<readonly StoredResponse[]> => {
      const rows = responseId === null ? [] : await findWhole({ accountId, responseId });
      if (rows !== null) return rows;
      throw new ServiceError(
        'bad_request',
        '"previous_response_id": the conversation up to this response is not stored. Responses expire, and are not stored ' +
          'with "store": false or if they are very long. Send the whole conversation in "input".',
        { formatCode: NOT_FOUND_CODE },
      );
    },
    /** The items with these ids that are stored once. Upstreams may choose an id twice. */
    findItems: async (accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> => {
      if (ids.length === 0) return new Map();
      const query = { accountId, itemIds: [...new Set(ids)] };
      const contents = await readContents(await retryOnLostConnection(() => findResponsesWithItems(database, query)));
      const items = new Map<string, JsonObject>();
      const repeated = new Set<string>();
      for (const [id, item] of contents.flatMap(({ response }) => [...outputItemsById(response)])) {
        if (items.has(id)) repeated.add(id);
        items.set(id, item);
      }
      for (const id of repeated) items.delete(id);
      return items;
    },
  };
}

/** Writes responses in batches, and removes what accounts have beyond their limits. */
function createWriter(database: Database, log: Pick<Logger, 'warn'>) {
  const batcher = createBatcher(
    async (responses: readonly NewStoredResponse[]) => {
      await insertStoredResponses(database, responses);
      return responses.map(() => true);
    },
    { maxItems: MAX_BATCH },
  );
  const warn = (error: unknown): void => log.warn({ err: error }, 'cannot store responses');
  let pendingBytes = 0;
  let written = new Set<string>();

  async function trim(): Promise<void> {
    if (written.size === 0) return;
    const accountIds = [...written];
    written = new Set();
    await trimStoredResponses(database, accountIds);
  }

  const trimming = repeat(trim, { pauseMs: TRIM_PAUSE_MS, onError: warn });
  return {
    async write(response: NewStoredResponse): Promise<void> {
      const { byteLength } = response.encryptedContent;
      if (pendingBytes + byteLength > MAX_PENDING_BYTES) return warn(new Error('too many responses wait'));
      pendingBytes += byteLength;
      written.add(response.accountId);
      const done = new AbortController();
      const writing = batcher
        .add(response)
        .catch(warn)
        .finally(() => {
          pendingBytes -= byteLength;
          done.abort();
        });
      await Promise.race([writing, pause(MAX_WAIT_MS, done.signal)]);
    },
    async stop(): Promise<void> {
      await batcher.idle();
      await trimming.stop();
      await trim().catch(warn);
    },
  };
}

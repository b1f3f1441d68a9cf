/** Creates batches, in a database or over the API without an SDK. */
import type { Database } from '../../db/database.ts';
import { finishUpload, findUpload, reserveUpload } from '../../db/queries/uploads.ts';
import { newId } from '../../domain/ids.ts';
import { batchFileExpiry, privateKeyOf } from '../../services/batches/stored-file.ts';
import type { Storage } from '../../storage/storage.ts';
import { jsonTextOf } from '../../text/json/write.ts';

interface Stores {
  readonly database: Database;
  readonly storage: Storage;
}

/** Stores the input file of a batch, without the checks of an upload. @returns its id */
export async function storeBatchInput(
  { database, storage }: Stores,
  accountId: string,
  lines: readonly object[],
): Promise<string> {
  const content = lines.map((line) => `${jsonTextOf(line)}\n`).join('');
  const id = newId('file');
  const createdAt = new Date();
  const file = {
    id,
    accountId,
    storageKey: privateKeyOf(id),
    mimeType: 'application/jsonl',
    filename: 'in.jsonl',
    purpose: 'batch' as const,
    createdAt,
    expiresAt: batchFileExpiry(createdAt),
  };
  await reserveUpload(database, file, { needed: 1, wanted: 1 }, { bytes: 2 ** 40, files: 1_000 });
  const options = { contentType: file.mimeType, maxBytes: 2 ** 30 };
  const { bytes } = await storage.put(file.storageKey, asStream(content), options);
  await finishUpload(database, file, bytes, lines.length);
  return id;
}

/** A line about a text request. */
export interface TextLine {
  readonly custom_id: string;
  readonly attempt: number;
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: object } | null;
  readonly error: { readonly code: string } | null;
}

/** The lines of an output file; none without a file. */
export async function readStoredLines<Line = TextLine>(
  { database, storage }: Stores,
  accountId: string,
  fileId: string | null,
): Promise<readonly Line[]> {
  const file = fileId === null ? null : await findUpload(database, accountId, fileId);
  const stored = file && (await storage.read(file.storageKey));
  if (stored === null) return [];
  const chunks: Uint8Array[] = [];
  for await (const chunk of stored) chunks.push(chunk);
  return Buffer.concat(chunks)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

async function* asStream(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}

interface Server {
  readonly baseUrl: string;
}

interface CreatedBatch {
  readonly id: string;
  readonly status: string;
  readonly paused_reason: string | null;
}

/** Creates a batch of chat completions, one for each prompt. */
export async function createBatch(server: Server, apiKey: string, prompts: readonly string[]): Promise<CreatedBatch> {
  const bodies = prompts.map((content) => {
    return { model: 'textc-M3', max_tokens: 50, messages: [{ role: 'user', content }] };
  });
  return createBatchOf(server, apiKey, '/v1/chat/completions', bodies);
}

/** Creates a batch of these requests. */
export async function createBatchOf(
  server: Server,
  apiKey: string,
  url: string,
  bodies: readonly object[],
): Promise<CreatedBatch> {
  const lines = bodies.map(
    (body, index) => `${JSON.stringify({ custom_id: String(index), method: 'POST', url, body })}\n`,
  );
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob(lines), 'in.jsonl');
  const file = await send<{ id: string }>(server, apiKey, 'POST', '/v1/files', form);
  const order = { input_file_id: file.id, endpoint: url, completion_window: '24h' };
  return send(server, apiKey, 'POST', '/v1/batches', JSON.stringify(order));
}

export function readBatch(server: Server, apiKey: string, id: string): Promise<CreatedBatch> {
  return send(server, apiKey, 'GET', `/v1/batches/${id}`);
}

async function send<Body>(
  { baseUrl }: Server,
  apiKey: string,
  method: string,
  path: string,
  body?: FormData | string,
): Promise<Body> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  // The tests of the endpoints check the shape.
  return JSON.parse(text) as Body;
}

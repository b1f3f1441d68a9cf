/** https://platform.openai.com/docs/api-reference/batch */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { jsonTextOf } from '../../../text/json/write.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import { type BatchClient, parseLine } from './client.ts';
import { type BatchOrder, type BatchResult, type BatchVendor, CLOCK_SLACK_MS, idOf, MAX_PAGES } from './vendor.ts';

const MARK_FIELD = 'genway_job';
/** The longest time that the vendor keeps files, after which they expire by themselves. */
const FILE_SECONDS = 2_592_000;
const PAGE = 100;
const ENDED = ['completed', 'expired', 'cancelled'];

export const openaiBatches: BatchVendor = {
  maxRequests: 1_000,

  async create(order, client, onSend) {
    const endpoint = client.basePath + (order.requests[0]?.request.path ?? '');
    const file = await client.readJson(post(client, '/files', {}, fileOf(order, endpoint)));
    await onSend();
    const body = {
      input_file_id: idOf(file),
      endpoint,
      completion_window: '24h',
      metadata: { [MARK_FIELD]: order.mark },
    };
    return idOf(await client.readJson(post(client, '/batches', body)));
  },

  async find({ mark, sentAtMs }, client) {
    let after = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const { data, has_more: hasMore } = await client.readJson(get(client, `/batches?limit=${PAGE}${after}`));
      const jobs = listOf(data).filter(isObject);
      const found = jobs.find(({ metadata }) => objectOf(metadata)[MARK_FIELD] === mark);
      if (found !== undefined) return { kind: 'found', vendorId: idOf(found) };
      const last = jobs.at(-1);
      // The newest come first.
      const isPast = last !== undefined && Number(last['created_at']) * 1000 < sentAtMs - CLOCK_SLACK_MS;
      if (hasMore !== true || last === undefined || isPast) return { kind: 'absent' };
      after = `&after=${encodeURIComponent(idOf(last))}`;
    }
    return { kind: 'unsure' };
  },

  async read(vendorId, client) {
    const job = await client.readJson(get(client, `/batches/${encodeURIComponent(vendorId)}`));
    const { status, errors } = job;
    if (status === 'failed') {
      const { data } = objectOf(errors);
      const [first] = listOf(data).filter(isObject);
      // The account has too many tokens in unfinished batches.
      return {
        kind: 'refused',
        isBusy: first?.['code'] === 'token_limit_exceeded',
        reason: String(first?.['message']),
      };
    }
    return ENDED.some((ended) => ended === status) ? { kind: 'ended', job } : { kind: 'running' };
  },

  async *results({ output_file_id: output, error_file_id: errors }, client) {
    for (const file of [output, errors]) {
      if (typeof file !== 'string' || file === '') continue;
      for await (const line of client.readLines(get(client, `/files/${encodeURIComponent(file)}/content`))) {
        yield resultOf(await parseLine(line));
      }
    }
  },

  async cancel(vendorId, client) {
    await client.readJson(post(client, `/batches/${encodeURIComponent(vendorId)}/cancel`, {}));
  },
};

function headersOf({ apiKey }: BatchClient): UpstreamRequest['headers'] {
  return { authorization: `Bearer ${apiKey}` };
}

function get(client: BatchClient, path: string): UpstreamRequest {
  return { method: 'GET', path, headers: headersOf(client), body: {} };
}

function post(
  client: BatchClient,
  path: string,
  body: JsonObject,
  content?: UpstreamRequest['content'],
): UpstreamRequest {
  return { path, headers: headersOf(client), body, ...(content && { content }) };
}

/** The form with the requests, a line each. */
function fileOf({ mark, requests }: BatchOrder, url: string): NonNullable<UpstreamRequest['content']> {
  const boundary = `genway-${mark}`;
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const parts = [
    field('purpose', 'batch'),
    field('expires_after[anchor]', 'created_at'),
    field('expires_after[seconds]', String(FILE_SECONDS)),
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${mark}.jsonl"\r\ncontent-type: application/jsonl\r\n\r\n`,
    ...requests.map(
      ({ customId, request }) => `${jsonTextOf({ custom_id: customId, method: 'POST', url, body: request.body })}\n`,
    ),
    `\r\n--${boundary}--\r\n`,
  ].map((part) => Buffer.from(part));
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    byteLength: parts.reduce((sum, { byteLength }) => sum + byteLength, 0),
    read: async function* () {
      yield* parts;
    },
  };
}

function resultOf(line: JsonObject | null): BatchResult | null {
  const customId = line?.['custom_id'];
  if (line === null || typeof customId !== 'string') return null;
  const { status_code: status, body } = objectOf(line['response']);
  const hasAnswer = typeof status === 'number' && status >= 200 && status < 600;
  return { customId, status: hasAnswer ? status : null, body };
}

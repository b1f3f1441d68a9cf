/** https://platform.claude.com/docs/en/api/messages/batches */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { VERSION } from '../../../text/messages/build-request.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import { type BatchClient, parseLine } from './client.ts';
import { type BatchResult, type BatchVendor, CLOCK_SLACK_MS, idOf, MAX_PAGES, numberOf } from './vendor.ts';

const PATH = '/messages/batches';
const PAGE = 100;

export const anthropicBatches: BatchVendor = {
  maxRequests: 1_000,

  async create({ requests }, client, onSend) {
    await onSend();
    const body = { requests: requests.map(({ customId, request }) => ({ custom_id: customId, params: request.body })) };
    const betas = [...new Set(requests.flatMap(({ request }) => request.headers['anthropic-beta']?.split(',') ?? []))];
    const headers = { ...headersOf(client), ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }) };
    return idOf(await client.readJson({ path: PATH, headers, body }));
  },

  /** Jobs have no mark, but the answers of one that has ended have. A job of the same size that runs may be the one. */
  async find({ mark, sentAtMs, requestCount }, client, findKnown) {
    let after = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const list = await client.readJson(get(client, `${PATH}?limit=${PAGE}${after}`));
      const jobs = listOf(list['data']).filter(isObject);
      const isNew = (job: JsonObject): boolean => Date.parse(String(job['created_at'])) >= sentAtMs - CLOCK_SLACK_MS;
      const ofSize = jobs.filter((job) => isNew(job) && countOf(job) === requestCount);
      const known = await findKnown(ofSize.map(idOf));
      const candidates = ofSize.filter((job) => !known.has(idOf(job)));
      for (const job of candidates.filter(hasEnded)) {
        if (await hasMark(job, mark, client)) return { kind: 'found', vendorId: idOf(job) };
      }
      if (!candidates.every(hasEnded)) return { kind: 'unsure' };
      const last = jobs.at(-1);
      // The newest come first.
      if (list['has_more'] !== true || last === undefined || !isNew(last)) return { kind: 'absent' };
      after = `&after_id=${encodeURIComponent(idOf(last))}`;
    }
    return { kind: 'unsure' };
  },

  async read(vendorId, client) {
    const job = await client.readJson(get(client, `${PATH}/${encodeURIComponent(vendorId)}`));
    return hasEnded(job) ? { kind: 'ended', job } : { kind: 'running' };
  },

  async *results(job, client) {
    const path = `${PATH}/${encodeURIComponent(idOf(job))}/results`;
    for await (const line of client.readLines(get(client, path))) yield resultOf(await parseLine(line));
  },

  async cancel(vendorId, client) {
    const path = `${PATH}/${encodeURIComponent(vendorId)}/cancel`;
    await client.readJson({ path, headers: headersOf(client), body: {} });
  },
};

function headersOf({ apiKey }: BatchClient): UpstreamRequest['headers'] {
  return { 'x-api-key': apiKey, 'anthropic-version': VERSION };
}

function get(client: BatchClient, path: string): UpstreamRequest {
  return { method: 'GET', path, headers: headersOf(client), body: {} };
}

function hasEnded({ processing_status: status }: JsonObject): boolean {
  return status === 'ended';
}

function countOf({ request_counts: counts }: JsonObject): number {
  return Object.values(objectOf(counts)).reduce<number>((sum, count) => sum + Number(count), 0);
}

async function hasMark(job: JsonObject, mark: string, client: BatchClient): Promise<boolean> {
  for await (const result of anthropicBatches.results(job, client)) {
    return result !== null && numberOf(mark, result.customId) !== null;
  }
  return false;
}

/** https://platform.claude.com/docs/en/api/errors */
const STATUS_OF_ERROR: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
};

function resultOf(line: JsonObject | null): BatchResult | null {
  const customId = line?.['custom_id'];
  if (line === null || typeof customId !== 'string') return null;
  const { type, message, error } = objectOf(line['result']);
  if (type === 'succeeded') return { customId, status: 200, body: message };
  if (type !== 'errored') return { customId, status: null, body: null };
  const name = String(objectOf(objectOf(error)['error'])['type']);
  return { customId, status: STATUS_OF_ERROR[name] ?? 500, body: error };
}

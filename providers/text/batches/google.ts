/** https://ai.google.dev/api/batch-api. The requests and the answers are within the job, without files. */
import { isObject, type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { FAILED, UpstreamError } from '../../../text/upstream-errors.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import type { BatchClient } from './client.ts';
import { type BatchResult, type BatchVendor, MAX_PAGES } from './vendor.ts';

const PAGE = 100;
const ENDED = /_STATE_(?:SUCCEEDED|CANCELLED|EXPIRED)$/;

export const googleBatches: BatchVendor = {
  // All answers arrive in one document.
  maxRequests: 200,

  async create({ mark, model, requests }, client, onSend) {
    await onSend();
    const inlined = requests.map(({ customId, request }) => ({
      request: request.body,
      metadata: { key: customId },
    }));
    const batch = { display_name: mark, input_config: { requests: { requests: inlined } } };
    const path = `/models/${encodeURIComponent(model)}:batchGenerateContent`;
    return nameOf(await client.readJson({ path, headers: headersOf(client), body: { batch } }));
  },

  async find({ mark }, client) {
    let from = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const list = await client.readJson(get(client, `/batches?pageSize=${PAGE}${from}`));
      const jobs = listOf(list['operations']).filter(isObject);
      const found = jobs.find(({ metadata }) => objectOf(metadata)['displayName'] === mark);
      if (found !== undefined) return { kind: 'found', vendorId: nameOf(found) };
      const { nextPageToken: token } = list;
      if (typeof token !== 'string' || token === '') return { kind: 'absent' };
      from = `&pageToken=${encodeURIComponent(token)}`;
    }
    return { kind: 'unsure' };
  },

  async read(vendorId, client) {
    const job = await client.readJson(get(client, pathOf(vendorId)));
    const state = String(objectOf(job['metadata'])['state']);
    if (ENDED.test(state)) return { kind: 'ended', job };
    if (!state.endsWith('_STATE_FAILED') && job['done'] !== true) return { kind: 'running' };
    const { code, message } = objectOf(job['error']);
    return { kind: 'refused', isBusy: code === RESOURCE_EXHAUSTED, reason: String(message) };
  },

  async *results(job) {
    const { response, metadata } = job;
    const output = isObject(response) ? response : objectOf(objectOf(metadata)['output']);
    const { inlinedResponses: answers } = objectOf(output['inlinedResponses']);
    for (const answer of listOf(answers)) yield resultOf(answer);
  },

  async cancel(vendorId, client) {
    await client.readJson({ path: `${pathOf(vendorId)}:cancel`, headers: headersOf(client), body: {} });
  },
};

function headersOf({ apiKey }: BatchClient): UpstreamRequest['headers'] {
  return { 'x-goog-api-key': apiKey };
}

function get(client: BatchClient, path: string): UpstreamRequest {
  return { method: 'GET', path, headers: headersOf(client), body: {} };
}

/** A name has the form `batches/…`. */
function nameOf({ name }: JsonObject): string {
  if (typeof name !== 'string' || !name.startsWith('batches/')) throw new UpstreamError(FAILED);
  return name;
}

function pathOf(vendorId: string): string {
  return `/batches/${encodeURIComponent(vendorId.slice('batches/'.length))}`;
}

const RESOURCE_EXHAUSTED = 8;
/** https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  [RESOURCE_EXHAUSTED]: 429,
  9: 400,
  14: 503,
  16: 401,
};

function resultOf(answer: unknown): BatchResult | null {
  const { metadata, response, error } = objectOf(answer);
  const { key: customId } = objectOf(metadata);
  if (typeof customId !== 'string') return null;
  if (isObject(response)) return { customId, status: 200, body: response };
  if (!isObject(error)) return { customId, status: null, body: null };
  return { customId, status: STATUS_OF_CODE[Number(error['code'])] ?? 500, body: { error } };
}

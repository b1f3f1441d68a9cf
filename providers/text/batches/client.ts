/** Sends the requests of batch APIs to a text upstream. */
import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { LineSplitter } from '../../../domain/line-splitter.ts';
import type { UpstreamFormatName } from '../../../domain/wire-format-name.ts';
import { parseJson } from '../../../text/json/parse.ts';
import { AnswerTooLongError, FAILED, SILENT, UpstreamError } from '../../../text/upstream-errors.ts';
import type { UpstreamRequest } from '../../../text/wire-format.ts';
import { Answer } from '../answer.ts';
import { CancelSignal } from '../cancel-signal.ts';
import { type Candidate, orderCandidates } from '../candidates.ts';
import type { UpstreamEndpoint } from '../upstream-endpoint.ts';
import type { UpstreamSnapshot } from '../upstream-set.ts';

export interface BatchClient {
  readonly apiKey: string;
  /** The path of the upstream's address, such as `/v1`. */
  readonly basePath: string;
  /** @throws UpstreamError if the upstream refuses or fails, or its answer is no JSON object */
  readJson(request: UpstreamRequest): Promise<JsonObject>;
  /** Reads the answer's lines, without their breaks. @throws as {@link readJson}; ServiceError if the answer breaks off */
  readLines(request: UpstreamRequest): AsyncGenerator<Buffer, void, undefined>;
}

/** Which upstream and key a job belongs to. */
export interface BatchAddress {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
  /** Identifies the key of the job without revealing it; null for a job to create, which gets any key. */
  readonly keyDigest: string | null;
}

/** An upstream that takes longer to answer has failed. */
const MAX_REQUEST_MS = 60_000;
const MAX_JSON_BYTES = 64 * 2 ** 20;
/** The answer to one request, as of a direct one. */
const MAX_LINE_BYTES = 32 * 2 ** 20;

/**
 * The key of an address; null if there is none. A key that was replaced since belongs to the same vendor's account.
 *
 * @param open keeps the candidates that may be called
 */
export function chooseKey(
  { provider, format, model, keyDigest }: BatchAddress,
  upstreams: UpstreamSnapshot,
  open: (candidates: readonly Candidate[]) => readonly Candidate[],
): string | null {
  const keys = upstreams.keysOf({ provider, format });
  if (keyDigest !== null) return keys.find((key) => digestOf(key) === keyDigest) ?? keys[0] ?? null;
  const route = { provider, format, model, order: 0, weight: 1 };
  const [first] = open(orderCandidates([route], () => keys, provider));
  return first?.key ?? null;
}

export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

export function createBatchClient(endpoint: UpstreamEndpoint, baseUrl: string, apiKey: string): BatchClient {
  /** Sends a request, and reads its answer while the upstream is not silent. */
  async function* read<Part>(
    request: UpstreamRequest,
    reader: (answer: Answer) => AsyncGenerator<Part, void, undefined>,
  ): AsyncGenerator<Part, void, undefined> {
    const answer = new Answer(new CancelSignal(), () => void timer.refresh());
    const timer = setTimeout(() => answer.giveUp(new UpstreamError(SILENT)), MAX_REQUEST_MS);
    try {
      await endpoint.send(request, answer);
      yield* reader(answer);
    } finally {
      clearTimeout(timer);
      answer.discard();
    }
  }

  return {
    apiKey,
    basePath: new URL(baseUrl).pathname.replace(/\/$/, ''),
    readJson: async (request) => {
      for await (const bytes of read(request, readWhole)) {
        const parsed = await parse(bytes);
        if (isObject(parsed)) return parsed;
      }
      throw new UpstreamError(FAILED);
    },
    readLines: (request) => read(request, splitLines),
  };
}

async function* readWhole(answer: Answer): AsyncGenerator<Buffer, void, undefined> {
  yield await answer.readAll(MAX_JSON_BYTES);
}

async function parse(bytes: Buffer): Promise<unknown> {
  try {
    return await parseJson(bytes);
  } catch (cause) {
    throw new UpstreamError(FAILED, { cause });
  }
}

/** @throws AnswerTooLongError for a line that is longer than any answer */
async function* splitLines(answer: Answer): AsyncGenerator<Buffer, void, undefined> {
  const splitter = new LineSplitter();
  for (let chunk = await answer.read(); chunk !== null; chunk = await answer.read()) {
    for (const { bytes } of splitter.push(chunk)) if (bytes.byteLength > 0) yield bytes;
    if (splitter.heldBytes > MAX_LINE_BYTES) throw new AnswerTooLongError();
  }
  const last = splitter.end();
  if (last !== null) yield last.bytes;
}

/** Parses a line; null if it is no JSON object. */
export async function parseLine(line: Buffer): Promise<JsonObject | null> {
  try {
    const parsed = await parse(line);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

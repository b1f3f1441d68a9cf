/** Checks the inputs of a request with a moderation service, before anything is created or charged. */
import { Agent, type Dispatcher } from 'undici';
import { isObject, objectOf } from '../domain/json.ts';
import { documentOf, exchange } from './media/exchange.ts';
import { ProviderUnreachableError } from './media/outcomes.ts';

export interface ModerationInput {
  readonly text: string;
  /** Links to images. */
  readonly images: readonly string[];
}

/** A part of the content, in the wire format of moderation services. */
export type ModerationPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

/** A text, several texts to judge one by one, or parts to judge together. */
export type ModerationContent = string | readonly string[] | readonly ModerationPart[];

/** The verdict on one text, or on all parts together. */
export interface ModerationResult {
  readonly flagged: boolean;
  /** Keyed by the service's own names. */
  readonly categories: Readonly<Record<string, boolean>>;
  /** From 0 to 1, keyed by the same names. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface ModerationVerdict {
  readonly flagged: boolean;
  /** The flagged categories, by the service's names. */
  readonly categories: readonly string[];
}

export interface Moderator {
  /** @throws ProviderUnreachableError if the service gives no verdict */
  check(input: ModerationInput): Promise<ModerationVerdict>;
  /**
   * Judges content in the form in which a client sent it.
   *
   * @throws ProviderUnreachableError if the service gives no verdict
   */
  judge(content: ModerationContent): Promise<readonly ModerationResult[]>;
}

export interface HttpModeratorOptions {
  /** The endpoint, for example `https://moderation.example/v1/moderations`. */
  readonly url: string;
  /** The bearer token for the service. */
  readonly key: string | undefined;
  /** The service's model; its default if absent. */
  readonly model?: string;
  readonly dispatcher?: Dispatcher;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 2 ** 20;

/**
 * A client of the widely used moderation format: `POST {input: [{type: 'text', …}, {type: 'image_url', …}]}`, answered
 * with `{results: [{flagged, categories}]}`. Services take one image per request, so each image after the first is sent
 * alone.
 */
export function createHttpModerator(options: HttpModeratorOptions): Moderator & { close(): Promise<void> } {
  const dispatcher = options.dispatcher ?? new Agent();
  const headers = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` };

  async function judge(input: ModerationContent, signal: AbortSignal): Promise<readonly ModerationResult[]> {
    const body = { ...(options.model !== undefined && { model: options.model }), input };
    const answer = await exchange(
      {
        method: 'POST',
        url: new URL(options.url),
        headers: { 'content-type': 'application/json', ...headers },
        body: Buffer.from(JSON.stringify(body)),
        dispatcher,
        timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      },
      signal,
    );
    return resultsOf(documentOf(answer));
  }

  return {
    async check({ text, images }) {
      const abandoned = new AbortController();
      const [first = [], ...others] = images.map((url): ModerationPart[] => [
        { type: 'image_url', image_url: { url } },
      ]);
      const requests: readonly ModerationPart[][] = [[{ type: 'text', text }, ...first], ...others];
      try {
        const results = (await Promise.all(requests.map((parts) => judge(parts, abandoned.signal)))).flat();
        const isFlagged = (name: string): boolean => results.some(({ categories }) => categories[name] === true);
        const names = new Set(results.flatMap(({ categories }) => Object.keys(categories)));
        return { flagged: results.some(({ flagged }) => flagged), categories: [...names].filter(isFlagged) };
      } finally {
        abandoned.abort();
      }
    },
    judge: (content) => judge(content, new AbortController().signal),
    close: () => dispatcher.close(),
  };
}

/** @throws ProviderUnreachableError if the answer contains no verdict */
function resultsOf(document: unknown): readonly ModerationResult[] {
  const results = isObject(document) ? document['results'] : undefined;
  if (!Array.isArray(results) || results.length === 0) throw noVerdict();
  return results.map((result: unknown) => {
    if (!isObject(result) || typeof result['flagged'] !== 'boolean') throw noVerdict();
    return {
      flagged: result['flagged'],
      categories: fieldsOfType(result['categories'], (value): value is boolean => typeof value === 'boolean'),
      scores: fieldsOfType(result['category_scores'], (value): value is number => typeof value === 'number'),
    };
  });
}

function fieldsOfType<Value>(fields: unknown, isValue: (value: unknown) => value is Value): Record<string, Value> {
  const entries = Object.entries(objectOf(fields));
  return Object.fromEntries(entries.flatMap(([name, value]) => (isValue(value) ? [[name, value]] : [])));
}

function noVerdict(): ProviderUnreachableError {
  return new ProviderUnreachableError('the moderation service answered without a verdict');
}

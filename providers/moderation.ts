/** Checks the inputs of a request with a moderation service, before anything is created or charged. */
import { Agent, type Dispatcher } from 'undici';
import { isObject } from '../domain/json.ts';
import { documentOf, exchange } from './media/exchange.ts';
import { ProviderUnreachableError } from './media/outcomes.ts';

export interface ModerationInput {
  readonly text: string;
  /** Links. */
  readonly images: readonly string[];
}

export interface ModerationVerdict {
  readonly flagged: boolean;
  /** The categories that were flagged, in the service's words. */
  readonly categories: readonly string[];
}

/** Judges inputs. */
export interface Moderator {
  /** @throws ProviderUnreachableError if the service gives no verdict */
  check(input: ModerationInput): Promise<ModerationVerdict>;
}

export interface HttpModeratorOptions {
  /** The endpoint, for example `https://moderation.example/v1/moderations`. */
  readonly url: string;
  /** Sent as a bearer token. */
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

  async function judge(parts: readonly object[], signal: AbortSignal): Promise<ModerationVerdict> {
    const body = { ...(options.model !== undefined && { model: options.model }), input: parts };
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
    return verdictOf(documentOf(answer));
  }

  return {
    async check({ text, images }) {
      const abandoned = new AbortController();
      const [first = [], ...others] = images.map((url) => [{ type: 'image_url', image_url: { url } }]);
      const requests = [[{ type: 'text', text }, ...first], ...others];
      try {
        const verdicts = await Promise.all(requests.map((parts) => judge(parts, abandoned.signal)));
        return {
          flagged: verdicts.some(({ flagged }) => flagged),
          categories: [...new Set(verdicts.flatMap(({ categories }) => categories))],
        };
      } finally {
        abandoned.abort();
      }
    },
    close: () => dispatcher.close(),
  };
}

/** @throws ProviderUnreachableError if the answer contains no verdict */
function verdictOf(document: unknown): ModerationVerdict {
  const results = isObject(document) ? document['results'] : undefined;
  if (!Array.isArray(results) || results.length === 0) throw noVerdict();
  const verdicts = results.map((result: unknown) => {
    if (!isObject(result) || typeof result['flagged'] !== 'boolean') throw noVerdict();
    const categories = isObject(result['categories']) ? result['categories'] : {};
    return {
      flagged: result['flagged'],
      categories: Object.keys(categories).filter((name) => categories[name] === true),
    };
  });
  return {
    flagged: verdicts.some(({ flagged }) => flagged),
    categories: verdicts.flatMap(({ categories }) => categories),
  };
}

function noVerdict(): ProviderUnreachableError {
  return new ProviderUnreachableError('the moderation service answered without a verdict');
}

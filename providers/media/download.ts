/** Opens a result file for streaming: buffers nothing, checks redirects and gives up on stalled upstreams. */
import { request, type Dispatcher } from 'undici';
import { USER_AGENT } from '../../domain/user-agent.ts';
import type { ResultDownload } from './result-file.ts';
import {
  toUnreachableError,
  flattenHeaders,
  isVerdict,
  wrapNetworkErrors,
  unreachableStatusError,
} from './exchange.ts';
import { JobRefusedError } from './outcomes.ts';
import { parseUrl } from '../../domain/parse-url.ts';

/** The dispatcher and headers for a link. */
export interface Carrier {
  readonly dispatcher: Dispatcher;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DownloadOptions {
  /** Called for each link, including redirects; returns null for a link that must not be followed. */
  readonly carrierOf: (url: URL) => Promise<Carrier | null>;
  /** Limits the wait for the headers, and the pauses in the body. */
  readonly idleTimeoutMs: number;
}

const MAX_REDIRECTS = 3;
const WEB_PROTOCOLS: readonly string[] = ['http:', 'https:'];

/**
 * @param signal also aborts the body
 * @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` if the file is not available
 */
export async function openDownload(
  link: string,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<ResultDownload> {
  let url = parseLink(link);
  for (let followed = 0; followed <= MAX_REDIRECTS; followed += 1) {
    const { statusCode, headers, body } = await open(url, options, signal);
    if (statusCode === 200) return { body: streamOf(body) };
    await body.dump({ limit: 1024 }).catch(() => undefined);
    const location = singleHeader(headers['location']);
    if (isRedirect(statusCode) && location !== null) url = parseLink(location, url);
    else if (isVerdict(statusCode) || isRedirect(statusCode))
      throw resultGone(`the file's server answered ${statusCode}`);
    else throw unreachableStatusError({ status: statusCode, headers: flattenHeaders(headers), document: undefined });
  }
  throw resultGone("the file's server redirected too often");
}

async function open(url: URL, options: DownloadOptions, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const carrier = await options.carrierOf(url);
  if (!carrier) throw resultGone('the link leads to an address that is not public');
  return wrapNetworkErrors(signal, () =>
    request(url, {
      // Without the header, a server may compress the file (RFC 9110, section 12.5.3).
      headers: { 'accept-encoding': 'identity', 'user-agent': USER_AGENT, ...carrier.headers },
      dispatcher: carrier.dispatcher,
      headersTimeout: options.idleTimeoutMs,
      bodyTimeout: options.idleTimeoutMs,
      signal,
    }),
  );
}

function resultGone(detail: string): JobRefusedError {
  return new JobRefusedError('result_transfer_failed', detail);
}

function parseLink(link: string, base?: URL): URL {
  const url = parseUrl(link, base);
  if (url === null || !WEB_PROTOCOLS.includes(url.protocol)) throw resultGone('the link is not a web address');
  return url;
}

type ResponseBody = Dispatcher.ResponseData['body'];

/** The body as a web stream that reads on demand and fails with {@link ProviderUnreachableError}. */
function streamOf(body: ResponseBody): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<unknown> = body[Symbol.asyncIterator]();
  // The iterator reports errors; without a listener, cancelling a download would crash the process.
  body.on('error', () => undefined);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else if (value instanceof Uint8Array) controller.enqueue(value);
        } catch (error) {
          controller.error(toUnreachableError(error));
        }
      },
      cancel() {
        body.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function singleHeader(value: string | string[] | undefined): string | null {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

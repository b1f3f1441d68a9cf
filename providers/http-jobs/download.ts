/** Opens a result file for streaming: nothing is buffered, and a stalled upstream is given up. */
import { request, type Dispatcher } from 'undici';
import { USER_AGENT } from '../../domain/user-agent.ts';
import { ProviderUnreachableError, type ResultDownload } from '../media-provider.ts';
import { asUnreachable, isVerdict, unlessAborted } from './exchange.ts';
import { resultGone } from './wire.ts';

export interface DownloadOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
  /** Until the headers, and then between two pieces of the body. */
  readonly idleTimeoutMs: number;
}

/**
 * @param signal also ends the body
 * @throws ProviderUnreachableError | JobRefusedError with `result_transfer_failed` when the file is not to be had. Redirects are not followed.
 */
export async function openDownload(
  url: string,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<ResultDownload> {
  const { statusCode, headers, body } = await unlessAborted(signal, () =>
    request(url, {
      headers: { 'user-agent': USER_AGENT, ...options.headers },
      dispatcher: options.dispatcher,
      headersTimeout: options.idleTimeoutMs,
      bodyTimeout: options.idleTimeoutMs,
      signal,
    }),
  );
  if (statusCode !== 200) {
    await body.dump({ limit: 1024 }).catch(() => undefined);
    if (isVerdict(statusCode) || isRedirect(statusCode)) throw resultGone();
    throw new ProviderUnreachableError(`the upstream answered ${statusCode} to the download of a result`);
  }
  return {
    body: streamOf(body),
    contentType: singleHeader(headers['content-type']),
    contentLength: lengthOf(singleHeader(headers['content-length'])),
  };
}

type ResponseBody = Dispatcher.ResponseData['body'];

/** The body as a web stream that reads no further than it is asked to, and whose failures are "unreachable". */
function streamOf(body: ResponseBody): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<unknown> = body[Symbol.asyncIterator]();
  body.on('error', () => undefined); // told through the iterator; without a listener a cancelled download would crash
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else if (value instanceof Uint8Array) controller.enqueue(value);
        } catch (error) {
          controller.error(asUnreachable(error));
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

function lengthOf(value: string | null): number | null {
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

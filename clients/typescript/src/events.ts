/** Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { APIConnectionError, errorOf, reportedIn } from './errors.ts';
import type { Limits } from './limits.ts';

export type Events = AsyncGenerator<Record<string, unknown>>;

/**
 * The JSON of each event of a stream. Leaving the loop closes the connection.
 *
 * @throws APIError for an error that the stream reports, APIConnectionError if the stream breaks off
 */
export async function* readEvents(response: Response, limits: Limits): Events {
  if (!response.body) throw new APIConnectionError('The answer has no body.');
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = '';
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw limits.errorOf(cause);
      });
      buffered += value ?? '';
      const blocks = buffered.split(/\r?\n\r?\n/);
      buffered = done ? '' : (blocks.pop() ?? '');
      for (const block of blocks) {
        const event = dataOf(block);
        if (event === '[DONE]') return;
        if (event !== '') yield checked(JSON.parse(event), response);
      }
      if (done) return;
    }
  } finally {
    limits.endStream();
    await reader.cancel().catch(() => undefined);
  }
}

function dataOf(block: string): string {
  return block
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n');
}

function checked(event: Record<string, unknown>, { headers }: Response): Record<string, unknown> {
  if (typeof event['error'] !== 'object' || event['error'] === null) return event;
  const { code, message } = reportedIn(event);
  const requestId = headers.get('x-request-id');
  const status = 503;
  const refusal = { status, code, message: message ?? 'The stream failed.', requestId };
  throw errorOf({ ...refusal, isRetryable: true, retryAfterSeconds: null });
}

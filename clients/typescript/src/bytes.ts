/** Files that arrive while they are made. */
import { APIConnectionError } from './errors.ts';
import type { Limits } from './limits.ts';

export type Bytes = AsyncGenerator<Uint8Array>;

/**
 * The bytes of an answer. Leaving the loop closes the connection.
 *
 * @throws APIConnectionError if the answer breaks off
 */
export async function* readBytes(response: Response, limits: Limits): Bytes {
  if (!response.body) throw new APIConnectionError('The answer has no body.');
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw limits.errorOf(cause);
      });
      if (done) return;
      yield value;
    }
  } finally {
    limits.endStream();
    await reader.cancel().catch(() => undefined);
  }
}

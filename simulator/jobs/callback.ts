/** Announces the end of a job to the address given with its submission, signed (see docs/provider-protocol.md). */
import { createHmac } from 'node:crypto';

/** The wait before each attempt; polling remains authoritative, so a lost callback does no harm. */
const WAITS_MS = [0, 250, 1000];
const TIMEOUT_MS = 5000;

export interface CallbackSender {
  /** Sends the state of the job once `delayMs` have passed. */
  schedule(url: string, delayMs: number, job: () => object): void;
  /** Sends nothing more. */
  close(): void;
}

/** @param secret the shared secret, which keys the signature */
export function createCallbackSender(secret: string): CallbackSender {
  const closing = new AbortController();
  const timers = new Set<NodeJS.Timeout>();

  const later = (delayMs: number, run: () => Promise<void>): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      void run();
    }, delayMs);
    timers.add(timer);
  };

  const send = async (url: string, body: string, attempt: number): Promise<void> => {
    const delivered = await post(url, body, secret, closing.signal);
    const waitMs = WAITS_MS[attempt + 1];
    if (delivered || waitMs === undefined || closing.signal.aborted) return;
    later(waitMs, () => send(url, body, attempt + 1));
  };

  return {
    schedule: (url, delayMs, job) => later(delayMs, () => send(url, JSON.stringify(job()), 0)),
    close() {
      closing.abort();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

/** @returns whether the receiver accepted it */
async function post(url: string, body: string, secret: string, closing: AbortSignal): Promise<boolean> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  try {
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'x-job-timestamp': timestamp,
        'x-job-signature': signature,
      },
      body,
      signal: AbortSignal.any([closing, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

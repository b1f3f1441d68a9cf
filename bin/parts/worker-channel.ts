/** Requests between a primary and a worker of `node:cluster`, with one kind of request in each direction. */
import type { Worker } from 'node:cluster';

/** A request has a number, and its answer has the same number. */
type Message =
  | { readonly request: number }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly failure: string };

interface PendingRequest {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Opens a channel for requests between a primary and a worker.
 *
 * @param worker in the primary, the other process; in the worker, itself
 * @param respond answers the requests of the other side
 * @returns a function that sends a request to the other side; fails if the other side fails or does not answer in time
 */
export function openWorkerChannel(
  worker: Worker,
  respond: () => Promise<unknown>,
): (timeoutMs: number) => Promise<unknown> {
  const pending = new Map<number, PendingRequest>();
  let requestCount = 0;
  const send = (message: Message): void => {
    // If the other side has died, the message is dropped: no process needs the answer, or the request times out.
    if (worker.isConnected()) worker.send(message, () => {});
  };
  const answer = (request: number): Promise<void> =>
    respond().then(
      (value) => send({ answer: request, value }),
      (error) => send({ answer: request, failure: String(error) }),
    );
  worker.on('message', (message: Message) => {
    if ('request' in message) void answer(message.request);
    else if ('failure' in message) pending.get(message.answer)?.reject(new Error(message.failure));
    else pending.get(message.answer)?.resolve(message.value);
  });
  return async (timeoutMs) => {
    const request = (requestCount += 1);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        pending.set(request, { resolve, reject });
        timer = setTimeout(() => reject(new Error('the other process does not answer')), timeoutMs);
        send({ request });
      });
    } finally {
      clearTimeout(timer);
      pending.delete(request);
    }
  };
}

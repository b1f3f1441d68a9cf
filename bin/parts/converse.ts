/** Requests between a primary and a worker of `node:cluster`, with one kind of request in each direction. */
import type { Worker } from 'node:cluster';

/** A question has a number, and its answer has the same number. */
type Message =
  | { readonly question: number }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly failure: string };

interface PendingQuestion {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * @param worker in the primary, the other process; in the worker, itself
 * @param give answers the other side's questions
 * @returns a function that asks the other side; fails if the other side fails or does not answer in time
 */
export function converse(worker: Worker, give: () => Promise<unknown>): (timeoutMs: number) => Promise<unknown> {
  const pending = new Map<number, PendingQuestion>();
  let questions = 0;
  const send = (message: Message): void => {
    // If the other side has died, the message is dropped: no process needs the answer, or the question times out.
    if (worker.isConnected()) worker.send(message, () => {});
  };
  const answer = (question: number): Promise<void> =>
    give().then(
      (value) => send({ answer: question, value }),
      (error) => send({ answer: question, failure: String(error) }),
    );
  worker.on('message', (message: Message) => {
    if ('question' in message) void answer(message.question);
    else if ('failure' in message) pending.get(message.answer)?.reject(new Error(message.failure));
    else pending.get(message.answer)?.resolve(message.value);
  });
  return async (timeoutMs) => {
    const question = (questions += 1);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        pending.set(question, { resolve, reject });
        timer = setTimeout(() => reject(new Error('the other process does not answer')), timeoutMs);
        send({ question });
      });
    } finally {
      clearTimeout(timer);
      pending.delete(question);
    }
  };
}

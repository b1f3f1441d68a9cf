/** Questions between a primary and a worker of `node:cluster`. There is one thing to ask in each direction. */
import type { Worker } from 'node:cluster';

/** A question has a number, and its answer has the same. */
type Message =
  | { readonly question: number }
  | { readonly answer: number; readonly value: unknown }
  | { readonly answer: number; readonly failure: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * @param worker the other process for the primary; for the other process, itself
 * @param give answers the other side's questions
 * @returns asks the other side, and fails when the other side fails or does not answer in time
 */
export function converse(worker: Worker, give: () => Promise<unknown>): (timeoutMs: number) => Promise<unknown> {
  const asked = new Map<number, Waiting>();
  let questions = 0;
  const send = (message: Message): void => {
    // When the other side has died, nobody waits for the message, or no answer comes.
    if (worker.isConnected()) worker.send(message, () => {});
  };
  const answer = (question: number): Promise<void> =>
    give().then(
      (value) => send({ answer: question, value }),
      (error) => send({ answer: question, failure: String(error) }),
    );
  worker.on('message', (message: Message) => {
    if ('question' in message) void answer(message.question);
    else if ('failure' in message) asked.get(message.answer)?.reject(new Error(message.failure));
    else asked.get(message.answer)?.resolve(message.value);
  });
  return async (timeoutMs) => {
    const question = (questions += 1);
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        asked.set(question, { resolve, reject });
        timer = setTimeout(() => reject(new Error('the other process does not answer')), timeoutMs);
        send({ question });
      });
    } finally {
      clearTimeout(timer);
      asked.delete(question);
    }
  };
}

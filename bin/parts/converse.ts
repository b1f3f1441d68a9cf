/** Questions between a primary and a worker of `node:cluster`. There is one thing to ask in each direction. */
import type { Worker } from 'node:cluster';

/** A question has a number, and its answer has the same. */
type Message = { readonly question: number } | { readonly answer: number; readonly value: unknown };

/**
 * @param worker the other process for the primary; for the other process, itself
 * @param give answers the other side's questions
 * @returns asks the other side, and fails when no answer comes in time
 */
export function converse(worker: Worker, give: () => Promise<unknown>): (timeoutMs: number) => Promise<unknown> {
  const asked = new Map<number, (value: unknown) => void>();
  let questions = 0;
  const send = (message: Message): void => {
    if (worker.isConnected()) worker.send(message);
  };
  worker.on('message', (message: Message) => {
    if ('answer' in message) asked.get(message.answer)?.(message.value);
    else void give().then((value) => send({ answer: message.question, value }));
  });
  return (timeoutMs) =>
    new Promise((resolve, reject) => {
      const question = (questions += 1);
      const timer = setTimeout(() => end(() => reject(new Error('the other process does not answer'))), timeoutMs);
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        asked.delete(question);
        settle();
      };
      asked.set(question, (value) => end(() => resolve(value)));
      send({ question });
    });
}

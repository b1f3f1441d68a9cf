/**
 * Bounds the bytes of answers that wait for their clients, so that clients that read nothing cannot fill the memory of a
 * process: by connection, by credential and in all.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { credentialIn } from './credential.ts';

/** In bytes. */
export interface UnreadLimits {
  /** More than the largest answer. */
  readonly byConnection: number;
  /** Clients without a credential share one limit. */
  readonly byCredential: number;
  readonly byProcess: number;
}

const MIB = 2 ** 20;
export const UNREAD_LIMITS: UnreadLimits = { byConnection: 64 * MIB, byCredential: 128 * MIB, byProcess: 256 * MIB };

/** A connection with unread bytes. */
interface Holder {
  readonly socket: Socket;
  readonly credential: string;
  readonly bytes: number;
}

export class UnreadAnswers {
  readonly #answers = new Map<Socket, Set<ServerResponse>>();
  readonly #limits: UnreadLimits;

  constructor(limits: UnreadLimits) {
    this.#limits = limits;
  }

  /** Counts an answer until it is read, or its connection closes. */
  add({ socket }: IncomingMessage, response: ServerResponse): void {
    let answers = this.#answers.get(socket);
    if (answers === undefined) {
      answers = new Set();
      this.#answers.set(socket, answers);
      socket.once('close', () => this.#answers.delete(socket));
    }
    answers.add(response);
    response.once('close', () => answers.delete(response));
  }

  /** Closes connections until all limits hold. The connections with the most unread bytes close first. */
  enforce(): void {
    const { byConnection, byCredential, byProcess } = this.#limits;
    const holders = this.#holders().toSorted((one, other) => other.bytes - one.bytes);
    const byOwner = new Map<string, number>();
    for (const { credential, bytes } of holders) byOwner.set(credential, (byOwner.get(credential) ?? 0) + bytes);
    let all = holders.reduce((sum, { bytes }) => sum + bytes, 0);
    const heaviestOwner = (): number => Math.max(...byOwner.values());
    while (all > byProcess || holders.some(({ bytes }) => bytes > byConnection) || heaviestOwner() > byCredential) {
      const most = heaviestOwner();
      const index = holders.findIndex(
        ({ credential, bytes }) => bytes > byConnection || byOwner.get(credential) === most,
      );
      const [closed] = holders.splice(index, 1);
      if (closed === undefined) return;
      closed.socket.destroy();
      all -= closed.bytes;
      byOwner.set(closed.credential, (byOwner.get(closed.credential) ?? 0) - closed.bytes);
    }
  }

  #holders(): Holder[] {
    const holders: Holder[] = [];
    for (const [socket, answers] of this.#answers) {
      let bytes = 0;
      // Also counts answers that wait behind another answer of their connection.
      for (const { writableLength } of answers) bytes += writableLength;
      const [first] = answers;
      if (first !== undefined && bytes > 0)
        holders.push({ socket, credential: credentialIn(first.req.headers), bytes });
    }
    return holders;
  }
}

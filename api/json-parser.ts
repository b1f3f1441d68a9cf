/** Parses JSON; large documents on threads of their own, so that meanwhile others are served. */
import { Worker } from 'node:worker_threads';
import { badRequest } from '../domain/errors.ts';

/** Below this a document is parsed sooner than it is handed over. */
const LARGE_BYTES = 128 * 1024;
/** One more would take the processor from those who serve. */
const MAX_THREADS = 2;
/** What a thread holds is given back when there was nothing to do for so long. */
const IDLE_MS = 30_000;

/**
 * What a thread does: it answers a document with its value in a list, and what is no JSON in UTF-8 with an empty list. It is
 * text, because a thread cannot load a file of TypeScript in every way in which this process may have been started.
 */
const THREAD = `
  const { parentPort } = require('node:worker_threads');
  const parse = (bytes) => {
    try {
      return [JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))];
    } catch {
      return [];
    }
  };
  parentPort.on('message', (bytes) => parentPort.postMessage(parse(bytes)));
`;

/**
 * The value of a document whose size was looked at before (`text/json-size.ts`): its values come over from the other thread
 * one by one.
 *
 * @param bytes are not to be used any more
 * @throws ServiceError 400 for anything that is not JSON in UTF-8
 */
export async function parseJson(bytes: Buffer<ArrayBuffer>): Promise<unknown> {
  return bytes.byteLength < LARGE_BYTES ? parseHere(bytes) : parseElsewhere(bytes);
}

function parseHere(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw notJson();
  }
}

function notJson(): Error {
  return badRequest('The body is not valid JSON.');
}

interface Job {
  readonly bytes: Buffer<ArrayBuffer>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

const waiting: Job[] = [];
const idle: Thread[] = [];
let threadCount = 0;

function parseElsewhere(bytes: Buffer<ArrayBuffer>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    waiting.push({ bytes, resolve, reject });
    const thread = idle.pop() ?? (threadCount < MAX_THREADS ? new Thread() : undefined);
    thread?.takeNext();
  });
}

class Thread {
  readonly #worker = new Worker(THREAD, { eval: true, execArgv: [] });
  #job: Job | null = null;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor() {
    threadCount += 1;
    // A process that stops does not wait for it; jobs keep the requests that they belong to.
    this.#worker.unref();
    this.#worker.on('message', ([...values]: unknown[]) => {
      if (values.length === 0) this.#job?.reject(notJson());
      else this.#job?.resolve(values[0]);
      this.takeNext();
    });
    this.#worker.on('error', (error: Error) => this.#job?.reject(error));
    this.#worker.on('exit', () => this.#leave());
  }

  takeNext(): void {
    clearTimeout(this.#idleTimer);
    this.#job = waiting.shift() ?? null;
    if (this.#job !== null) {
      const { bytes } = this.#job;
      const isWhole = bytes.byteLength === bytes.buffer.byteLength;
      this.#worker.postMessage(bytes, isWhole ? [bytes.buffer] : []);
      return;
    }
    idle.push(this);
    this.#idleTimer = setTimeout(() => void this.#worker.terminate(), IDLE_MS).unref();
  }

  /** The thread has ended: by itself when it was idle, or by a fault, such as one of memory. */
  #leave(): void {
    threadCount -= 1;
    clearTimeout(this.#idleTimer);
    if (idle.includes(this)) idle.splice(idle.indexOf(this), 1);
    this.#job?.reject(new Error('the thread that parses JSON has ended'));
    if (waiting.length > 0 && idle.length === 0 && threadCount < MAX_THREADS) new Thread().takeNext();
  }
}

/** The interface of a text format: reading a request, and writing the scripted answer as the real service would. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { SimulatorRequest } from '../router.ts';
import type { Conversation } from './conversation.ts';
import type { TextFailure } from './failure.ts';
import type { Script } from './script.ts';

export interface SimulatedFormat {
  readonly paths: readonly string[];
  readonly count?: SimulatedCount;
  /** The content types of whole and of streamed answers. */
  readonly contentTypes: { readonly whole: string; readonly stream: string };

  /**
   * @param apiKey the expected credential; any is accepted when undefined
   * @throws TextFailure when a header is missing
   */
  requireCredential(request: Pick<SimulatorRequest, 'headers' | 'url'>, apiKey: string | undefined): void;
  /** Reads the body; as JSON by default. */
  readBody?(request: SimulatorRequest): unknown;
  /** @throws TextFailure when the body is not a request of the format */
  open(body: unknown, request: SimulatorRequest): Exchange;
  /** Headers that every answer has besides its content type. */
  headers(): Readonly<Record<string, string>>;
  renderFailure(failure: TextFailure, isStream: boolean): FailedAnswer;
}

/** The call that counts the input of a request. */
export interface SimulatedCount {
  readonly path: string;
  /** The request whose input is counted. */
  readonly requestIn: (body: unknown) => unknown;
  readonly render: (tokens: number) => object;
}

export interface FailedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One request and the ways to answer it. */
export interface Exchange {
  readonly conversation: Conversation;
  /** Present if the stream is a file instead of events: its parts have one character for each byte. */
  readonly file?: { readonly contentType: string };
  /** The answer: an object as JSON, or a text. */
  renderWhole(script: Script): object | string;
  renderStream(script: Script): StreamedAnswer;
}

/** The parts of a stream, as server-sent events. */
export interface StreamedAnswer {
  /** The events before the first piece of output. */
  readonly opening: string;
  /** One for each piece of output, with the events before it. They are generated on demand. */
  readonly chunks: Iterable<string>;
  /** The events after the last chunk. */
  closing(): string;
  /** An event that is not JSON. */
  readonly malformed: string;
  /** The event that reports a failure in a started stream. */
  readonly renderFailure: (failure: TextFailure) => string;
}

/** A stretch of output of one kind: a text, a reasoning, a call. */
export interface Block {
  readonly pieces: readonly string[];
  opening(): string;
  delta(piece: string): string;
  closing(): string;
}

interface BlockStream extends Pick<StreamedAnswer, 'opening' | 'malformed' | 'renderFailure'> {
  readonly blocks: readonly Block[];
  readonly ending: () => string;
}

/** A stream of blocks, one after the other. Events between two pieces are sent with the second. */
export function streamBlocks({ opening, blocks, ending, malformed, renderFailure }: BlockStream): StreamedAnswer {
  let pending = '';

  function* chunks(): Generator<string, void, undefined> {
    for (const block of blocks) {
      pending += block.opening();
      for (const piece of block.pieces) {
        const chunk = pending + block.delta(piece);
        pending = '';
        yield chunk;
      }
      pending += block.closing();
    }
  }

  return { opening, chunks: chunks(), closing: () => pending + ending(), malformed, renderFailure };
}

/** The token of an `Authorization: Bearer …` header. */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^Bearer (.+)$/i.exec(authorization ?? '')?.[1];
}

/** Unix seconds. */
export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

const ID_SEED = randomUUID().replaceAll('-', '').slice(0, 24);
let idCount = 0;

/** A unique identifier: letters and digits after the prefix. Many are needed, so they are counted. */
export function newId(prefix: string): string {
  idCount += 1;
  return prefix + ID_SEED + idCount.toString(16).padStart(8, '0');
}

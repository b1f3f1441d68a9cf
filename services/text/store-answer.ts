/** Stores the answer of an exchange in the responses format, before the client gets its end. */
import { bufferOf } from '../../domain/body-bytes.ts';
import { isObject, type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { RESPONSES } from '../../domain/policy.ts';
import { parseJson } from '../../text/json/parse.ts';
import type { WrittenJson } from '../../text/json/write.ts';
import { RESPONSE_ENDS } from '../../text/responses/types.ts';
import { parseServerSentEvents, type ServerSentEvent } from '../../text/sse.ts';
import { chain, runStage, type Stage } from '../../text/stage.ts';
import type { Piece } from './client-stream.ts';
import type { Exchange } from './exchange.ts';

/** Stores a response. Never throws. */
export type StoreResponse = (response: JsonObject) => Promise<void>;

/** The same exchange, whose answer is stored. A reader of a stream waits for `stored` before it passes on what it has read. */
export function storingAnswer(exchange: Exchange, store: StoreResponse): Exchange {
  const { unexpected } = exchange;
  let stored: Promise<void> | null = null;
  const taking = (): Stage<Piece, Piece> =>
    takeEnd((piece) => {
      stored = storeEnd(piece, store);
    });
  return {
    ...exchange,
    stored: () => stored,
    readResult: async (bytes) => {
      const body = await exchange.readResult(bytes);
      if (body !== null) await store(objectOf(await parseJson(bytesOf(body))));
      return body;
    },
    readStream: () => chain(exchange.readStream(), taking()),
    unexpected: unexpected && {
      streamResult: async (bytes) => {
        const pieces = await unexpected.streamResult(bytes);
        runStage(pieces, taking());
        await stored;
        return pieces;
      },
      collectStream: () =>
        chain(unexpected.collectStream(), {
          push: (body, emit) => {
            stored = store(body);
            emit(body);
          },
          end() {},
        }),
    },
  };
}

function bytesOf(written: WrittenJson): Uint8Array {
  return typeof written === 'string' ? Buffer.from(written) : Buffer.concat(written);
}

/** A longer end has more than may be stored, even if it escapes characters. */
const MAX_LENGTH = 2 * RESPONSES.maxBytes;

/** The stage that passes on all pieces, and takes those that may have the end of a response, unless they are very long. */
function takeEnd(take: (piece: Piece) => void): Stage<Piece, Piece> {
  return {
    push(piece, emit) {
      if (piece.length <= MAX_LENGTH && RESPONSE_ENDS.some((type) => mentions(piece, type))) take(piece);
      emit(piece);
    },
    end() {},
  };
}

function mentions(piece: Piece, type: string): boolean {
  return typeof piece === 'string' ? piece.includes(type) : bufferOf(piece).includes(type);
}

async function storeEnd(piece: Piece, store: StoreResponse): Promise<void> {
  const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
  for (const event of runStage([bytes], parseServerSentEvents())) {
    const data = await dataOf(event);
    const type = stringOf(data['type']) || (event.event ?? '');
    if (RESPONSE_ENDS.includes(type) && isObject(data['response'])) return store(data['response']);
  }
}

/** Empty for data that is not JSON, which text that mentions an event may be. */
async function dataOf({ data }: ServerSentEvent): Promise<JsonObject> {
  return objectOf(await parseJson(Buffer.from(data)).catch(() => null));
}

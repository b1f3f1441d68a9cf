/** Stores the answer of an exchange in the responses format, before the client gets its end. */
import { bufferOf } from '../../domain/body-bytes.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { RESPONSES } from '../../domain/policy.ts';
import { parseJson } from '../../text/json/parse.ts';
import type { WrittenJson } from '../../text/json/write.ts';
import { parseServerSentEvents, type ServerSentEvent } from '../../text/sse.ts';
import { chain, runStage, type Stage } from '../../text/stage.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';
import type { Piece } from './client-stream.ts';
import type { Exchange } from './exchange.ts';

/** Stores a response. Never throws. */
export type StoreResponse = (response: JsonObject) => Promise<void>;

/** The same exchange, whose answer is stored. A reader of a stream waits for `stored` before it passes on what it has read. */
export function storingAnswer(exchange: Exchange, store: StoreResponse): Exchange {
  const { unexpected } = exchange;
  let stored: Promise<void> | null = null;
  const taking = (): Stage<Piece, Piece> =>
    takeEnd((pieces) => {
      stored = storeStream(pieces, store);
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

/** Events that end a response with its output, and, for upstreams that leave the output out there, those with its items. */
const ENDS = ['response.completed', 'response.incomplete'];
const ITEM = 'response.output_item.done';
/** The items and the end, which has them again. */
const MAX_LENGTH = 2 * RESPONSES.maxBytes;

/** The stage that passes on all pieces, and takes those with the items and the end of a response, unless they are very long. */
function takeEnd(take: (pieces: readonly Piece[]) => void): Stage<Piece, Piece> {
  const items: Piece[] = [];
  let length = 0;
  return {
    push(piece, emit) {
      const isEnd = ENDS.some((type) => mentions(piece, type));
      if (isEnd || mentions(piece, ITEM)) {
        length += piece.length;
        if (length <= MAX_LENGTH) items.push(piece);
        if (isEnd && length <= MAX_LENGTH) take(items);
      }
      emit(piece);
    },
    end() {},
  };
}

function mentions(piece: Piece, type: string): boolean {
  return typeof piece === 'string' ? piece.includes(type) : bufferOf(piece).includes(type);
}

async function storeStream(pieces: readonly Piece[], store: StoreResponse): Promise<void> {
  const bytes = pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece));
  const items: JsonObject[] = [];
  for (const event of runStage(bytes, parseServerSentEvents())) {
    const data = await dataOf(event);
    const type = stringOf(data['type']) || (event.event ?? '');
    if (type === ITEM && isObject(data['item'])) items.push(data['item']);
    const { response } = data;
    if (!ENDS.includes(type) || !isObject(response)) continue;
    const { output } = response;
    return store(Array.isArray(output) && output.length > 0 ? response : { ...response, output: items });
  }
}

/** Empty for data that is not JSON, which text that mentions an event may be. */
async function dataOf({ data }: ServerSentEvent): Promise<JsonObject> {
  return objectOf(await parseJson(Buffer.from(data)).catch(() => null));
}

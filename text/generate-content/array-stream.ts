/**
 * The native stream as a JSON array, which is what clients get that do not ask for server-sent events: one item for each
 * event, sent when it is there.
 */
import { parseServerSentEvents } from '../sse.ts';
import { chain, type Stage } from '../stage.ts';

type Piece = string | Uint8Array;

/** The stage that reads upstream bytes as `stage` does, and writes its events as the items of an array. */
export function inArray(stage: Stage<Uint8Array, Piece>): Stage<Uint8Array, string> {
  const events = parseServerSentEvents();
  let count = 0;
  return chain(stage, {
    push(piece, emit) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
      events.push(bytes, ({ data }) => {
        emit((count === 0 ? '[' : ',\r\n') + data);
        count += 1;
      });
    },
    end(emit) {
      emit(count === 0 ? '[]' : ']');
    },
  });
}

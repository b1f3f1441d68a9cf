/** The native stream as a JSON array, for clients without server-sent events: one item per event, sent at once. */
import { parseServerSentEvents } from '../sse.ts';
import { chain, runStage, type Stage } from '../stage.ts';

type Piece = string | Uint8Array;

/** The text that ends an array with one more event. @param count the number of items before */
export function endArray(event: string, count: number): string {
  const events = runStage([Buffer.from(event)], parseServerSentEvents());
  return `${events.map(({ data }) => separatorAfter(count) + data).join('')}]`;
}

function separatorAfter(count: number): string {
  return count === 0 ? '[' : ',\r\n';
}

/** The stage that reads its input with `stage`, and writes the events as the items of an array. */
export function inArray<Input>(stage: Stage<Input, Piece>): Stage<Input, string> {
  const events = parseServerSentEvents();
  let count = 0;
  return chain(stage, {
    push(piece, emit) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
      events.push(bytes, ({ data }) => {
        emit(separatorAfter(count) + data);
        count += 1;
      });
    },
    end(emit) {
      emit(count === 0 ? '[]' : ']');
    },
  });
}

/** What is mended of messages that are passed on: contract 4.8.3. */
import type { JsonObject } from '../../domain/json.ts';
import type { StreamEvent } from '../canonical.ts';
import { encodeEvent } from '../sse.ts';
import { arrayOf, objectOf, stringOf } from '../upstream-errors.ts';
import type { Mender, StreamMender } from '../wire-format.ts';
import { STOP_REASONS } from './render-result.ts';
import { stopReasonOf } from './upstream.ts';

export const mender: Mender = {
  mendResult: (message) => {
    const hasCalls = arrayOf(message['content']).some((block) => objectOf(block)['type'] === 'tool_use');
    return withKnownReason(message, hasCalls);
  },
  mendStream: () => new MessagesStreamMender(),
};

/** What the event has that tells the reason; all others are left unread. */
const TELLS_REASON = /"stop_reason"\s*:\s*"/;

class MessagesStreamMender implements StreamMender {
  #hasCalls = false;
  #lacksStop = false;

  see(event: StreamEvent): void {
    if (event.type === 'tool-input-start') this.#hasCalls = true;
    else if (event.type === 'finish') this.#lacksStop = true;
  }

  mend(data: string): string {
    if (data.includes('"message_stop"')) this.#lacksStop = false;
    if (!TELLS_REASON.test(data)) return data;
    const event = objectOf(JSON.parse(data));
    const delta = objectOf(event['delta']);
    if (stringOf(delta['stop_reason']) === '') return data;
    const mended = withKnownReason(delta, this.#hasCalls);
    return mended === delta ? data : JSON.stringify({ ...event, delta: mended });
  }

  end(): string {
    return this.#lacksStop ? encodeEvent('{"type":"message_stop"}', 'message_stop') : '';
  }
}

/** A message, or the delta that ends one, with one of the format's reasons. */
function withKnownReason(message: JsonObject, hasCalls: boolean): JsonObject {
  const told = stringOf(message['stop_reason']);
  const reason = stopReasonOf(told);
  const known = STOP_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  return known === told ? message : { ...message, stop_reason: known };
}

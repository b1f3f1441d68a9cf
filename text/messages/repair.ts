/** Repairs messages that are passed on: contract 4.8.3. */
import type { JsonObject } from '../../domain/json.ts';
import type { StreamEvent } from '../canonical.ts';
import { repairEvent } from '../repair-event.ts';
import { encodeEvent, type ServerSentEvent } from '../sse.ts';
import { arrayOf, objectOf, stringOf } from '../upstream-errors.ts';
import type { Repairer, StreamRepairer } from '../wire-format.ts';
import { STOP_REASONS } from './render-result.ts';
import { stopReasonOf } from './upstream.ts';

export const repairer: Repairer = {
  repairResult: (message) => {
    const hasCalls = arrayOf(message['content']).some((block) => objectOf(block)['type'] === 'tool_use');
    return withKnownReason(message, hasCalls);
  },
  repairStream: () => new MessagesStreamRepairer(),
};

/** Matches the event with the reason; all others are not parsed. */
const HAS_REASON = /"stop_reason"\s*:\s*"/;

class MessagesStreamRepairer implements StreamRepairer {
  #hasCalls = false;
  #lacksStop = false;

  see(event: StreamEvent): void {
    if (event.type === 'tool-input-start') this.#hasCalls = true;
    else if (event.type === 'finish') this.#lacksStop = true;
  }

  repair(event: ServerSentEvent): ServerSentEvent {
    if (event.data.includes('"message_stop"')) this.#lacksStop = false;
    return repairEvent(event, HAS_REASON, (reported) => {
      const delta = objectOf(reported['delta']);
      if (stringOf(delta['stop_reason']) === '') return reported;
      const repaired = withKnownReason(delta, this.#hasCalls);
      return repaired === delta ? reported : { ...reported, delta: repaired };
    });
  }

  end(): string {
    return this.#lacksStop ? encodeEvent('{"type":"message_stop"}', 'message_stop') : '';
  }
}

/** Gives a message, or the delta that ends one, one of the format's reasons. */
function withKnownReason(message: JsonObject, hasCalls: boolean): JsonObject {
  const reported = stringOf(message['stop_reason']);
  const reason = stopReasonOf(reported);
  const known = STOP_REASONS[reason === 'stop' && hasCalls ? 'tool-calls' : reason];
  return known === reported ? message : { ...message, stop_reason: known };
}

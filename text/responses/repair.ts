/**
 * Repairs responses that are passed on: contract 4.8.2. They stay the upstream's own, except for what would misreport
 * the client's request or its bill: the output bound and `store`, where the upstream was given others, and the usage. Some upstreams
 * leave the output out of the end of a stream, where clients look for it.
 */
import { countOf, isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import type { ServerSentEvent } from '../sse.ts';
import type { RepairContext, Repairer } from '../wire-format.ts';
import { renderUsage } from './render-result.ts';
import { RESPONSE_ENDS } from './types.ts';

/** Matches events that hold the whole response; all others are not parsed. */
const HAS_RESPONSE = /"response"\s*:\s*\{/;

export function createRepairer({ body, request, usage }: RepairContext): Repairer {
  const { max_output_tokens: sent = null } = body;
  const { isStored } = request.echo ?? {};
  const repairResult = (response: JsonObject): JsonObject => {
    const { max_output_tokens: bound, store } = response;
    const bounded = bound === undefined || bound === sent ? response : { ...response, max_output_tokens: sent };
    const isTrue = isStored === undefined || store === undefined || store === isStored;
    const echoed = isTrue ? bounded : { ...bounded, store: isStored };
    const hasEnded = response['status'] === 'completed' || response['status'] === 'incomplete';
    return hasEnded ? withUsage(echoed, 'usage', usage(), renderUsage) : echoed;
  };
  return {
    repairResult,
    repairStream: () => {
      const ended = new EndedItems();
      return {
        see() {},
        repair(event, emit) {
          ended.keep(event);
          emit(
            repairEvent(event, HAS_RESPONSE, (reported) => {
              const { response } = reported;
              if (!isObject(response)) return reported;
              const isEnd = RESPONSE_ENDS.includes(stringOf(reported['type']) || (event.event ?? ''));
              const whole = isEnd ? withOutput(response, ended) : response;
              const repaired = repairResult(whole);
              return repaired === response ? reported : { ...reported, response: repaired };
            }),
          );
        },
        end: () => '',
      };
    },
  };
}

function withOutput(response: JsonObject, ended: EndedItems): JsonObject {
  const { output } = response;
  if (listOf(output).length > 0) return response;
  const items = ended.read();
  return Array.isArray(output) && items.length === 0 ? response : { ...response, output: items };
}

const ITEM_ENDED = 'response.output_item.done';
/** As many UTF-16 units as a frame may have bytes. */
const MAX_LENGTH = 16 * 1024 * 1024;

/** The items of a stream, which are parsed only if the end of the stream does not have them. */
class EndedItems {
  readonly #events: ServerSentEvent[] = [];
  #length = 0;
  #isComplete = true;

  keep(event: ServerSentEvent): void {
    const { data, json } = event;
    const name = event.event ?? objectOf(json)['type'];
    if (name === undefined ? !data.includes(ITEM_ENDED) : name !== ITEM_ENDED) return;
    this.#isComplete = this.#length < MAX_LENGTH;
    if (this.#isComplete) this.#events.push(event);
    // A long event was parsed beforehand, and has no text.
    this.#length += json === undefined ? data.length : MAX_LENGTH;
  }

  /** The items in order; none if they were too long to keep them all. */
  read(): JsonObject[] {
    if (!this.#isComplete) return [];
    const items = new Map<number, JsonObject>();
    for (const { data, json } of this.#events) {
      const { item, output_index: index } = objectOf(json ?? JSON.parse(data));
      if (isObject(item)) items.set(countOf(index) ?? items.size, item);
    }
    return [...items].toSorted(([one], [other]) => one - other).map(([, item]) => item);
  }
}

/**
 * Repairs responses that are passed on: contract 4.8.2. They stay the upstream's own, except for what would misreport
 * the client's request or its bill: the output bound, where the upstream was given another, and the usage.
 */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import type { RepairContext, Repairer } from '../wire-format.ts';
import { renderUsage } from './render-result.ts';

/** Matches events that hold the whole response; all others are not parsed. */
const HAS_RESPONSE = /"response"\s*:\s*\{/;

export function createRepairer({ body, usage }: RepairContext): Repairer {
  const { max_output_tokens: sent = null } = body;
  const repairResult = (response: JsonObject): JsonObject => {
    const bound = response['max_output_tokens'];
    const echoed = bound === undefined || bound === sent ? response : { ...response, max_output_tokens: sent };
    const hasEnded = response['status'] === 'completed' || response['status'] === 'incomplete';
    return hasEnded ? withUsage(echoed, 'usage', usage(), renderUsage) : echoed;
  };
  return {
    repairResult,
    repairStream: () => ({
      see() {},
      repair(event, emit) {
        emit(
          repairEvent(event, HAS_RESPONSE, (reported) => {
            const { response } = reported;
            if (!isObject(response)) return reported;
            const repaired = repairResult(response);
            return repaired === response ? reported : { ...reported, response: repaired };
          }),
        );
      },
      end: () => '',
    }),
  };
}

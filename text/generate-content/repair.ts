/** Repairs native answers that are passed on: contract 4.8.4. */
import { finishReasonOf } from '../finish-reasons.ts';
import type { JsonObject } from '../../domain/json.ts';
import { repairEvent } from '../repair-event.ts';
import type { ServerSentEvent } from '../sse.ts';
import { arrayOf, objectOf } from '../upstream-errors.ts';
import type { Repairer, StreamRepairer } from '../wire-format.ts';
import { FINISH_REASONS } from './render-result.ts';

export const repairer: Repairer = { repairResult: withKnownReasons, repairStream: () => new NativeStreamRepairer() };

/** Matches events with a reason; all others are not parsed. */
const HAS_REASON = /"finishReason"\s*:\s*"/;

class NativeStreamRepairer implements StreamRepairer {
  see(): void {}

  repair(event: ServerSentEvent): ServerSentEvent {
    return repairEvent(event, HAS_REASON, withKnownReasons);
  }

  end(): string {
    return '';
  }
}

/** Returns the same object when every candidate has one of the format's reasons, or none yet. */
function withKnownReasons(response: JsonObject): JsonObject {
  const candidates = arrayOf(response['candidates']).map(objectOf);
  const repaired = candidates.map(withKnownReason);
  const isSound = repaired.every((candidate, index) => candidate === candidates[index]);
  return isSound ? response : { ...response, candidates: repaired };
}

function withKnownReason(candidate: JsonObject): JsonObject {
  const { finishReason, ...rest } = candidate;
  if (typeof finishReason !== 'string') return candidate;
  const reason = finishReasonOf(finishReason);
  if (reason === null) return rest;
  const known = FINISH_REASONS[reason];
  return known === finishReason ? candidate : { ...candidate, finishReason: known };
}

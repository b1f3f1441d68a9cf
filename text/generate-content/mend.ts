/** What is mended of native answers that are passed on: contract 4.8.4. */
import { finishReasonOf } from '../finish-reasons.ts';
import type { JsonObject } from '../../domain/json.ts';
import { arrayOf, objectOf } from '../upstream-errors.ts';
import type { Mender, StreamMender } from '../wire-format.ts';
import { FINISH_REASONS } from './render-result.ts';

export const mender: Mender = { mendResult: withKnownReasons, mendStream: () => new NativeStreamMender() };

/** What events have that tell a reason; all others are left unread. */
const TELLS_REASON = /"finishReason"\s*:\s*"/;

class NativeStreamMender implements StreamMender {
  see(): void {}

  mend(data: string): string {
    if (!TELLS_REASON.test(data)) return data;
    const response = objectOf(JSON.parse(data));
    const mended = withKnownReasons(response);
    return mended === response ? data : JSON.stringify(mended);
  }

  end(): string {
    return '';
  }
}

/** The same object where every candidate has one of the format's reasons, or none yet. */
function withKnownReasons(response: JsonObject): JsonObject {
  const candidates = arrayOf(response['candidates']).map(objectOf);
  const mended = candidates.map(withKnownReason);
  const isSound = mended.every((candidate, index) => candidate === candidates[index]);
  return isSound ? response : { ...response, candidates: mended };
}

function withKnownReason(candidate: JsonObject): JsonObject {
  const { finishReason, ...rest } = candidate;
  if (typeof finishReason !== 'string') return candidate;
  const reason = finishReasonOf(finishReason);
  if (reason === null) return rest;
  const known = FINISH_REASONS[reason];
  return known === finishReason ? candidate : { ...candidate, finishReason: known };
}

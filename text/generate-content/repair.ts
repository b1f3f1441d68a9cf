/** Repairs native answers that are passed on: contract 4.8.4. */
import { finishReasonOf } from '../finish-reasons.ts';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import { repairEvent, withUsage } from '../repair-event.ts';
import type { ServerSentEvent } from '../sse.ts';
import type { Emit } from '../stage.ts';
import type { RepairContext, Repairer, StreamRepairer } from '../wire-format.ts';
import { EMPTY_PART, FINISH_REASONS, hasThoughts, renderUsage } from './render-result.ts';

export function createRepairer(context: RepairContext): Repairer {
  const repair = (response: JsonObject): JsonObject => {
    const candidates = listOf(response['candidates']).map(objectOf);
    const known = candidates.map(withKnownReason);
    const repaired = hasThoughts(context.request) ? known : known.map(withoutThoughts);
    const isSound = repaired.every((candidate, index) => candidate === candidates[index]);
    const shown = isSound ? response : { ...response, candidates: repaired };
    const hasEnded = repaired.some((candidate) => candidate['finishReason'] !== undefined);
    return hasEnded ? withUsage(shown, 'usageMetadata', context.usage(), renderUsage) : shown;
  };
  return { repairResult: repair, repairStream: () => new NativeStreamRepairer(repair) };
}

/** Matches events with a reason or a thought; all others are not parsed. */
const IS_OF_INTEREST = /"finishReason"\s*:\s*"|"thought"\s*:\s*true/;

class NativeStreamRepairer implements StreamRepairer {
  readonly #repair: (response: JsonObject) => JsonObject;

  constructor(repair: (response: JsonObject) => JsonObject) {
    this.#repair = repair;
  }

  see(): void {}

  repair(event: ServerSentEvent, emit: Emit<ServerSentEvent>): void {
    let isEmpty = false;
    const repaired = repairEvent(event, IS_OF_INTEREST, (response) => {
      const shown = this.#repair(response);
      isEmpty = shown !== response && listOf(shown['candidates']).every(isWithoutContent);
      return shown;
    });
    if (!isEmpty) emit(repaired);
  }

  end(): string {
    return '';
  }
}

function withKnownReason(candidate: JsonObject): JsonObject {
  const { finishReason, ...rest } = candidate;
  if (typeof finishReason !== 'string') return candidate;
  const reason = finishReasonOf(finishReason);
  if (reason === null) return rest;
  const known = FINISH_REASONS[reason];
  return known === finishReason ? candidate : { ...candidate, finishReason: known };
}

/** The candidate without thoughts, which clients do not get; a candidate with a finish reason keeps a part. */
function withoutThoughts(candidate: JsonObject): JsonObject {
  const content = objectOf(candidate['content']);
  const parts = listOf(content['parts']);
  const shown = parts.filter((part) => objectOf(part)['thought'] !== true);
  if (shown.length === parts.length) return candidate;
  const hasEnded = candidate['finishReason'] !== undefined;
  return { ...candidate, content: { ...content, parts: shown.length === 0 && hasEnded ? [EMPTY_PART] : shown } };
}

/** Whether an unfinished candidate has no parts left. */
function isWithoutContent(candidate: unknown): boolean {
  const { content, finishReason } = objectOf(candidate);
  return finishReason === undefined && listOf(objectOf(content)['parts']).length === 0;
}

/**
 * Tool call ids that every upstream accepts. Upstreams make ids as they like and refuse those that others made; at most
 * 64 letters, digits, `_` and `-` are safe everywhere.
 */
import { digestOf } from '../domain/digest.ts';
import { randomLetters } from '../domain/ids.ts';
import type { Turn } from './canonical.ts';

const MAXIMUM_LENGTH = 64;
/** `_` and the number that distinguishes ids with the same beginning. */
const MAX_SUFFIX = 9;
const PORTABLE = /^[A-Za-z0-9_-]{1,64}$/;

/** The models of Mistral, by their names, which refuse longer and shorter ids: https://docs.mistral.ai/capabilities/function_calling */
const MISTRAL = /mistral|ministral|mixtral|codestral|devstral|magistral|pixtral|voxtral/i;
const MISTRAL_ID = /^[A-Za-z0-9]{9}$/;
const MISTRAL_LENGTH = 9;

/** The prefix of ids that the gateway makes, which no upstream uses. */
const MINTED = 'call_minted_';
const RANDOM_LENGTH = 24;

/** A new tool call id, for upstreams whose calls have none. */
export function newCallId(): string {
  return MINTED + randomLetters(RANDOM_LENGTH);
}

/** The id of a call that the client sent without one, derived from its position in the conversation. */
export function callIdOfPlace(place: number): string {
  return `${MINTED}${place}`;
}

/** Whether the gateway made the id, so that no upstream knows it. */
export function isMintedCallId(id: string): boolean {
  return id.startsWith(MINTED);
}

/**
 * The ids in a conversation that some upstream would refuse, each with its replacement. Replacements stay the same as
 * the conversation grows, so that upstreams' caches of it remain useful.
 *
 * @param model the vendor's name for the model
 */
export function callIdReplacements(turns: readonly Turn[], model = ''): ReadonlyMap<string, string> {
  const [accepted, replacementOf] = MISTRAL.test(model)
    ? ([MISTRAL_ID, mistralReplacement] as const)
    : ([PORTABLE, portableReplacement] as const);
  const ids = callIdsIn(turns);
  const replacements = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const id of ids) {
    if (accepted.test(id)) continue;
    const replacement = replacementOf(id, ids, counts);
    ids.add(replacement);
    replacements.set(id, replacement);
  }
  return replacements;
}

type Replace = (id: string, taken: ReadonlySet<string>, counts: Map<string, number>) => string;

const portableReplacement: Replace = (id, taken, counts) =>
  freeId(id.slice(0, MAXIMUM_LENGTH).replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call', taken, counts);

/**
 * The wanted id, or its beginning with the next number if the id is taken.
 *
 * @param counts the last number of each beginning: ids with one beginning share it, so that no number is tried twice
 */
const freeId: Replace = (wanted, taken, counts) => {
  const beginning = wanted.slice(0, MAXIMUM_LENGTH - MAX_SUFFIX);
  let id = wanted;
  let count = counts.get(beginning) ?? 1;
  while (taken.has(id)) {
    count += 1;
    id = `${beginning}_${count}`;
  }
  counts.set(beginning, count);
  return id;
};

const mistralReplacement: Replace = (id, taken) => {
  let digest = digestOf(id);
  while (taken.has(digest.slice(0, MISTRAL_LENGTH))) digest = digestOf(digest);
  return digest.slice(0, MISTRAL_LENGTH);
};

/** The turns, with call ids that every upstream accepts. @param model the vendor's name for the model */
export function withPortableCallIds(turns: readonly Turn[], model?: string): readonly Turn[] {
  const replacements = callIdReplacements(turns, model);
  if (replacements.size === 0) return turns;
  const rename = <Part extends { readonly callId: string }>(part: Part): Part => ({
    ...part,
    callId: replacements.get(part.callId) ?? part.callId,
  });
  return turns.map((turn): Turn => {
    if (turn.role === 'tool') return { ...turn, parts: turn.parts.map(rename) };
    if (turn.role !== 'assistant') return turn;
    return { ...turn, parts: turn.parts.map((part) => (part.type === 'tool-call' ? rename(part) : part)) };
  });
}

/**
 * Turns in which each call has an id of its own, for vendors that refuse repeated ones: some upstreams number their calls anew in each
 * answer. The results of calls are right after them, in their order.
 */
export function withUniqueCallIds(turns: readonly Turn[]): readonly Turn[] {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  /** The ids of the latest calls, by the client's ids. */
  let latest = new Map<string, string[]>();
  const idOfCall = (given: string): string => {
    const id = freeId(given, used, counts);
    used.add(id);
    const ids = latest.get(given) ?? [];
    ids.push(id);
    latest.set(given, ids);
    return id;
  };
  return turns.map((turn): Turn => {
    if (turn.role === 'tool') {
      const unanswered = new Map([...latest].map(([id, ids]) => [id, ids.values()]));
      const parts = turn.parts.map((result) => ({
        ...result,
        callId: unanswered.get(result.callId)?.next().value ?? result.callId,
      }));
      return { ...turn, parts };
    }
    if (turn.role !== 'assistant') return turn;
    latest = new Map();
    const parts = turn.parts.map((part) =>
      part.type === 'tool-call' ? { ...part, callId: idOfCall(part.callId) } : part,
    );
    return { ...turn, parts };
  });
}

/** The ids of the calls and results in a conversation. */
export function callIdsIn(turns: readonly Turn[]): Set<string> {
  return new Set(turns.flatMap(callIdsOf));
}

function callIdsOf({ role, parts }: Turn): string[] {
  if (role !== 'assistant' && role !== 'tool') return [];
  return parts.flatMap((part) => ('callId' in part ? part.callId : []));
}

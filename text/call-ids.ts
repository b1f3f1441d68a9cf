/**
 * Ids of tool calls that upstreams take. Each format lets its own upstreams mint what they like, and refuses what others
 * minted: ids are to be at most 64 letters, digits, `_` and `-`.
 */
import { randomLetters } from '../domain/ids.ts';
import type { Turn } from './canonical.ts';

const MAXIMUM_LENGTH = 64;
/** Of `_` and the number of an id. */
const LONGEST_SUFFIX = 9;
const PORTABLE = /^[A-Za-z0-9_-]{1,64}$/;

/** How the ids begin that the gateway makes, so that they are told from those of any upstream. */
const MINTED = 'call_minted_';
const RANDOM_LENGTH = 24;

/** A new tool call id, for upstreams whose calls have none. */
export function newCallId(): string {
  return MINTED + randomLetters(RANDOM_LENGTH);
}

/** The id of a call that the client sent without one: of its place in the conversation, the same each time. */
export function callIdOfPlace(place: number): string {
  return `${MINTED}${place}`;
}

/** Whether the gateway made the id, so that no upstream knows it. */
export function isMintedCallId(id: string): boolean {
  return id.startsWith(MINTED);
}

/**
 * The ids in a conversation that some upstream would refuse, each with another in its place. It is the same again when the
 * conversation has grown, so that what upstreams have cached of it stays of use.
 */
export function callIdReplacements(turns: readonly Turn[]): ReadonlyMap<string, string> {
  const ids = new Set(turns.flatMap(callIdsOf));
  const replacements = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const id of ids) {
    if (PORTABLE.test(id)) continue;
    let replacement = id.slice(0, MAXIMUM_LENGTH).replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call';
    // What is numbered is the same for all ids that begin alike, so that no number is tried twice.
    const beginning = replacement.slice(0, MAXIMUM_LENGTH - LONGEST_SUFFIX);
    let count = counts.get(beginning) ?? 1;
    while (ids.has(replacement)) {
      count += 1;
      replacement = `${beginning}_${count}`;
    }
    counts.set(beginning, count);
    ids.add(replacement);
    replacements.set(id, replacement);
  }
  return replacements;
}

/** The turns with ids that every upstream takes. */
export function withPortableCallIds(turns: readonly Turn[]): readonly Turn[] {
  const replacements = callIdReplacements(turns);
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

function callIdsOf({ role, parts }: Turn): string[] {
  if (role !== 'assistant' && role !== 'tool') return [];
  return parts.flatMap((part) => ('callId' in part ? part.callId : []));
}

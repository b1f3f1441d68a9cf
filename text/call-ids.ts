/**
 * Tool call ids that every upstream accepts. Upstreams make ids as they like and refuse those that others made; at most
 * 64 letters, digits, `_` and `-` are safe everywhere.
 */
import { randomLetters } from '../domain/ids.ts';
import type { Turn } from './canonical.ts';

const MAXIMUM_LENGTH = 64;
/** `_` and the number that distinguishes ids with the same beginning. */
const MAX_SUFFIX = 9;
const PORTABLE = /^[A-Za-z0-9_-]{1,64}$/;

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
 */
export function callIdReplacements(turns: readonly Turn[]): ReadonlyMap<string, string> {
  const ids = new Set(turns.flatMap(callIdsOf));
  const replacements = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const id of ids) {
    if (PORTABLE.test(id)) continue;
    let replacement = id.slice(0, MAXIMUM_LENGTH).replaceAll(/[^A-Za-z0-9_-]/g, '_') || 'call';
    // Ids with the same beginning share a counter, so that no number is tried twice.
    const beginning = replacement.slice(0, MAXIMUM_LENGTH - MAX_SUFFIX);
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

/** The turns, with call ids that every upstream accepts. */
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

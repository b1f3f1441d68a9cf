import type { JsonObject } from '../domain/json.ts';
import { withPortableCallIds, withUniqueCallIds } from './call-ids.ts';
import type { Turn } from './canonical.ts';
import { mergeNeighbours, pairToolResults, withoutFinalSpace } from './turns.ts';

export interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** Messages with alternating roles, and tool results at the beginning of the user message after their calls. */
export function alternatingMessages(
  turns: readonly Turn[],
  renderTurn: (turn: Turn) => readonly JsonObject[],
): Message[] {
  const messages: Message[] = [];
  const paired = pairToolResults(withoutFinalSpace(mergeNeighbours(withPortableCallIds(turns))));
  for (const turn of withUniqueCallIds(paired)) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user';
    const content = renderTurn(turn);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    if (last?.role !== role) messages.push({ role, content: [...content] });
    else for (const block of content) last.content.push(block);
  }
  return messages;
}

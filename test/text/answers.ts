/** Answers as events, and events as answers. */
import type { StreamEvent, TextResult } from '../../text/canonical.ts';
import { collect, eventsOfPart } from '../../text/collect.ts';
import { normalize } from '../../text/normalize.ts';
import { runStage } from '../../text/stage.ts';
import { words } from '../support/words.ts';

/** The answer of an upstream's events, however irregular. Throws a ServiceError when they hold no whole answer. */
export function resultOf(events: Iterable<StreamEvent>): TextResult {
  return collect(runStage(events, normalize()));
}

/** The legal events of an answer, with one delta for each part: the inverse of {@link collect}. */
export function* eventsOf(result: TextResult): Generator<StreamEvent, void, undefined> {
  yield { type: 'response-start', id: result.id, model: result.model };
  for (const [choice, { parts }] of result.choices.entries()) {
    for (const [index, part] of parts.entries()) yield* eventsOfPart(part, `${choice}-${index}`, choice);
  }
  yield { type: 'usage', usage: result.usage };
  for (const [choice, { finish }] of result.choices.entries()) yield { type: 'finish', choice, ...finish };
}

/** The events of the responses format for an answer with reasoning, a text and a call. */
export const RESPONSES_SEQUENCE = words(`
  created in_progress
  output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done
  reasoning_summary_part.done output_item.done
  output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done
  output_item.added function_call_arguments.delta function_call_arguments.done output_item.done
  completed
`).map((name) => `response.${name}`);

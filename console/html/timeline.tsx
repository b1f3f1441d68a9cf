/** Shows events in the order in which they happened. */
import type { TimelineEvent } from '../../services/tasks/timeline.ts';
import { LinkedIds } from './linked-ids.tsx';
import { useTexts } from './page-context.ts';

interface TimelineProps {
  readonly events: readonly TimelineEvent[];
  /** The steps in progress. */
  readonly pending?: readonly string[];
}

export function Timeline({ events, pending = [] }: TimelineProps) {
  const { staff: messages } = useTexts();
  return (
    <ol class="timeline">
      {events.map(({ at, source, text }) => (
        <li>
          <Moment at={at} />
          <span class="source">{messages.sources[source]}</span>
          <span>
            <LinkedIds text={text} />
          </span>
        </li>
      ))}
      {pending.map((text) => (
        <li class="now">
          <span>{messages.now}</span>
          <span class="source">{messages.sources.workflow}</span>
          <span>
            <LinkedIds text={text} />
          </span>
        </li>
      ))}
    </ol>
  );
}

/** Shows seconds, because the events of a task are seconds apart. */
function Moment({ at }: { at: Date }) {
  const iso = at.toISOString();
  return (
    <time dateTime={iso} title={iso}>
      {`${iso.slice(0, 10)} ${iso.slice(11, 19)}`}
    </time>
  );
}

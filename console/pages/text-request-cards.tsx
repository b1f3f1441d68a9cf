/** The cards on the pages of a text request, for members and for operators. */
import { TEXT_REQUEST } from '../../services/resources/usage.ts';
import type { TextUsage } from '../../db/queries/usage.ts';
import { TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import { Card, WithNote } from '../html/components.tsx';
import { useTexts } from '../html/page-context.ts';
import { Chosen, ResourceFacts } from '../html/resource-table.tsx';
import { wordFor } from '../texts/texts.ts';

export function TokensCard({ usage }: { usage: TextUsage }) {
  const { staffTextRequests: messages } = useTexts();
  return (
    <Card title={messages.tokenCounts}>
      <ResourceFacts
        of={TEXT_REQUEST}
        row={usage}
        columns={[
          ...TOKEN_COUNTS.map(({ column }) => column),
          [messages.counted, ({ estimated }) => (estimated ? messages.estimated : messages.reported)],
        ]}
      />
    </Card>
  );
}

export function Outcome({ usage: { outcome, errorCode } }: { usage: TextUsage }) {
  const texts = useTexts();
  return (
    <WithNote note={errorCode && wordFor('error_code', errorCode, texts)}>
      <Chosen name="outcome" value={outcome} />
    </WithNote>
  );
}

/** @param ms null if the duration was not measured */
export function Duration({ ms }: { ms: number | null }) {
  const { staffTasks, staffTextRequests: messages } = useTexts();
  return <>{ms === null ? staffTasks.notKnown : messages.milliseconds(ms)}</>;
}

/** A fact for each modifier of the price. */
export function modifierFacts({ modifiers }: TextUsage): readonly (readonly [name: string, fact: () => string])[] {
  return modifiers.map(({ kind, factor }) => [kind, () => `× ${factor}`]);
}

/** The sessions of a user. */
import { SESSION } from '../../../services/resources/users.ts';
import type { ListedSession } from '../../../db/queries/sessions.ts';
import { deviceOf } from '../../../domain/device.ts';
import { Badge, FormButton } from '../../html/components.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import type { UserVisit } from '../../page.ts';

interface SessionsProps {
  readonly visit: UserVisit;
  readonly sessions: readonly ListedSession[];
}

export function Sessions({ visit: { session: own, texts }, sessions }: SessionsProps) {
  const { profile: messages } = texts;
  return (
    <TableCard
      title={messages.sessions}
      wide
      of={SESSION}
      rows={sessions}
      columns={[
        [messages.device, ({ userAgent }) => deviceOf(userAgent) ?? messages.unknownDevice],
        [messages.signedInAt, 'created_at'],
        'last_used_at',
        [
          messages.action,
          ({ digest }) =>
            digest.equals(own.digest) ? (
              <Badge tone="good">{messages.thisSession}</Badge>
            ) : (
              <FormButton
                action="/console/profile/sessions/end"
                label={messages.endSession}
                entries={{ session: digest.toString('base64url') }}
              />
            ),
        ],
      ]}
    >
      {sessions.length < 2 ? null : (
        <FormButton action="/console/profile/sessions/end-others" label={messages.endOthers} look="danger" />
      )}
    </TableCard>
  );
}

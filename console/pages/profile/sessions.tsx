/** The sessions of a user. */
import { SESSION } from '../../../services/resources/users.ts';
import type { ListedSession } from '../../../db/queries/sessions.ts';
import { Badge, FormButton } from '../../html/components.tsx';
import { TableCard } from '../../html/resource-table.tsx';
import type { UserVisit } from '../../page.ts';

/** The marks of browsers and systems in `User-Agent`. The first match counts: browsers also name other browsers. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

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

/** Returns a name such as `Firefox, Linux`, or null for an unknown device. */
function deviceOf(userAgent: string): string | null {
  const nameIn = (names: typeof BROWSERS | typeof SYSTEMS): string | undefined =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const known = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter((name) => name !== undefined);
  return known.length === 0 ? null : known.join(', ');
}

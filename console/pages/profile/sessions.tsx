/** Where somebody is signed in. */
import type { ListedSession } from '../../../db/queries/sessions.ts';
import { Badge, Card, Form, Table, Time } from '../../html/components.tsx';
import type { UserVisit } from '../../page.ts';

/** By which a browser or a system is recognised in `User-Agent`; the first one that fits counts, since each names others, too. */
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

export function Sessions({
  visit: { session: own, texts },
  sessions,
}: {
  readonly visit: UserVisit;
  readonly sessions: readonly ListedSession[];
}) {
  const { profile: words } = texts;
  return (
    <Card title={words.sessions} wide>
      <Table label={words.sessions} columns={[words.device, words.signedInAt, words.lastUsed, words.action]}>
        {sessions.map(({ digest, userAgent, createdAt, lastUsedAt }) => (
          <tr>
            <th scope="row">{deviceOf(userAgent) ?? words.unknownDevice}</th>
            <td>
              <Time at={createdAt} />
            </td>
            <td>
              <Time at={lastUsedAt} />
            </td>
            <td>
              {digest.equals(own.digest) ? (
                <Badge tone="good">{words.thisSession}</Badge>
              ) : (
                <Form token={own.formToken} action="/console/profile/sessions/end">
                  <input type="hidden" name="session" value={digest.toString('base64url')} />
                  <button type="submit" class="quiet">
                    {words.endSession}
                  </button>
                </Form>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {sessions.length < 2 ? null : (
        <Form token={own.formToken} action="/console/profile/sessions/end-others">
          <button type="submit" class="danger">
            {words.endOthers}
          </button>
        </Form>
      )}
    </Card>
  );
}

/** Such as `Firefox, Linux`; null for what is not known. */
function deviceOf(userAgent: string): string | null {
  const nameIn = (names: typeof BROWSERS | typeof SYSTEMS): string | undefined =>
    names.find(([mark]) => userAgent.includes(mark))?.[1];
  const known = [nameIn(BROWSERS), nameIn(SYSTEMS)].filter((name) => name !== undefined);
  return known.length === 0 ? null : known.join(', ');
}

import { Card, Form, Problem } from '../../html/components.tsx';
import type { UserVisit } from '../../page.ts';
import { CurrentPassword } from './second-factor.tsx';

/** For those who have a password to come back with. */
export function ProviderCard({
  visit: { texts },
  name,
  isConnected,
  problem,
}: {
  readonly visit: UserVisit;
  readonly name: string;
  readonly isConnected: boolean;
  readonly problem: string | null;
}) {
  const { profile: words } = texts;
  const action = isConnected ? '/console/profile/provider/disconnect' : '/console/profile/provider';
  return (
    <Card title={words.connection(name)}>
      <Problem message={problem} />
      <p>{isConnected ? words.connected : words.notConnected}</p>
      <Form action={action}>
        <CurrentPassword label={words.current} id="provider" />
        <button type="submit" class={isConnected ? 'danger' : ''}>
          {isConnected ? words.disconnect : words.connect}
        </button>
      </Form>
    </Card>
  );
}

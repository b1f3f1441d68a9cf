import { Card, Form, Problem } from '../../html/components.tsx';
import { CurrentPassword } from './second-factor.tsx';
import { useTexts } from '../../html/page-context.ts';

/** Only users with a password can disconnect the provider: they can still sign in. */
export function ProviderCard({
  name,
  isConnected,
  problem,
}: {
  readonly name: string;
  readonly isConnected: boolean;
  readonly problem: string | null;
}) {
  const { profile: words, signIn } = useTexts();
  const action = isConnected ? '/console/profile/provider/disconnect' : '/console/profile/provider';
  return (
    <Card title={signIn.withProvider(name)}>
      <Problem of={problem} />
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

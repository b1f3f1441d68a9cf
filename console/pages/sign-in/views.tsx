/** The pages for visitors who have not signed in. */
import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../../api/services.ts';
import { Card, Field, Form, Problem } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import type { PageResult } from '../../page.ts';
import type { Texts } from '../../texts/texts.ts';

/** A page without navigation, for visitors who have not signed in. */
export function bare(title: string, content: Child, status = 200) {
  return { kind: 'page', title, content, status, bare: true } satisfies PageResult;
}

/** The page of a link that no longer works. */
export function expiredLink({ welcome: messages }: Texts) {
  return bare(messages.expiredTitle, <Card>{messages.expired}</Card>, 410);
}

/** The sign-in form, and links to the other ways to sign in. */
export function signInForm(
  { signIn: messages, registration }: Texts,
  { people: { canSendMail, providers }, site }: Pick<ApiServices, 'people' | 'site'>,
  { email = '', problem = null, status = 401 }: { email?: string; problem?: string | null; status?: number },
) {
  return bare(
    messages.title,
    <Card>
      <Problem of={problem} />
      <ProviderLinks names={providers().map(({ name }) => name)} />
      <Form action="/console/sign-in" submit={messages.submit}>
        <Field name="email" label={messages.email} type="email" value={email} required autocomplete="username" />
        <Field name="password" label={messages.password} type="password" required autocomplete="current-password" />
      </Form>
      <p class="hint">
        {canSendMail ? <a href="/console/lost-password">{messages.lostPassword}</a> : messages.askOwner}
      </p>
      {site.registration !== null && (
        <p class="hint">
          <a href="/console/register">{registration.title}</a>
        </p>
      )}
      {site.registration === null && !canSendMail && <p class="hint">{messages.invitation}</p>}
    </Card>,
    problem === null ? 200 : status,
  );
}

/** The ways to the providers. */
export function ProviderLinks({ names }: { names: readonly string[] }) {
  const { signIn: messages } = useTexts();
  return (
    <>
      {names.map((name) => (
        <p>
          <a class="button quiet wide" href={`/console/sign-in/with/${encodeURIComponent(name)}`}>
            {messages.withProvider(name)}
          </a>
        </p>
      ))}
    </>
  );
}

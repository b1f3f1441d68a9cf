/** Lets users who lost their password request a link. Requires a configured mail server. */
import { requestLinkMail } from '../../../services/people/sign-in.ts';
import type { ApiServices } from '../../../api/services.ts';
import { isEmailAddress } from '../../../domain/email-address.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { Card, Field, Form, Problem } from '../../html/components.tsx';
import { type PageResult, everybody, type Visit } from '../../page.ts';
import { bare } from './views.tsx';

export const lostPasswordPages = [
  everybody.page('/lost-password', async (visit, services) => {
    assertMail(services);
    return lostPassword(visit, { email: '', problem: null });
  }),
  everybody.form('/lost-password', async (visit, services) => {
    assertMail(services);
    const { form, texts, ip } = visit;
    const email = form.text('email');
    if (!isEmailAddress(email)) {
      return lostPassword(visit, { email, problem: texts.signIn.noAddress });
    }
    if (!(await requestLinkMail(services.database, { email, ip }))) {
      return lostPassword(visit, { email, problem: texts.signIn.tooMany });
    }
    return bare(texts.signIn.sentTitle, <Card>{texts.signIn.sent}</Card>);
  }),
];

function assertMail({ people: { canSendMail } }: ApiServices): void {
  if (!canSendMail)
    throw new ServiceError('not_found', 'This installation sends no e-mail. Ask an owner of the account for a link.');
}

function lostPassword(
  { texts: { signIn: messages } }: Visit,
  { email, problem }: { readonly email: string; readonly problem: string | null },
): PageResult {
  return bare(
    messages.lostPassword,
    <Card>
      <Problem of={problem} />
      <p>{messages.lostIntro}</p>
      <Form action="/console/lost-password" submit={messages.sendLink}>
        <Field name="email" label={messages.email} type="email" value={email} required autocomplete="username" />
      </Form>
      <p class="hint">
        <a href="/console/sign-in">{messages.back}</a>
      </p>
    </Card>,
    problem === null ? 200 : 400,
  );
}

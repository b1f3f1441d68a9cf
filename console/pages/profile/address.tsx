/** The change of a user's own e-mail address: its form on the profile, and the page of the links that confirm it. */
import { confirmAddressChange, findAddressChangeOf } from '../../../services/people/address-change.ts';
import type { AddressChange } from '../../../db/queries/address-changes.ts';
import { Card, Field, Form } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { everybody, type PageResult, type Visit } from '../../page.ts';
import { bare } from '../sign-in/views.tsx';
import { CurrentPassword } from './second-factor.tsx';

export const addressPages = [
  everybody.page('/address/{address_token}', async (visit, { database }) => {
    const change = await findAddressChangeOf(database, tokenOf(visit));
    return change ? confirmation(visit, change) : over(visit);
  }),
  everybody.form('/address/{address_token}', async (visit, { database }) => {
    const { address: messages } = visit.texts;
    const result = await confirmAddressChange(database, tokenOf(visit));
    if (result === 'over') return over(visit);
    return bare(messages.title, <Card>{messages[result]}</Card>);
  }),
];

function tokenOf({ params }: Visit): string {
  return params['address_token'] ?? '';
}

function confirmation(
  { path, texts: { address: messages } }: Visit,
  { oldEmail, newEmail }: AddressChange,
): PageResult {
  return bare(
    messages.title,
    <Card>
      <Form action={path} submit={messages.confirm}>
        <p>{messages.question(oldEmail, newEmail)}</p>
      </Form>
    </Card>,
  );
}

function over({ texts: { address: messages, welcome } }: Visit): PageResult {
  return bare(welcome.expiredTitle, <Card>{messages.over}</Card>, 410);
}

export function ChangeAddress() {
  const { address: messages, common } = useTexts();
  return (
    <Card title={messages.title}>
      <Form action="/console/profile/address" submit={common.save}>
        <p class="soft">{messages.explained}</p>
        <Field name="email" label={messages.newAddress} type="email" required autocomplete="off" />
        <CurrentPassword id="address" />
      </Form>
    </Card>
  );
}

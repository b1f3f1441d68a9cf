/** The second factor on the profile, and its recovery codes. */
import {
  newSecondFactorSecret,
  decryptOffer,
  encryptOffer,
  secondFactorAddress,
} from '../../../services/people/second-factor.ts';
import type { ApiServices } from '../../../api/services.ts';
import { ButtonLink, Card, Copyable, Field, Form } from '../../html/components.tsx';
import { QrCode } from '../../html/qr-code.tsx';
import { showPage, type UserVisit } from '../../page.ts';
import { useTexts } from '../../html/page-context.ts';

/** Shows the codes, which no other page shows. */
export function recoveryCodes({ texts }: UserVisit, codes: readonly string[]) {
  const { profile: messages, common } = texts;
  return showPage(
    messages.recoveryCodes,
    <Card>
      <p>{messages.keepCodes}</p>
      <ul class="codes">
        {codes.map((code) => (
          <li>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div class="row">
        <button type="button" class="quiet" data-copy={codes.join('\n')} data-copied={common.copied}>
          {common.copy}
        </button>
        <ButtonLink href="/console/profile" label={messages.codesKept} />
      </div>
    </Card>,
  );
}

interface AddProps {
  readonly visit: UserVisit;
  readonly encryption: ApiServices['encryption'];
}

export function AddSecondFactor({ visit: { user, texts, session, form }, encryption }: AddProps) {
  const { profile: messages, common } = texts;
  // Keeps the secret after a mistyped code, so that the entry in the app stays valid.
  const secret = decryptOffer(encryption, session, form.text('offer')) ?? newSecondFactorSecret();
  const address = secondFactorAddress(secret, { issuer: texts.product, email: user.email });
  return (
    <Card title={common.secondFactor}>
      <Form action="/console/profile/second-factor" submit={messages.turnOn}>
        <p>
          {messages.addSecondFactor} <a href={address}>{messages.openApp}</a>
        </p>
        <QrCode text={address} label={messages.qrCode} />
        <input type="hidden" name="offer" value={encryptOffer(encryption, session, secret)} />
        <Copyable text={secret} label={messages.secret} />
        <Field name="code" label={texts.signIn.code} required autocomplete="one-time-code" inputMode="numeric" />
        <CurrentPassword id="second-factor" />
      </Form>
    </Card>
  );
}

export function OwnSecondFactor({ codesLeft }: { codesLeft: number }) {
  const { profile: messages, common } = useTexts();
  return (
    <>
      <Card title={common.secondFactor}>
        <p>{messages.hasSecondFactor}</p>
        <Form action="/console/profile/second-factor/remove" submit={messages.removeSecondFactor} look="danger">
          <CurrentPassword id="second-factor" />
        </Form>
      </Card>
      <Card title={messages.recoveryCodes}>
        <p>{messages.codesLeft(codesLeft)}</p>
        <Form action="/console/profile/recovery-codes" submit={messages.newCodes}>
          <CurrentPassword id="recovery-codes" />
        </Form>
      </Card>
    </>
  );
}

/** @param id distinguishes the fields of several forms on the page */
export function CurrentPassword({ id }: { id: string }) {
  const { profile: messages } = useTexts();
  return (
    <Field
      name="current"
      id={`field-current-${id}`}
      label={messages.current}
      type="password"
      required
      autocomplete="current-password"
    />
  );
}

/** The second factor on the profile, and its recovery codes. */
import { newSecondFactorSecret, sealOffer, secondFactorAddress } from '../../../api/services/people/second-factor.ts';
import type { ApiServices } from '../../../api/services/services.ts';
import { Card, Copyable, Field, Form, Problem } from '../../html/components.tsx';
import { QrCode } from '../../html/qr-code.tsx';
import type { PageResult, UserVisit } from '../../page.ts';
import { useTexts } from '../../html/page-context.ts';

/** Shows the codes. No other page shows them. */
export function recoveryCodes({ texts }: UserVisit, codes: readonly string[]) {
  const { profile: words } = texts;
  return {
    kind: 'page',
    title: words.recoveryCodes,
    content: (
      <Card>
        <p>{words.keepCodes}</p>
        <ul class="codes">
          {codes.map((code) => (
            <li>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <div class="row">
          <button type="button" class="quiet" data-copy={codes.join('\n')} data-copied={texts.common.copied}>
            {texts.common.copy}
          </button>
          <a class="button" href="/console/profile">
            {words.codesKept}
          </a>
        </div>
      </Card>
    ),
  } satisfies PageResult;
}

export function AddSecondFactor({
  visit: { user, texts, session },
  sealer,
  offered,
  problem,
}: Pick<ApiServices, 'sealer'> & {
  readonly visit: UserVisit;
  /** The secret offered before, so that a mistyped code does not need a new entry in the app. */
  readonly offered: string | null;
  readonly problem: string | null;
}) {
  const { profile: words, common } = texts;
  const secret = offered ?? newSecondFactorSecret();
  const address = secondFactorAddress(secret, user.email);
  return (
    <Card title={common.secondFactor}>
      <Problem of={problem} />
      <Form action="/console/profile/second-factor">
        <p>
          {words.addSecondFactor} <a href={address}>{words.openApp}</a>
        </p>
        <QrCode text={address} label={words.qrCode} />
        <input type="hidden" name="offer" value={sealOffer(sealer, session, secret)} />
        <Copyable text={secret} label={words.secret} />
        <Field name="code" label={texts.signIn.code} required autocomplete="one-time-code" inputMode="numeric" />
        <CurrentPassword label={words.current} id="second-factor" />
        <button type="submit">{words.turnOn}</button>
      </Form>
    </Card>
  );
}

export function OwnSecondFactor({
  codesLeft,
  problem,
  codesProblem,
}: {
  readonly codesLeft: number;
  readonly problem: string | null;
  readonly codesProblem: string | null;
}) {
  const { profile: words, common } = useTexts();
  return (
    <>
      <Card title={common.secondFactor}>
        <Problem of={problem} />
        <p>{words.hasSecondFactor}</p>
        <Form action="/console/profile/second-factor/remove">
          <CurrentPassword label={words.current} id="second-factor" />
          <button type="submit" class="danger">
            {words.removeSecondFactor}
          </button>
        </Form>
      </Card>
      <Card title={words.recoveryCodes}>
        <Problem of={codesProblem} />
        <p>{words.codesLeft(codesLeft)}</p>
        <Form action="/console/profile/recovery-codes">
          <CurrentPassword label={words.current} id="recovery-codes" />
          <button type="submit">{words.newCodes}</button>
        </Form>
      </Card>
    </>
  );
}

/** @param id distinguishes the fields of several forms on the page */
export function CurrentPassword({ label, id }: { readonly label: string; readonly id: string }) {
  return (
    <Field
      name="current"
      id={`field-current-${id}`}
      label={label}
      type="password"
      required
      autocomplete="current-password"
    />
  );
}

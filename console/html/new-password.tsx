/** The fields of every form that sets a password, and the message of each fault of a password. */
import { PASSWORD_LENGTH } from '../../services/people/passwords.ts';
import type { passwordFault } from '../../services/people/sign-in.ts';
import type { Texts } from '../texts/texts.ts';
import { Field } from './components.tsx';
import { useTexts } from './page-context.ts';

/** Sends `password` and `repeated`. */
export function NewPassword() {
  const { welcome: messages } = useTexts();
  return (
    <>
      <Field
        name="password"
        label={messages.password}
        type="password"
        hint={messages.hint(PASSWORD_LENGTH.min)}
        required
        autocomplete="new-password"
      />
      <Field name="repeated" label={messages.repeat} type="password" required autocomplete="new-password" />
    </>
  );
}

export function passwordFaultText({ welcome }: Texts, fault: NonNullable<ReturnType<typeof passwordFault>>): string {
  if (fault === 'different') return welcome.different;
  return fault === 'too short' ? welcome.tooShort(PASSWORD_LENGTH.min) : welcome.tooLong(PASSWORD_LENGTH.max);
}

/**
 * Registration of strangers: an attempt, the verification of its address, and the account. See
 * `db/schema/0008-people.sql`.
 *
 * - The answer to an attempt, and the work for it, is the same whether or not a user has the address. The sender of the
 *   e-mail looks up the user.
 * - A link verifies the address, and the password of the attempt proves that the reader of the mailbox made the attempt.
 *   Without the password, a stranger could register the address of another person, who would follow the link into an
 *   account whose password the stranger knows.
 */
import {
  findRegistrationOfLink,
  findRegistrationById,
  finishRegistration,
  holdRegistration,
  insertRegistration,
  lockOpenRegistration,
  type NewRegistration,
  refuseRegistration,
  type Registration,
  setApplicant,
  setRegistrationLink,
} from '../../db/queries/registrations.ts';
import { insertAccount } from '../../db/queries/accounts.ts';
import type { Database } from '../../db/database.ts';
import { insertIdentity } from '../../db/queries/identities.ts';
import { orderMail } from '../../db/queries/mails.ts';
import { type AttemptSubject, claimSignInAttempts } from '../../db/queries/sessions.ts';
import { addMember, insertUser, setLanguage, type User } from '../../db/queries/users.ts';
import { digestToken } from '../../domain/bearer-token.ts';
import { ServiceError } from '../../domain/errors.ts';
import { isId, newId } from '../../domain/ids.ts';
import { normalAddress } from '../../domain/normal-address.ts';
import type { RegistrationReason } from '../../domain/registration.ts';
import { networkOf, subnetOf } from './network.ts';
import type { Identity } from './identity-provider.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { findBlocks } from './registration-blocks.ts';
import {
  type Applicant,
  type CaptchaReason,
  checkCaptcha,
  CHECKS,
  type RegistrationServices,
  type VerifyCaptcha,
} from './registration-rules.ts';
import { newToken } from './sessions.ts';
import { giveSignupCredit } from './signup-credit.ts';
import { orderWelcome } from './sign-in.ts';

const WINDOW_SECONDS = 15 * 60;
/** A hash and an e-mail each. */
const MAX_FROM_NETWORK = 10;
const MAX_OF_ADDRESS = 3;
/** The most attempts to complete one registration; each tries a password or a captcha. */
const MAX_COMPLETIONS = 10;
const LIFETIME_SECONDS = 24 * 3600;
/** The source of a registration without a provider. */
const PASSWORD_SOURCE = 'password';

/** Returns why an attempt is refused, or null if it is accepted. */
async function decideRegistration(
  services: RegistrationServices,
  applicant: Applicant,
): Promise<RegistrationReason | null> {
  for (const check of CHECKS) {
    const reason = await check(services, applicant);
    if (reason !== null) return reason;
  }
  return null;
}

export interface PasswordApplicant extends Pick<Registration, 'name' | 'language' | 'termsVersion'> {
  readonly email: string;
  readonly password: string;
  readonly ip: string;
  readonly verifyCaptcha: VerifyCaptcha;
}

export type RegistrationAnswer = 'too many' | { readonly id: string; readonly refusal: RegistrationReason | null };

/** Records an attempt with a password, and orders the e-mail that verifies its address. */
export async function register(
  services: RegistrationServices,
  { email, password, ip, verifyCaptcha, ...details }: PasswordApplicant,
): Promise<RegistrationAnswer> {
  const applicant: Applicant = { email: email.toLowerCase(), source: PASSWORD_SOURCE, ip };
  if (await isTooFast(services.database, applicant)) return 'too many';
  const refusal = (await decideRegistration(services, applicant)) ?? (await checkCaptcha(verifyCaptcha));
  const passwordHash = await hashPassword(password);
  return services.database.transaction(async (transaction) => {
    const id = await record(transaction, applicant, {
      ...details,
      passwordHash,
      refusal,
      identity: null,
      linkDigest: null,
    });
    if (refusal === null) await orderVerification(transaction, { id, email: applicant.email, ...details });
    return { id, refusal };
  });
}

/**
 * Orders the e-mail that verifies the address again, once: the first one may be lost. The answer is the same whatever
 * became of the registration.
 *
 * @returns false when there were too many requests
 */
export async function resendVerification(
  { database }: Pick<RegistrationServices, 'database'>,
  { id, ip }: { readonly id: string; readonly ip: string },
): Promise<boolean> {
  const registration = isId('registration', id) ? await findRegistrationById(database, id) : null;
  if (!registration || registration.email === null || registration.source !== PASSWORD_SOURCE) return true;
  const { email, language } = registration;
  if (await isTooFast(database, { email, ip })) return false;
  await orderVerification(database, { id, email, language, again: true });
  return true;
}

/** @param token binds the registration to the browser of the stranger, who completes it with {@link confirm} */
export async function registerWithProvider(
  services: RegistrationServices,
  { identity, email, source, ip, language, token }: ProviderApplicant,
): Promise<RegistrationAnswer> {
  const applicant: Applicant = { email, source, ip };
  if (await isTooFast(services.database, applicant)) return 'too many';
  const refusal = await decideRegistration(services, applicant);
  const id = await record(services.database, applicant, {
    identity,
    refusal,
    language,
    name: '',
    termsVersion: null,
    passwordHash: null,
    linkDigest: digestToken(token),
  });
  return { id, refusal };
}

export interface ProviderApplicant extends Applicant {
  readonly identity: Pick<Identity, 'issuer' | 'subject'>;
  readonly language: string;
  readonly token: string;
}

async function record(
  database: Database,
  { email, source, ip }: Applicant,
  {
    refusal: reason,
    ...details
  }: Pick<NewRegistration, 'name' | 'language' | 'termsVersion' | 'passwordHash' | 'identity' | 'linkDigest'> & {
    readonly refusal: RegistrationReason | null;
  },
): Promise<string> {
  const id = newId('registration');
  await insertRegistration(database, {
    ...details,
    id,
    email,
    normalAddressDigest: digestToken(normalAddress(email)),
    network: subnetOf(ip),
    source,
    reason,
    lifetimeSeconds: LIFETIME_SECONDS,
  });
  return id;
}

function orderVerification(
  database: Database,
  {
    id,
    email,
    language,
    again = false,
  }: Pick<Registration, 'id' | 'language'> & {
    readonly email: string;
    readonly again?: boolean;
  },
): Promise<void> {
  const facts = { registration: id, language };
  const reference = `registration:${id}${again ? ':again' : ''}`;
  return orderMail(database, { kind: 'registration', address: email, reference, facts });
}

/**
 * Makes the link that verifies an address, when its e-mail is sent. The link replaces an earlier one.
 *
 * @param known the user who has the address; null if nobody has it
 * @returns null when the registration is closed; `known address` when it is refused because a user has the address
 */
export async function makeRegistrationLink(
  database: Database,
  id: string,
  known: User | null,
): Promise<{ readonly path: string } | 'known address' | null> {
  if (known) await refuseRegistration(database, id, 'known_address');
  const registration = await findRegistrationById(database, id);
  if (registration?.reason === 'known_address') return 'known address';
  if (registration?.state !== 'waiting_for_verification') return null;
  const token = newToken();
  await setRegistrationLink(database, id, digestToken(token));
  return { path: `/console/register/${token}` };
}

/** The open registration of a link; null if the link no longer works. */
export function findRegistration(database: Database, token: string): Promise<Registration | null> {
  return findRegistrationOfLink(database, digestToken(token));
}

/**
 * `held`: an operator approves first. `over`: the link no longer works, or a user has the address meanwhile. The issuer is null for a
 * registration with a password.
 */
export type Admission = { readonly user: User; readonly issuer: string | null } | 'held' | 'over';

/** Verifies the address by a link and the password of the attempt. */
export async function verify(
  services: RegistrationServices,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<Admission | 'wrong' | 'too many'> {
  const { database } = services;
  const registration = await findRegistration(database, token);
  if (!registration || registration.passwordHash === null) return 'over';
  if (await isCompletedTooOften(database, registration)) return 'too many';
  if (!(await isPassword(password, registration.passwordHash))) return 'wrong';
  return admit(services, registration);
}

/**
 * Completes a registration with a provider in the browser that started it.
 *
 * @returns why the captcha is refused: another attempt may follow
 */
export async function confirm(
  services: RegistrationServices,
  token: string,
  { verifyCaptcha, ...applicant }: ProviderForm,
): Promise<Admission | 'too many' | CaptchaReason> {
  const { database } = services;
  const registration = await findRegistration(database, token);
  if (!registration || registration.subject === null) return 'over';
  if (await isCompletedTooOften(database, registration)) return 'too many';
  const refusal = await checkCaptcha(verifyCaptcha);
  if (refusal !== null) return refusal;
  await setApplicant(database, registration.id, applicant);
  return admit(services, registration);
}

/** What a person who comes from a provider sends. */
export interface ProviderForm extends Pick<Registration, 'name' | 'termsVersion'> {
  readonly verifyCaptcha: VerifyCaptcha;
}

async function admit(services: RegistrationServices, { id, email, network, issuer }: Registration): Promise<Admission> {
  // Only now does the reader of the mailbox learn of a block, not a stranger who tries addresses.
  if (email === null || (await findBlocks(services.database, { email, network })).size > 0) {
    await refuseRegistration(services.database, id, 'blocked');
    return 'over';
  }
  if (services.site.registration?.needsApproval === true) {
    await holdRegistration(services.database, id, 'approval');
    return 'held';
  }
  const made = await completeRegistration(services, id);
  return made ? { user: made.user, issuer } : 'over';
}

/**
 * Creates the user and the account of a registration whose address is verified.
 *
 * @returns null if the registration is closed, or a user has the address meanwhile
 */
export function completeRegistration(
  services: RegistrationServices,
  id: string,
): Promise<{ readonly user: User; readonly accountId: string } | null> {
  return services.database.transaction(async (transaction) => {
    const registration = await lockOpenRegistration(transaction, id);
    if (!registration || registration.email === null) return null;
    const { email, name, language, passwordHash } = registration;
    const user = await insertUser(transaction, { id: newId('user'), email, name, staffRole: null, passwordHash });
    if (!user) {
      await refuseRegistration(transaction, id, 'known_address');
      return null;
    }
    await setLanguage(transaction, user.id, language);
    await connectIdentity(transaction, registration, user.id);
    const accountId = newId('account');
    await insertAccount(transaction, { id: accountId, name, email });
    await addMember(transaction, { accountId, userId: user.id, role: 'owner' });
    await giveSignupCredit(transaction, services.site, { ...registration, email, accountId });
    await finishRegistration(transaction, id, { accountId, userId: user.id });
    await orderWelcome(transaction, user, registration.state === 'waiting_for_approval' ? { approved: 'yes' } : {});
    return { user: { ...user, language }, accountId };
  });
}

async function connectIdentity(
  transaction: Database,
  { issuer, subject }: Registration,
  userId: string,
): Promise<void> {
  if (issuer === null || subject === null) return;
  if (!(await insertIdentity(transaction, userId, { issuer, subject })))
    throw new ServiceError(
      'idempotency_conflict',
      'The identity belongs to a user already. Sign in with the provider.',
    );
}

async function isCompletedTooOften(database: Database, { id }: Registration): Promise<boolean> {
  const subject: AttemptSubject = ['completions of registration', id];
  return !(await claimSignInAttempts(database, [{ subject, most: MAX_COMPLETIONS, windowSeconds: LIFETIME_SECONDS }]));
}

async function isTooFast(database: Database, { email, ip }: Pick<Applicant, 'email' | 'ip'>): Promise<boolean> {
  return !(await claimSignInAttempts(database, [
    { subject: ['registrations from network', networkOf(ip)], most: MAX_FROM_NETWORK, windowSeconds: WINDOW_SECONDS },
    { subject: ['registrations of address', email], most: MAX_OF_ADDRESS, windowSeconds: WINDOW_SECONDS },
  ]));
}

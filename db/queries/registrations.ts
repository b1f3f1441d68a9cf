/** Registrations of strangers: see `db/schema/0008-people.sql`. */
import type { RegistrationReason, RegistrationState } from '../../domain/registration.ts';
import { type Database, secondsFromNow } from '../database.ts';
import { camelCased, columnsOf, type RowOf } from '../row.ts';
import type { IdentityKey } from './identities.ts';

export interface Registration {
  readonly id: string;
  readonly createdAt: Date;
  /** In lower case; null once it has an account. */
  readonly email: string | null;
  readonly normalAddressDigest: Buffer;
  /** The /24 or /64 of the client. */
  readonly network: string;
  /** `password`, or the name of the provider. */
  readonly source: string;
  readonly state: RegistrationState;
  /** Why it is refused, or waits for approval; null if it is neither. */
  readonly reason: RegistrationReason | null;
  /** Null if the operator has no terms. */
  readonly termsVersion: string | null;
  readonly name: string;
  readonly language: string;
  /** Null for a person who registers with a provider, and once the registration is closed. */
  readonly passwordHash: string | null;
  /** The identity at a provider; null for a person with a password, and once the registration is closed. */
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly accountId: string | null;
  readonly userId: string | null;
}

export interface NewRegistration
  extends
    Pick<Registration, 'id' | 'normalAddressDigest' | 'network' | 'source' | 'reason' | 'name' | 'language'>,
    Pick<Registration, 'termsVersion' | 'passwordHash'> {
  readonly email: string;
  readonly identity: IdentityKey | null;
  /** Null until the link is made. */
  readonly linkDigest: Buffer | null;
  readonly lifetimeSeconds: number;
}

type RegistrationRow = RowOf<Registration>;

/** The columns of a closed registration without its secrets. */
const WITHOUT_SECRETS = { password_hash: null, issuer: null, subject: null, link_digest: null } as const;

/** Records an attempt. A reason refuses it from the start. */
export async function insertRegistration(
  database: Database,
  { lifetimeSeconds, identity, linkDigest, passwordHash, ...registration }: NewRegistration,
): Promise<void> {
  const now = database.fn.now();
  const isRefused = registration.reason !== null;
  await database('registrations').insert({
    ...columnsOf(registration),
    expires_at: secondsFromNow(database, lifetimeSeconds),
    terms_accepted_at: registration.termsVersion === null ? null : now,
    ...(isRefused
      ? { state: 'refused', closed_at: now }
      : {
          state: 'waiting_for_verification',
          ...columnsOf({ passwordHash, linkDigest, issuer: identity?.issuer, subject: identity?.subject }),
        }),
  });
}

export async function findRegistrationById(database: Database, id: string): Promise<Registration | null> {
  const row = await database<RegistrationRow>('registrations').where({ id }).first();
  return row ? camelCased(row) : null;
}

/** Finds the open registration of a link; null if there is none, or it has expired. */
export async function findRegistrationOfLink(database: Database, digest: Buffer): Promise<Registration | null> {
  const row = await unverified(database).where({ link_digest: digest }).first<RegistrationRow>();
  return row ? camelCased(row) : null;
}

/** Replaces the link of an open registration. */
export async function setRegistrationLink(database: Database, id: string, digest: Buffer): Promise<void> {
  await unverified(database).where({ id }).update({ link_digest: digest });
}

/** Records the name and the accepted terms of a person who registers with a provider. */
export async function setApplicant(
  database: Database,
  id: string,
  { name, termsVersion }: Pick<Registration, 'name' | 'termsVersion'>,
): Promise<void> {
  const accepted = termsVersion === null ? null : database.fn.now();
  await unverified(database).where({ id }).update({ name, terms_version: termsVersion, terms_accepted_at: accepted });
}

/** Finds an open registration, and locks it until the transaction ends; null if it is closed or unknown. */
export async function lockOpenRegistration(transaction: Database, id: string): Promise<Registration | null> {
  const row = await transaction<RegistrationRow>('registrations')
    .where({ id })
    .whereNull('closed_at')
    .whereRaw(`(state = 'waiting_for_approval' OR expires_at > now())`)
    .forUpdate()
    .first();
  return row ? camelCased(row) : null;
}

/** Lets a verified registration wait for the approval of an operator. Its link no longer works. */
export async function holdRegistration(database: Database, id: string, reason: RegistrationReason): Promise<void> {
  await database('registrations').where({ id }).update({ state: 'waiting_for_approval', reason, link_digest: null });
}

export async function refuseRegistration(database: Database, id: string, reason: RegistrationReason): Promise<void> {
  await database('registrations')
    .where({ id })
    .whereNull('closed_at')
    .update({ state: 'refused', reason, closed_at: database.fn.now(), ...WITHOUT_SECRETS });
}

/** Closes a registration that has got its account. */
export async function finishRegistration(
  database: Database,
  id: string,
  { accountId, userId }: { readonly accountId: string; readonly userId: string },
): Promise<void> {
  await database('registrations')
    .where({ id })
    .update({
      ...WITHOUT_SECRETS,
      state: 'done',
      email: null,
      account_id: accountId,
      user_id: userId,
      closed_at: database.fn.now(),
    });
}

/** Closes at most `limit` registrations whose links have expired. @returns their number */
export async function expireRegistrations(database: Database, limit: number): Promise<number> {
  const { rowCount } = await database.raw<{ rowCount: number }>(
    /* sql */ `
    UPDATE registrations SET state = 'expired', closed_at = now(),
      password_hash = NULL, issuer = NULL, subject = NULL, link_digest = NULL
    WHERE id = ANY (ARRAY(
      SELECT id FROM registrations WHERE state = 'waiting_for_verification' AND expires_at <= now()
      LIMIT :limit FOR UPDATE SKIP LOCKED))`,
    { limit },
  );
  return rowCount;
}

/** The registrations whose links work. */
function unverified(database: Database) {
  return database('registrations').where({ state: 'waiting_for_verification' }).whereRaw('expires_at > now()');
}

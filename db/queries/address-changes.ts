/** Changes of users' e-mail addresses that both mailboxes confirm: see `db/schema/0008-people.sql`. */
import { type Database, secondsFromNow } from '../database.ts';

/** The mailbox that confirms. */
export type AddressSide = 'old' | 'new';

export interface AddressChange {
  readonly userId: string;
  readonly oldEmail: string;
  readonly newEmail: string;
  /** Whether both mailboxes have confirmed. */
  readonly isConfirmed: boolean;
}

/** Starts a change, which replaces an earlier one of the user. @param email in lower case */
export async function saveAddressChange(
  database: Database,
  {
    userId,
    email,
    lifetimeSeconds,
  }: { readonly userId: string; readonly email: string; readonly lifetimeSeconds: number },
): Promise<void> {
  await database('address_changes')
    .insert({
      user_id: userId,
      email,
      expires_at: secondsFromNow(database, lifetimeSeconds),
      old_digest: null,
      new_digest: null,
      old_confirmed_at: null,
      new_confirmed_at: null,
    })
    .onConflict('user_id')
    .merge();
}

/** Replaces the link of a mailbox. */
export async function setAddressLink(
  database: Database,
  { userId, side, digest }: { readonly userId: string; readonly side: AddressSide; readonly digest: Buffer },
): Promise<void> {
  await database('address_changes')
    .where({ user_id: userId })
    .update({ [`${side}_digest`]: digest });
}

/** Finds the open change of a user; null if there is none. */
export async function findAddressChange(database: Database, userId: string): Promise<AddressChange | null> {
  return findOpen(database, /* sql */ `users.id = :value`, userId);
}

/** Finds the open change by one of its two links; null if there is none. */
export function findAddressChangeOfLink(database: Database, digest: Buffer): Promise<AddressChange | null> {
  return findOpen(database, /* sql */ `:value IN (old_digest, new_digest)`, digest);
}

/** Records the confirmation of the mailbox that has the link. The link does not work again. */
export async function confirmAddressLink(database: Database, digest: Buffer): Promise<void> {
  for (const side of ['old', 'new'] as const) {
    await database('address_changes')
      .where({ [`${side}_digest`]: digest })
      .update({ [`${side}_digest`]: null, [`${side}_confirmed_at`]: database.fn.now() });
  }
}

export async function deleteAddressChange(database: Database, userId: string): Promise<void> {
  await database('address_changes').where({ user_id: userId }).delete();
}

/** @param condition SQL from this file, with the binding `value` */
async function findOpen(database: Database, condition: string, value: string | Buffer): Promise<AddressChange | null> {
  const { rows } = await database.raw<{ rows: AddressChange[] }>(
    /* sql */ `
    SELECT users.id AS "userId", users.email AS "oldEmail", address_changes.email AS "newEmail",
      num_nonnulls(old_confirmed_at, new_confirmed_at) = 2 AS "isConfirmed"
    FROM address_changes JOIN users ON users.id = user_id
    WHERE ${condition} AND expires_at > now() AND disabled_at IS NULL`,
    { value },
  );
  return rows[0] ?? null;
}

/** The states of an account. A closed or merged account is also suspended, for ever. */
export type AccountState = 'open' | 'suspended' | 'account_closed' | 'account_merged';

export function accountStateOf({
  suspendedAt,
  closedAt,
  mergedInto,
}: {
  readonly suspendedAt: Date | null;
  readonly closedAt: Date | null;
  readonly mergedInto: string | null;
}): AccountState {
  if (closedAt !== null) return 'account_closed';
  if (mergedInto !== null) return 'account_merged';
  return suspendedAt === null ? 'open' : 'suspended';
}

import type { AdminRole } from '../../../domain/admin-role.ts';
import type { UserVisit } from '../../page.ts';

/** Whether somebody of the staff has one of these roles: for what a page shows to some only. */
export function may({ user }: UserVisit, roles: readonly AdminRole[]): boolean {
  return user.staffRole !== null && roles.includes(user.staffRole);
}

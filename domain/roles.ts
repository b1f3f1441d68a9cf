/** Roles and their permissions, for the administration, the console and the database. */

/** The roles of admin tokens, and of the gateway's staff in the console. */
export const ADMIN_ROLES = ['operator', 'finance', 'readonly'] as const;

export type AdminRole = (typeof ADMIN_ROLES)[number];

/** The roles of the people of an account, in the console. */
export const MEMBER_ROLES = ['owner', 'developer', 'finance'] as const;

export type MemberRole = (typeof MEMBER_ROLES)[number];

/** The permissions of the staff, and the roles that include each. */
export const STAFF_PERMISSIONS = {
  /** Read everything except prompts. */
  read: ADMIN_ROLES,
  /** Move money by hand, set the price lists of customers, close months, and acknowledge findings. */
  moveMoney: ['operator', 'finance'],
  /** Change everything else, and read prompts. */
  operate: ['operator'],
} as const satisfies Readonly<Record<string, readonly AdminRole[]>>;

export type StaffPermission = keyof typeof STAFF_PERMISSIONS;

/** The permissions of members for their account, and the roles that include each. */
const MEMBER_PERMISSIONS = {
  see: MEMBER_ROLES,
  /** Use models, keys, files and webhooks. */
  develop: ['owner', 'developer'],
  /** See the balance and its entries. */
  pay: ['owner', 'finance'],
  /** Manage the members of the account. */
  own: ['owner'],
} as const satisfies Readonly<Record<string, readonly MemberRole[]>>;

export type MemberPermission = keyof typeof MEMBER_PERMISSIONS;

/** @param role null for users who are not staff */
export function hasStaffPermission(role: AdminRole | null, permission: StaffPermission): boolean {
  const roles: readonly (AdminRole | null)[] = STAFF_PERMISSIONS[permission];
  return roles.includes(role);
}

/** The roles that include the permission. */
export function rolesWith(permission: MemberPermission): readonly MemberRole[] {
  return MEMBER_PERMISSIONS[permission];
}

export function hasMemberPermission(role: MemberRole, permission: MemberPermission): boolean {
  return rolesWith(permission).includes(role);
}

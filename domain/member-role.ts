/** The roles of an account's members, and what each may do in the console. */

/** `owner`: everything, and says who else belongs to the account. `developer`: uses it. `finance`: sees what it costs. */
export const MEMBER_ROLES = ['owner', 'developer', 'finance'] as const;

export type MemberRole = (typeof MEMBER_ROLES)[number];

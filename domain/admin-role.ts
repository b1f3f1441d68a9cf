/** The roles of admin tokens, and what each may do. */

/** `operator`: everything. `finance`: reads everything, and moves money. `readonly`: reads everything. */
export const ADMIN_ROLES = ['operator', 'finance', 'readonly'] as const;

export type AdminRole = (typeof ADMIN_ROLES)[number];

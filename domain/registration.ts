/** Registrations of strangers: see `db/schema/0008-people.sql`. */

export const REGISTRATION_STATES = [
  'waiting_for_verification',
  'waiting_for_approval',
  'done',
  'refused',
  'expired',
] as const;
export type RegistrationState = (typeof REGISTRATION_STATES)[number];

/** Why a registration is refused or waits for approval, for operators and, except a known address, for the stranger. */
export const REGISTRATION_REASONS = [
  /** The operator admits other domains only. */
  'domain',
  /** A service gives everybody a mailbox at the domain for some minutes. */
  'disposable_address',
  /** The captcha was not solved, or its service gave no valid answer. */
  'captcha_failed',
  'captcha_unavailable',
  /** An operator blocked the domain or the network, or the address, which the stranger never learns. */
  'blocked',
  /** An operator rejected the registration. */
  'rejected',
  /** The operator approves each registration. */
  'approval',
  /** A user has the address. The stranger is told by e-mail alone. */
  'known_address',
] as const;
export type RegistrationReason = (typeof REGISTRATION_REASONS)[number];

export const BLOCK_KINDS = ['address', 'domain', 'network'] as const;
export type BlockKind = (typeof BLOCK_KINDS)[number];

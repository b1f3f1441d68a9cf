/** The kinds of e-mails. */
import type { MemberPermission } from './roles.ts';

/**
 * Each kind with its class. People choose which notices they get. Nobody can switch off e-mails about security, which
 * also are the e-mails that people requested.
 */
export const MAIL_KINDS = {
  password_link: 'security',
  membership: 'security',
  registration: 'security',
  registration_rejected: 'security',
  address_change: 'security',
  new_device: 'security',
  password_changed: 'security',
  account_closed: 'security',
  welcome: 'notice',
  balance_low: 'notice',
  top_up_failed: 'notice',
  document_issued: 'notice',
  month_statement: 'notice',
  plan_paid: 'notice',
  plan_payment_failed: 'notice',
  plan_ending: 'notice',
  plan_ended: 'notice',
  key_expiring: 'notice',
  key_limit_near: 'notice',
  late_result: 'notice',
  webhook_failing: 'notice',
  webhook_disabled: 'notice',
} as const satisfies Readonly<Record<string, 'security' | 'notice'>>;

export type MailKind = keyof typeof MAIL_KINDS;

/** The kinds that people can switch off. */
export type NoticeKind = {
  [Kind in MailKind]: (typeof MAIL_KINDS)[Kind] extends 'notice' ? Kind : never;
}[MailKind];

/** In the order of the profile. */
export const NOTICES: readonly NoticeKind[] = Object.keys(MAIL_KINDS).filter(isNotice);

export function isNotice(kind: string): kind is NoticeKind {
  const classes: Readonly<Record<string, string>> = MAIL_KINDS;
  return Object.hasOwn(classes, kind) && classes[kind] === 'notice';
}

/** The members of an account who get its notices: those who may see their subject in the console. */
export const NOTICE_READERS = {
  balance_low: 'pay',
  top_up_failed: 'pay',
  document_issued: 'pay',
  month_statement: 'pay',
  plan_paid: 'pay',
  plan_payment_failed: 'pay',
  plan_ending: 'pay',
  plan_ended: 'pay',
  key_expiring: 'develop',
  key_limit_near: 'develop',
  late_result: 'develop',
  webhook_failing: 'develop',
  webhook_disabled: 'develop',
} as const satisfies Readonly<Record<Exclude<NoticeKind, 'welcome'>, MemberPermission>>;

/** The kinds that the members of an account get. */
export type AccountNotice = keyof typeof NOTICE_READERS;

export const MAIL_OUTCOMES = ['waiting', 'sent', 'refused', 'given_up', 'skipped'] as const;

export type MailOutcome = (typeof MAIL_OUTCOMES)[number];

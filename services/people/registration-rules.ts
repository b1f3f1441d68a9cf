/** The rules of registration: what refuses an attempt. */
import type { Site } from '../../catalogue/site.ts';
import type { SignupRules } from '../../catalogue/signup.ts';
import type { Database } from '../../db/database.ts';
import { domainOf } from '../../domain/normal-address.ts';
import type { RegistrationReason } from '../../domain/registration.ts';
import type { CaptchaVerdict } from '../../providers/captcha.ts';
import { isDisposable } from './disposable-address.ts';
import { findBlocks } from './registration-blocks.ts';

export interface RegistrationServices {
  readonly database: Database;
  readonly site: Pick<Site, 'registration' | 'documents' | keyof SignupRules>;
}

/** A stranger, before anything is recorded. */
export interface Applicant {
  /** In lower case. */
  readonly email: string;
  /** `password`, or the name of the provider. */
  readonly source: string;
  readonly ip: string;
}

/** Checks the captcha of a form; null if the operator has none. */
export type VerifyCaptcha = (() => Promise<CaptchaVerdict>) | null;

/**
 * Returns why an attempt is refused, or null. The stranger sees the reason, so it must not depend on whether a user has
 * the address.
 */
type Check = (services: RegistrationServices, applicant: Applicant) => Promise<RegistrationReason | null>;

/** The first refusal counts. */
export const CHECKS: readonly Check[] = [checkDomain, checkBlocks, checkDisposable];

async function checkDomain({ site }: RegistrationServices, { email }: Applicant): Promise<RegistrationReason | null> {
  const domains = site.registration?.domains ?? null;
  return domains === null || domains.includes(domainOf(email)) ? null : 'domain';
}

/** A block of the address counts only after its verification, so that the answer does not reveal the block. */
async function checkBlocks(
  { database }: RegistrationServices,
  { email, ip }: Applicant,
): Promise<RegistrationReason | null> {
  const blocks = await findBlocks(database, { email, network: ip });
  return blocks.has('domain') || blocks.has('network') ? 'blocked' : null;
}

async function checkDisposable(
  { site }: RegistrationServices,
  { email }: Applicant,
): Promise<RegistrationReason | null> {
  const { disposable } = site;
  return disposable.rule === 'refuse' && isDisposable(email, disposable) ? 'disposable_address' : null;
}

/** Returns why the form of a stranger is refused, or null. Call this last, because it asks a service. */
export async function checkCaptcha(verifyCaptcha: VerifyCaptcha): Promise<CaptchaReason | null> {
  const verdict = verifyCaptcha === null ? 'passed' : await verifyCaptcha();
  return verdict === 'passed' ? null : `captcha_${verdict}`;
}

export type CaptchaReason = Extract<RegistrationReason, `captcha_${string}`>;

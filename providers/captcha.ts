/**
 * Asks the service of a captcha whether a person has solved it. Formats:
 * https://developers.cloudflare.com/turnstile/get-started/server-side-validation/ and
 * https://docs.hcaptcha.com/#verify-the-user-response-server-side
 */
import { text } from 'node:stream/consumers';
import type { Captcha, CaptchaProvider } from '../catalogue/signup.ts';
import { isObject } from '../domain/json.ts';
import type { GuardedClient } from './guard/address-guard.ts';

/** `unavailable`: the service gave no valid answer in time. */
export type CaptchaVerdict = 'passed' | 'failed' | 'unavailable';

export interface CaptchaAnswer {
  /** The token that the captcha put into the form; empty without one. */
  readonly token: string;
  readonly ip: string;
  /** The host of the page with the captcha: a token of another site is worth nothing here. */
  readonly host: string;
}

const VERIFY_URLS: Readonly<Record<CaptchaProvider, string>> = {
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  hcaptcha: 'https://api.hcaptcha.com/siteverify',
};

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 10_000;
/** Tokens of both services are shorter. */
const MAX_TOKEN_LENGTH = 10_000;

/** @param verifyUrl replaces the address of the service, in tests */
export async function verifyCaptcha(
  client: Pick<GuardedClient, 'request'>,
  { provider, secret, siteKey }: Captcha,
  { token, ip, host }: CaptchaAnswer,
  { verifyUrl = VERIFY_URLS[provider], timeoutMs = TIMEOUT_MS } = {},
): Promise<CaptchaVerdict> {
  if (token === '' || token.length > MAX_TOKEN_LENGTH) return 'failed';
  try {
    const { status, body } = await client.request(verifyUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ secret, response: token, remoteip: ip, sitekey: siteKey }).toString(),
      maxBytes: MAX_ANSWER_BYTES,
      timeoutMs,
    });
    const answer: unknown = JSON.parse(await text(body));
    if (status !== 200 || !isObject(answer) || typeof answer['success'] !== 'boolean') return 'unavailable';
    return answer['success'] && answer['hostname'] === host ? 'passed' : 'failed';
  } catch {
    // The service said nothing about the person, whatever went wrong.
    return 'unavailable';
  }
}

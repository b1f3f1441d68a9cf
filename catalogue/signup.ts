/** The part of the operator's file about the site that keeps strangers from farming signup credit. */
import Joi from 'joi';
import { type PicoUsd, parseUsd } from '../domain/money.ts';
import { quoted } from './quoted.ts';

/** The credit of people who register, and its limits. Days are those of UTC. */
export interface SignupCredit {
  readonly amount: PicoUsd;
  /** Grants to one /24 of IPv4 or /64 of IPv6. */
  readonly perNetworkPerDay: number;
  /** Grants to everybody. */
  readonly perDay: number;
  /** Whether the credit waits for the first payment of any size. */
  readonly afterFirstPayment: boolean;
}

const DISPOSABLE_RULES = ['refuse', 'no_credit', 'accept'] as const;

/** Addresses of services that give everybody a mailbox for some minutes. */
export interface DisposableAddresses {
  /** Whether such addresses may register, and get credit. */
  readonly rule: (typeof DISPOSABLE_RULES)[number];
  /** Domains that the operator adds to the list, with their subdomains. */
  readonly domains: ReadonlySet<string>;
  /** Domains of the list that the operator trusts, with their subdomains. */
  readonly except: ReadonlySet<string>;
}

const CAPTCHA_PROVIDERS = ['turnstile', 'hcaptcha'] as const;
export type CaptchaProvider = (typeof CAPTCHA_PROVIDERS)[number];

/** A check that a person, not a program, registers. */
export interface Captcha {
  readonly provider: CaptchaProvider;
  /** Public: it stands in the page. */
  readonly siteKey: string;
  readonly secret: string;
}

export interface SignupRules {
  /** Null for no credit. */
  readonly signupCredit: SignupCredit | null;
  readonly disposable: DisposableAddresses;
  /** Null for no check. */
  readonly captcha: Captcha | null;
}

/** The keys of the file. */
export interface SignupEntries {
  readonly signup_credit?: {
    readonly usd: PicoUsd;
    readonly per_network_per_day: number;
    readonly per_day: number;
    readonly after_first_payment: boolean;
  };
  readonly disposable_addresses?: {
    readonly rule: DisposableAddresses['rule'];
    readonly domains: readonly string[];
    readonly except: readonly string[];
  };
  readonly captcha?: { readonly provider: CaptchaProvider; readonly site_key: string; readonly secret: string };
}

const limit = Joi.number().integer().min(1).max(1_000_000).required();
/** The domain of an e-mail address, in the form of `EMAIL_ADDRESS` in lower case. */
export const emailDomain = Joi.string().pattern(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, 'domains in lower case');
const domains = Joi.array().items(emailDomain).max(10_000).default([]);

export const signupKeys = {
  signup_credit: Joi.object({
    usd: quoted(parseCredit),
    per_network_per_day: limit,
    per_day: limit,
    after_first_payment: Joi.boolean().default(false),
  }),
  disposable_addresses: Joi.object({
    rule: Joi.valid(...DISPOSABLE_RULES).default('refuse'),
    domains,
    except: domains,
  }),
  captcha: Joi.object({
    provider: Joi.valid(...CAPTCHA_PROVIDERS).required(),
    site_key: Joi.string().max(200).required(),
    secret: Joi.string().max(200).required(),
  }),
};

function parseCredit(text: string): PicoUsd {
  const credit = parseUsd(text);
  if (credit <= 0n) throw new RangeError('it must be more than 0');
  return credit;
}

/** The rules without a file, which give no credit. */
export const NO_CREDIT: SignupRules = readSignupRules({});

export function readSignupRules({
  signup_credit: credit,
  disposable_addresses: disposable = { rule: 'refuse', domains: [], except: [] },
  captcha,
}: SignupEntries): SignupRules {
  return {
    signupCredit: credit
      ? {
          amount: credit.usd,
          perNetworkPerDay: credit.per_network_per_day,
          perDay: credit.per_day,
          afterFirstPayment: credit.after_first_payment,
        }
      : null,
    disposable: { ...disposable, domains: new Set(disposable.domains), except: new Set(disposable.except) },
    captcha: captcha ? { provider: captcha.provider, siteKey: captcha.site_key, secret: captcha.secret } : null,
  };
}

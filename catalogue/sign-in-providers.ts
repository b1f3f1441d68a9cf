/** The providers with which people sign in, in the operator's file about the site. */
import Joi from 'joi';

export interface ProviderSettings {
  /** Stands on the buttons; unique. */
  readonly name: string;
  /** GitHub has OAuth 2.0 alone. */
  readonly kind: 'openid' | 'github';
  /** The issuer, spelt as the provider spells it; of GitHub, the address of its pages. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether the operator relies on the provider to ask for a second factor. */
  readonly asksSecondFactor: boolean;
}

export interface ProviderEntry {
  readonly name: string;
  readonly kind: ProviderSettings['kind'];
  readonly issuer?: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly second_factor: 'genway' | 'provider';
}

const GITHUB = 'https://github.com';
const MAX_PROVIDERS = 10;

/** http only for this machine. */
const issuer = Joi.string()
  .uri({ scheme: ['http', 'https'] })
  .pattern(/^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))[^?#]*$/);

export const providersSchema = Joi.array()
  .items(
    Joi.object<ProviderEntry>({
      name: Joi.string()
        .pattern(/^[^\p{Cc}/]+$/u)
        .max(60)
        .required(),
      kind: Joi.string().valid('openid', 'github').default('openid'),
      issuer: issuer.when('kind', { is: 'github', otherwise: Joi.required() }),
      client_id: Joi.string().required(),
      client_secret: Joi.string().required(),
      second_factor: Joi.string().valid('genway', 'provider').default('genway'),
    }),
  )
  .max(MAX_PROVIDERS)
  .unique('name')
  .unique('issuer')
  .default([]);

export function readProvider(entry: ProviderEntry): ProviderSettings {
  const { name, kind, issuer: address = GITHUB, client_id: clientId, client_secret: clientSecret } = entry;
  return { name, kind, issuer: address, clientId, clientSecret, asksSecondFactor: entry.second_factor === 'provider' };
}

/** The file of upstreams: the names that the catalogue's routes use, addresses and credentials. */
import Joi from 'joi';
import type { OperatorFile } from '../catalogue/operator-file.ts';
import { checkAgainst, type Checked } from '../catalogue/schema-findings.ts';
import { camelCased, type SnakeCased } from '../domain/field-names.ts';
import { type Auth, authKind, authSchema, httpUrl } from './credentials/settings.ts';
import { type MediaAdapter, VENDOR_ADDRESS_NAMES } from './media/adapter.ts';
import type { Credential } from './media/credentials.ts';
import { MEDIA_PROTOCOL_NAMES, MEDIA_PROTOCOLS, type MediaProtocol } from './media/protocols.ts';
import type { MediaUpstreamSettings } from './media/upstream.ts';
import {
  textUpstreamSchema,
  toTextUpstream,
  type TextUpstreamEntry,
  type TextUpstreamSettings,
} from './text/settings.ts';

/** A media upstream with its limits. */
export interface LimitedMediaUpstream extends MediaUpstreamSettings {
  readonly limits: ProviderLimits;
}

/** The limits of a media upstream; null for no limit. A task takes three steps: submit, await, fetch. */
export interface ProviderLimits {
  /** Steps that all workers together start per second. */
  readonly stepsPerSecond: number | null;
  /** Concurrent steps in one worker. A render counts from start to end. */
  readonly concurrentSteps: number | null;
}

export const NO_LIMITS: ProviderLimits = { stepsPerSecond: null, concurrentSteps: null };

export interface Upstreams {
  readonly media: readonly LimitedMediaUpstream[];
  readonly text: readonly TextUpstreamSettings[];
}

type MediaFields = 'name' | 'baseUrl' | 'callbackSecret' | 'keysUrl' | 'onUnknown' | 'resultOrigins';

interface MediaEntry extends SnakeCased<Pick<MediaUpstreamSettings, MediaFields>> {
  readonly protocol: MediaProtocol;
  readonly api?: string;
  readonly api_key?: string;
  readonly access_key?: string;
  readonly secret_key?: string;
  readonly auth?: Auth;
  readonly requests_url?: string;
  readonly storage_url?: string;
  readonly poll: { readonly first_ms: number; readonly every_ms: number } | null;
  readonly steps_per_second: number | null;
  readonly concurrent_steps: number | null;
}

interface UpstreamsFile {
  readonly media: readonly MediaEntry[];
  readonly text: readonly TextUpstreamEntry[];
}

const origin = httpUrl.custom((url: string) => {
  if (new URL(url).origin !== url)
    throw new Error('it must be an origin, such as https://files.example.com, without a path');
  return url;
});
const milliseconds = Joi.number().integer().min(10).max(600_000);

const mediaUpstream = Joi.object<MediaEntry>({
  name: Joi.string().required(),
  protocol: Joi.valid(...MEDIA_PROTOCOL_NAMES).required(),
  api: Joi.string(),
  base_url: httpUrl.allow(null).default(null),
  api_key: Joi.string(),
  access_key: Joi.string(),
  secret_key: Joi.string(),
  auth: authSchema,
  callback_secret: Joi.string().min(16).allow(null).default(null),
  keys_url: httpUrl.allow(null).default(null),
  requests_url: httpUrl,
  storage_url: httpUrl,
  on_unknown: Joi.valid('give_up', 'resubmit').default('give_up'),
  result_origins: Joi.array().items(origin).default([]),
  poll: Joi.object({ first_ms: milliseconds.required(), every_ms: milliseconds.required() }).allow(null).default(null),
  steps_per_second: Joi.number().positive().max(100_000).allow(null).default(null),
  concurrent_steps: Joi.number().integer().min(1).max(100_000).allow(null).default(null),
})
  .xor('api_key', 'access_key', 'auth')
  .and('access_key', 'secret_key')
  .custom(assertFitsProtocol)
  .messages({ 'any.custom': '{{#label}} is wrong: {{#error.message}}' });

function assertFitsProtocol(entry: MediaEntry): MediaEntry {
  const { protocol, api, base_url: baseUrl, access_key: accessKey } = entry;
  const apis = Object.keys(MEDIA_PROTOCOLS[protocol].apis ?? {});
  if (api !== undefined && !apis.includes(api)) {
    throw new Error(
      apis.length === 0 ? `${protocol} has no api to choose` : `api may be ${apis.join(', ')}, or left out`,
    );
  }
  const { keyPair = false, addresses, auth = [], ...adapter } = adapterOf(entry);
  const vendor = [protocol, api].join(' ').trim();
  if (entry.auth !== undefined && !auth.includes(authKind(entry.auth)))
    throw new Error(`${vendor} takes ${['an api_key', ...auth.map((kind) => `auth with ${kind}`)].join(' or ')}`);
  if (baseUrl === null && adapter.baseUrl === null) throw new Error(`${protocol} needs a base_url`);
  if (accessKey !== undefined && !keyPair) throw new Error(`${vendor} takes an api_key, not access_key and secret_key`);
  for (const name of VENDOR_ADDRESS_NAMES) {
    if (entry[`${name}_url`] !== undefined && !addresses?.[name]) throw new Error(`${protocol} has no ${name}_url`);
  }
  return entry;
}

export const upstreamsSchema = Joi.object<UpstreamsFile>({
  media: Joi.array().items(mediaUpstream).unique('name').default([]),
  text: Joi.array().items(textUpstreamSchema).unique('name').default([]),
}).required();

/** Checks a file of upstreams without the catalogue. Returns all findings, and the upstreams if the file is valid. */
export function checkUpstreams(file: OperatorFile): Checked<Upstreams> {
  const { value, findings } = checkAgainst(file, upstreamsSchema);
  if (!value) return { value, findings };
  return { value: { media: value.media.map(toMediaUpstream), text: value.text.map(toTextUpstream) }, findings };
}

function adapterOf({ protocol, api }: Pick<MediaEntry, 'protocol' | 'api'>): MediaAdapter {
  const adapter = MEDIA_PROTOCOLS[protocol];
  return (api === undefined ? undefined : adapter.apis?.[api]) ?? adapter;
}

function credentialOf({ api_key = '', access_key, secret_key = '', auth }: MediaEntry): Credential {
  if (auth !== undefined) return { auth };
  return access_key === undefined ? { apiKey: api_key } : { accessKey: access_key, secretKey: secret_key };
}

function toMediaUpstream(entry: MediaEntry): LimitedMediaUpstream {
  const { api: _api, api_key: _key, access_key: _access, secret_key: _secret, auth: _auth, ...rest } = entry;
  const { requests_url, storage_url, poll, ...others } = rest;
  const { stepsPerSecond, concurrentSteps, ...settings } = camelCased(others);
  return {
    ...settings,
    adapter: adapterOf(entry),
    credential: credentialOf(entry),
    addresses: {
      ...(requests_url !== undefined && { requests: requests_url }),
      ...(storage_url !== undefined && { storage: storage_url }),
    },
    poll: poll && camelCased(poll),
    limits: { stepsPerSecond, concurrentSteps },
  };
}

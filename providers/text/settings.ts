/** A text upstream in the operator's file of upstreams. */
import Joi from 'joi';
import {
  ANSWER_TIMEOUT_FIELDS,
  type AnswerTimeouts,
  type AnswerTimeoutsEntry,
  toAnswerTimeouts,
} from '../../catalogue/answer-timeouts.ts';
import { AUTH_KEY, type Auth, authSchema } from '../credentials/settings.ts';
import { UPSTREAM_FORMAT_NAMES, type UpstreamFormatName } from '../../domain/wire-format-name.ts';

export interface TextUpstreamSettings extends AnswerTimeouts {
  /** The name that catalogue routes use. */
  readonly name: string;
  /** Each key works for every format and model. An upstream with `auth` has only {@link AUTH_KEY}. */
  readonly apiKeys: readonly [string, ...string[]];
  /** The source of tokens or signatures, which replace the key; absent for an upstream with keys. */
  readonly auth?: Auth;
  /** The address, with version, of each format that the upstream speaks. */
  readonly baseUrls: Readonly<Partial<Record<UpstreamFormatName, string>>>;
  /** Sent with every request, in addition to the format's headers; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface TextUpstreamEntry extends AnswerTimeoutsEntry {
  readonly name: string;
  readonly base_url?: string;
  readonly base_urls?: TextUpstreamSettings['baseUrls'];
  readonly api_key?: string;
  readonly api_keys?: TextUpstreamSettings['apiKeys'];
  readonly auth?: Auth;
  readonly headers: Readonly<Record<string, string>>;
}

const httpUrl = Joi.string().uri({ scheme: ['http', 'https'] });
/** A header name, except those that HTTP itself uses. */
const HEADER_NAME =
  /^(?!(?:connection|content-length|content-type|expect|keep-alive|transfer-encoding|upgrade)$)[\w-]+$/i;

export const textUpstreamSchema = Joi.object<TextUpstreamEntry>({
  name: Joi.string().required(),
  // One address for all formats, or one per format.
  base_url: httpUrl,
  base_urls: Joi.object(Object.fromEntries(UPSTREAM_FORMAT_NAMES.map((name) => [name, httpUrl]))).min(1),
  api_key: Joi.string(),
  api_keys: Joi.array().items(Joi.string()).unique().min(1),
  auth: authSchema,
  ...ANSWER_TIMEOUT_FIELDS,
  headers: Joi.object()
    .pattern(HEADER_NAME, Joi.string().pattern(/^[\x20-\x7e]*$/))
    .default({}),
})
  .xor('base_url', 'base_urls')
  .xor('api_key', 'api_keys', 'auth');

export function toTextUpstream(entry: TextUpstreamEntry): TextUpstreamSettings {
  const { name, base_url, base_urls, api_key = '', api_keys, auth, headers } = entry;
  const lowerCase = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value] as const);
  return {
    name,
    ...(auth === undefined ? { apiKeys: api_keys ?? [api_key] } : { apiKeys: [AUTH_KEY], auth }),
    baseUrls: base_url === undefined ? (base_urls ?? {}) : baseUrlsAt(base_url),
    ...toAnswerTimeouts(entry),
    ...(lowerCase.length > 0 && { headers: Object.fromEntries(lowerCase) }),
  };
}

/** A part of a path such as `v1`, `v1beta` or `v4`. */
const VERSION = /\/v\d[a-z\d]*(?:\/|$)/;
const VERSION_OF_FORMAT: Readonly<Record<UpstreamFormatName, string>> = {
  'chat-completions': 'v1',
  responses: 'v1',
  messages: 'v1',
  'generate-content': 'v1beta',
};

/** The addresses of all formats at a vendor's bare address. An address that already has a version is left unchanged. */
export function baseUrlsAt(baseUrl: string): TextUpstreamSettings['baseUrls'] {
  const bare = baseUrl.replace(/(?<!\/)\/+$/, '');
  const isVersioned = VERSION.test(new URL(bare).pathname);
  return Object.fromEntries(
    UPSTREAM_FORMAT_NAMES.map((format) => [format, isVersioned ? bare : `${bare}/${VERSION_OF_FORMAT[format]}`]),
  );
}

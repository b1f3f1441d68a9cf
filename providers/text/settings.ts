/** A text upstream in the operator's file of upstreams. */
import Joi from 'joi';
import {
  ANSWER_TIMEOUT_FIELDS,
  type AnswerTimeouts,
  type AnswerTimeoutsEntry,
  toAnswerTimeouts,
} from '../../catalogue/answer-timeouts.ts';
import { PLATFORM_NAMES, type PlatformName, platformOf } from '../../text/platforms/index.ts';
import { AUTH_KEY, type Auth, authKind, authSchema, httpUrl } from '../credentials/settings.ts';
import {
  UPSTREAM_FORMAT_NAMES,
  type UpstreamFormatName,
  WIRE_FORMAT_NAMES,
  type WireFormatName,
} from '../../domain/wire-format-name.ts';

export interface TextUpstreamSettings extends AnswerTimeouts {
  /** The name that catalogue routes use. */
  readonly name: string;
  /** Each key works for every format and model. An upstream with `auth` has only {@link AUTH_KEY}. */
  readonly apiKeys: readonly [string, ...string[]];
  /** The source of tokens or signatures, which replace the key; absent for an upstream with keys. */
  readonly auth?: Auth;
  /** The cloud whose addresses and forms the upstream has; absent for a vendor's own. */
  readonly platform?: PlatformSettings;
  /** The address, with version, of each format that the upstream speaks. */
  readonly baseUrls: Readonly<Partial<Record<UpstreamFormatName, string>>>;
  /** Sent with every request, in addition to the format's headers; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PlatformSettings {
  readonly name: PlatformName;
  /** Null for Azure. */
  readonly region: string | null;
  /** The version that Azure's older addresses need; null otherwise. */
  readonly apiVersion: string | null;
}

export interface TextUpstreamEntry extends AnswerTimeoutsEntry {
  readonly name: string;
  readonly platform?: PlatformName;
  readonly project?: string;
  readonly region?: string;
  readonly api_version?: string;
  readonly base_url?: string;
  readonly base_urls?: TextUpstreamSettings['baseUrls'];
  readonly api_key?: string;
  readonly api_keys?: TextUpstreamSettings['apiKeys'];
  readonly auth?: Auth;
  readonly headers: Readonly<Record<string, string>>;
}

/** A header name, except those that HTTP itself uses. */
const HEADER_NAME =
  /^(?!(?:connection|content-length|content-type|expect|keep-alive|transfer-encoding|upgrade)$)[\w-]+$/i;

export const textUpstreamSchema = Joi.object<TextUpstreamEntry>({
  name: Joi.string().required(),
  platform: Joi.valid(...PLATFORM_NAMES),
  project: Joi.string().pattern(/^[\w.:-]+$/),
  region: Joi.string().pattern(/^[a-z\d-]+$/),
  api_version: Joi.string().pattern(/^[\w.-]+$/),
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
  .oxor('base_url', 'base_urls')
  .xor('api_key', 'api_keys', 'auth')
  .custom(assertFitsPlatform)
  .messages({ 'any.custom': '{{#label}} is wrong: {{#error.message}}' });

/** The fields beside `platform`, and those that it needs. */
const PLATFORM_FIELDS = {
  vertex: { may: ['project', 'region'], needs: ['project'], auth: 'google' },
  bedrock: { may: ['region'], needs: ['region'], auth: 'aws' },
  azure: { may: ['api_version'], needs: ['base_url'], auth: 'azure' },
} as const;

function assertFitsPlatform(entry: TextUpstreamEntry): TextUpstreamEntry {
  const { platform, base_url, base_urls, auth } = entry;
  if (platform === undefined && base_url === undefined && base_urls === undefined)
    throw new Error('it needs a base_url, base_urls or a platform');
  if (platform !== undefined && base_urls !== undefined) throw new Error('a platform has a base_url, not base_urls');
  const { may, needs, auth: kind } = platform === undefined ? NO_PLATFORM : PLATFORM_FIELDS[platform];
  const fields = ['project', 'region', 'api_version'] as const;
  const unused = fields.find((field) => entry[field] !== undefined && !may.some((name) => name === field));
  if (unused !== undefined) throw new Error(`${platform ?? 'an upstream without a platform'} has no ${unused}`);
  const missing = needs.find((field) => entry[field] === undefined);
  if (missing !== undefined) throw new Error(`${platform} needs ${missing}`);
  // A signature of AWS has the region of Bedrock in it.
  const isOther = auth !== undefined && (kind === null ? 'aws' in auth : authKind(auth) !== kind);
  if (isOther)
    throw new Error(kind === null ? 'auth with aws needs platform: bedrock' : `${platform} takes auth with ${kind}`);
  return entry;
}

const NO_PLATFORM = { may: [], needs: [], auth: null } as const;

export function toTextUpstream(entry: TextUpstreamEntry): TextUpstreamSettings {
  const { name, api_key = '', api_keys, auth, headers } = entry;
  const lowerCase = Object.entries(headers).map(([header, value]) => [header.toLowerCase(), value] as const);
  return {
    name,
    ...(auth === undefined ? { apiKeys: api_keys ?? [api_key] } : { apiKeys: [AUTH_KEY], auth }),
    ...addressesOf(entry),
    ...toAnswerTimeouts(entry),
    ...(lowerCase.length > 0 && { headers: Object.fromEntries(lowerCase) }),
  };
}

function addressesOf(entry: TextUpstreamEntry): Pick<TextUpstreamSettings, 'baseUrls' | 'platform'> {
  const { platform, base_url, base_urls, region, api_version } = entry;
  if (platform === undefined) return { baseUrls: base_url === undefined ? (base_urls ?? {}) : baseUrlsAt(base_url) };
  const address = platformAddress(platform, entry);
  return {
    platform: {
      name: platform,
      region: region ?? (platform === 'vertex' ? GLOBAL : null),
      apiVersion: api_version ?? null,
    },
    baseUrls: Object.fromEntries(platformOf(platform).formats.map((format) => [format, address])),
  };
}

/** The location of Vertex without a region. */
const GLOBAL = 'global';
/** Locations of several regions: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
const MULTI_REGIONS: readonly string[] = ['us', 'eu'];

/** The address from which all paths of a cloud start. */
function platformAddress(
  platform: PlatformName,
  { base_url, region = GLOBAL, project = '' }: TextUpstreamEntry,
): string {
  const own = base_url === undefined ? undefined : withoutPath(base_url);
  if (platform === 'vertex') return `${own ?? vertexOrigin(region)}/v1/projects/${project}/locations/${region}`;
  return own ?? `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** A cloud's address. Operators may copy the address with the path of a format. */
function withoutPath(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  const path = pathname.split('/').filter((part) => part !== '');
  const end = ['openai', 'v1'].filter((part) => path.includes(part)).map((part) => path.indexOf(part));
  return [origin, ...path.slice(0, Math.min(path.length, ...end))].join('/');
}

function vertexOrigin(region: string): string {
  if (MULTI_REGIONS.includes(region)) return `https://aiplatform.${region}.rep.googleapis.com`;
  return `https://${region === GLOBAL ? '' : `${region}-`}aiplatform.googleapis.com`;
}

/** A part of a path such as `v1`, `v1beta` or `v4`. */
const VERSION = /\/v\d[a-z\d]*(?:\/|$)/;
const VERSION_OF_FORMAT: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': 'v1',
  responses: 'v1',
  messages: 'v1',
  'generate-content': 'v1beta',
};

/** The addresses of all formats of clients at a vendor's bare address. An address that already has a version is left unchanged. */
export function baseUrlsAt(baseUrl: string): TextUpstreamSettings['baseUrls'] {
  const bare = baseUrl.replace(/(?<!\/)\/+$/, '');
  const isVersioned = VERSION.test(new URL(bare).pathname);
  return Object.fromEntries(
    WIRE_FORMAT_NAMES.map((format) => [format, isVersioned ? bare : `${bare}/${VERSION_OF_FORMAT[format]}`]),
  );
}

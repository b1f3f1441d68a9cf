/** The file that tells which upstreams there are: names as the catalogue's routes use them, addresses and credentials. */
import { readFileSync } from 'node:fs';
import Joi from 'joi';
import { parse } from 'yaml';
import type { WireFormatName } from '../domain/wire-format-name.ts';
import { FORMATS } from '../text/formats.ts';
import type { TextUpstreamSettings } from './text/text-upstreams.ts';

export interface MediaUpstream {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** What the upstream signs its callbacks with; null when it sends none. */
  readonly callbackSecret: string | null;
  readonly limits: ProviderLimits;
}

/** What may be asked of a media upstream; null where it sets no limit. A task takes three steps: submit, await, fetch. */
export interface ProviderLimits {
  /** Begun by all workers together. */
  readonly stepsPerSecond: number | null;
  /** Under way in one worker; a render takes one from its beginning to its end. */
  readonly concurrentSteps: number | null;
}

export const NO_LIMITS: ProviderLimits = { stepsPerSecond: null, concurrentSteps: null };

export interface Upstreams {
  readonly media: readonly MediaUpstream[];
  readonly text: readonly TextUpstreamSettings[];
}

interface UpstreamsFile {
  readonly media: readonly {
    readonly name: string;
    readonly base_url: string;
    readonly api_key: string;
    readonly callback_secret: string | null;
    readonly steps_per_second: number | null;
    readonly concurrent_steps: number | null;
  }[];
  readonly text: readonly {
    readonly name: string;
    readonly base_url?: string;
    readonly base_urls?: TextUpstreamSettings['baseUrls'];
    readonly api_key: string;
  }[];
}

const httpUrl = Joi.string().uri({ scheme: ['http', 'https'] });
const FORMAT_NAMES = Object.values(FORMATS).map(({ name }) => name);

const schema = Joi.object<UpstreamsFile>({
  media: Joi.array()
    .items(
      Joi.object({
        name: Joi.string().required(),
        protocol: Joi.valid('http-jobs').required(),
        base_url: httpUrl.required(),
        api_key: Joi.string().required(),
        callback_secret: Joi.string().min(16).allow(null).default(null),
        steps_per_second: Joi.number().positive().max(100_000).allow(null).default(null),
        concurrent_steps: Joi.number().integer().min(1).max(100_000).allow(null).default(null),
      }),
    )
    .unique('name')
    .default([]),
  text: Joi.array()
    .items(
      Joi.object({
        name: Joi.string().required(),
        // One address for all formats, or one for each format that the upstream speaks.
        base_url: httpUrl,
        base_urls: Joi.object(Object.fromEntries(FORMAT_NAMES.map((name) => [name, httpUrl]))).min(1),
        api_key: Joi.string().required(),
      }).xor('base_url', 'base_urls'),
    )
    .unique('name')
    .default([]),
}).required();

/** @throws Error that names the file and the field */
export function loadUpstreams(path: string): Upstreams {
  const { error, value } = schema.validate(parse(readFileSync(path, 'utf8')), { convert: false });
  if (error) throw new Error(`${path}: ${error.message}`);
  return {
    media: value.media.map(({ name, base_url, api_key, callback_secret, steps_per_second, concurrent_steps }) => ({
      name,
      baseUrl: base_url,
      apiKey: api_key,
      callbackSecret: callback_secret,
      limits: { stepsPerSecond: steps_per_second, concurrentSteps: concurrent_steps },
    })),
    text: value.text.map(({ name, base_url, base_urls, api_key }) => ({
      name,
      apiKey: api_key,
      baseUrls: base_url === undefined ? (base_urls ?? {}) : everyFormatAt(base_url),
    })),
  };
}

function everyFormatAt(baseUrl: string): Readonly<Record<WireFormatName, string>> {
  return { 'chat-completions': baseUrl, responses: baseUrl, messages: baseUrl, 'generate-content': baseUrl };
}

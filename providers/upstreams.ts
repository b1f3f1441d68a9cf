/** The file that tells which upstreams there are: names as the catalogue's routes use them, addresses and credentials. */
import { readFileSync } from 'node:fs';
import Joi from 'joi';
import { parse } from 'yaml';

export interface MediaUpstream {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** What the upstream signs its callbacks with; null when it sends none. */
  readonly callbackSecret: string | null;
}

export interface Upstreams {
  readonly media: readonly MediaUpstream[];
}

interface UpstreamsFile {
  readonly media: readonly {
    readonly name: string;
    readonly base_url: string;
    readonly api_key: string;
    readonly callback_secret: string | null;
  }[];
}

const schema = Joi.object<UpstreamsFile>({
  media: Joi.array()
    .items(
      Joi.object({
        name: Joi.string().required(),
        protocol: Joi.valid('http-jobs').required(),
        base_url: Joi.string()
          .uri({ scheme: ['http', 'https'] })
          .required(),
        api_key: Joi.string().required(),
        callback_secret: Joi.string().min(16).allow(null).default(null),
      }),
    )
    .unique('name')
    .default([]),
}).required();

/** @throws Error that names the file and the field */
export function loadUpstreams(path: string): Upstreams {
  const { error, value } = schema.validate(parse(readFileSync(path, 'utf8')), { convert: false });
  if (error) throw new Error(`${path}: ${error.message}`);
  return {
    media: value.media.map(({ name, base_url, api_key, callback_secret }) => ({
      name,
      baseUrl: base_url,
      apiKey: api_key,
      callbackSecret: callback_secret,
    })),
  };
}

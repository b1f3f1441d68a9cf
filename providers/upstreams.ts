/** The file that tells which upstreams there are: names as the catalogue's routes use them, addresses and credentials. */
import { readFileSync } from 'node:fs';
import Joi from 'joi';
import { parse } from 'yaml';

export interface MediaUpstream {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface Upstreams {
  readonly media: readonly MediaUpstream[];
}

interface UpstreamsFile {
  readonly media: readonly { readonly name: string; readonly base_url: string; readonly api_key: string }[];
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
      }),
    )
    .unique('name')
    .default([]),
}).required();

/** @throws Error that names the file and the field */
export function loadUpstreams(path: string): Upstreams {
  const { error, value } = schema.validate(parse(readFileSync(path, 'utf8')), { convert: false });
  if (error) throw new Error(`${path}: ${error.message}`);
  return { media: value.media.map(({ name, base_url, api_key }) => ({ name, baseUrl: base_url, apiKey: api_key })) };
}

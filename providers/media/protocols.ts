/** The protocols of media upstreams, by their names in the upstreams file. */
import type { MediaAdapter } from './adapter.ts';
import { ark } from './adapters/ark.ts';
import { bfl } from './adapters/bfl.ts';
import { dashscope } from './adapters/dashscope.ts';
import { fal } from './adapters/fal.ts';
import { google } from './adapters/google.ts';
import { httpJobs } from './adapters/http-jobs.ts';
import { kling } from './adapters/kling.ts';
import { minimax } from './adapters/minimax.ts';
import { openaiImages } from './adapters/openai-images.ts';
import { openaiVideos } from './adapters/openai-videos.ts';
import { replicate } from './adapters/replicate.ts';
import { vertex } from './adapters/vertex.ts';
import { xai } from './adapters/xai.ts';

const ADAPTERS = {
  'http-jobs': httpJobs,
  ark,
  bfl,
  dashscope,
  fal,
  google,
  kling,
  minimax,
  'openai-images': openaiImages,
  'openai-videos': openaiVideos,
  replicate,
  vertex,
  xai,
};

export type MediaProtocol = keyof typeof ADAPTERS;

export const MEDIA_PROTOCOLS: Readonly<Record<MediaProtocol, MediaAdapter>> = ADAPTERS;

export const MEDIA_PROTOCOL_NAMES = Object.keys(MEDIA_PROTOCOLS).filter(isMediaProtocol);

/** Every API of every protocol, by the protocol's name and the API's: `kling`, `kling-standard`. */
export const MEDIA_APIS: readonly (readonly [name: string, protocol: MediaProtocol, adapter: MediaAdapter])[] =
  MEDIA_PROTOCOL_NAMES.flatMap((protocol) => [
    [protocol, protocol, MEDIA_PROTOCOLS[protocol]] as const,
    ...Object.entries(MEDIA_PROTOCOLS[protocol].apis ?? {}).map(
      ([api, adapter]) => [`${protocol}-${api}`, protocol, adapter] as const,
    ),
  ]);

function isMediaProtocol(name: string): name is MediaProtocol {
  return Object.hasOwn(MEDIA_PROTOCOLS, name);
}

/** The formats of text requests and answers: contract 4.8. They are defined in `text/`. */
export const WIRE_FORMAT_NAMES = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;

export type WireFormatName = (typeof WIRE_FORMAT_NAMES)[number];

/** The kinds of requests with one form for all clients: embeddings (contract 4.8.5), voice (4.8.6), ranking (4.8.8) and sessions (4.16). */
export const SINGLE_FORMAT_NAMES = [
  'embeddings',
  'rerank',
  'speech',
  'transcriptions',
  'translations',
  'realtime',
] as const;

export type SingleFormatName = (typeof SINGLE_FORMAT_NAMES)[number];

/** The kinds of requests to a text model. */
export const REQUEST_FORMAT_NAMES = [...WIRE_FORMAT_NAMES, ...SINGLE_FORMAT_NAMES] as const;

export type RequestFormatName = (typeof REQUEST_FORMAT_NAMES)[number];

/** The formats of text upstreams. A format that no client uses is listed only here: `docs/changing-it.md`. */
export const UPSTREAM_FORMAT_NAMES = [...WIRE_FORMAT_NAMES, 'converse'] as const;

export type UpstreamFormatName = (typeof UPSTREAM_FORMAT_NAMES)[number];

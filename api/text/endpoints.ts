/** Where the text formats are served: specification section 4.8. */
import { FORMATS } from '../../text/formats.ts';
import type { ParseContext, WireFormat } from '../../text/wire-format.ts';
import type { CredentialHeaders } from '../middlewares/authenticate.ts';

export interface TextEndpoint {
  /** The path, with the variable part as a pattern: what measurements call the endpoint. */
  readonly route: string;
  readonly format: WireFormat;
  /** The headers that carry the API key. */
  readonly credentialHeaders: CredentialHeaders;
  /** The parameter of the query that carries it where no header does; null for none. Queries are never logged. */
  readonly credentialParameter: string | null;
  /** Whether a stream comes as a JSON array unless the query asks for server-sent events. */
  readonly streamsArray?: boolean;
  /** The headers of which each request has to carry one, the specified one first. */
  readonly versionHeaders: readonly string[];
}

/** What a path asks for. */
export interface TextTarget {
  readonly endpoint: TextEndpoint;
  /** What the path says of the request, where it says something. */
  readonly parseContext: ParseContext;
}

const NATIVE: TextEndpoint = {
  route: '/v1beta/models/:model',
  format: FORMATS['generate-content'],
  // The second is what the vendor's own clients send.
  credentialHeaders: { before: ['x-native-api-key'], after: ['x-goog-api-key'] },
  credentialParameter: 'key',
  streamsArray: true,
  versionHeaders: [],
};
const NATIVE_PREFIX = '/v1beta/models/';
/** The methods of the native format, and whether they stream. */
const NATIVE_METHODS: ReadonlyMap<string, boolean> = new Map([
  ['generateContent', false],
  ['streamGenerateContent', true],
]);

const ENDPOINTS: readonly TextEndpoint[] = [
  {
    route: '/v1/chat/completions',
    format: FORMATS['chat-completions'],
    credentialHeaders: { before: [], after: [] },
    credentialParameter: null,
    versionHeaders: [],
  },
  {
    route: '/v1/responses',
    format: FORMATS.responses,
    credentialHeaders: { before: [], after: [] },
    credentialParameter: null,
    versionHeaders: [],
  },
  {
    route: '/v1/messages',
    format: FORMATS.messages,
    credentialHeaders: { before: ['x-api-key'], after: [] },
    credentialParameter: null,
    versionHeaders: ['msgfmt-version', 'anthropic-version'],
  },
];

const BY_PATH: ReadonlyMap<string, TextTarget> = new Map(
  ENDPOINTS.map((endpoint) => [endpoint.route, { endpoint, parseContext: {} }]),
);

/** What a path asks for, without its query; null when it is none of a text endpoint. */
export function targetOf(path: string): TextTarget | null {
  return BY_PATH.get(path) ?? (path.startsWith(NATIVE_PREFIX) ? nativeTargetOf(path) : null);
}

function nativeTargetOf(path: string): TextTarget | null {
  const colon = path.lastIndexOf(':');
  const stream = NATIVE_METHODS.get(path.slice(colon + 1));
  const model = decoded(path.slice(NATIVE_PREFIX.length, colon));
  if (colon === -1 || stream === undefined || model === null) return null;
  return { endpoint: NATIVE, parseContext: { address: { model, stream } } };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

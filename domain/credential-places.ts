/** Where a request may have its API key: contract 5. */

/** Places for an API key besides `Authorization: Bearer`. */
export interface CredentialPlaces {
  /** Headers that take precedence over the bearer token, in lower case. */
  readonly before?: readonly string[];
  /** Headers that are used only without a bearer token: clients of other services fill them with placeholders. */
  readonly after?: readonly string[];
  /** The query parameter that is used when no header has a key. Queries are never logged. */
  readonly parameter?: string;
}

export const MESSAGES_PLACES = { before: ['x-api-key'] } as const satisfies CredentialPlaces;

/** The vendor's own clients send the last header. */
export const NATIVE_PLACES = {
  before: ['x-native-api-key'],
  after: ['x-goog-api-key'],
  parameter: 'key',
} as const satisfies CredentialPlaces;

/** For calls that clients of every format make. */
export const ANY_PLACES: CredentialPlaces = {
  ...NATIVE_PLACES,
  before: [...MESSAGES_PLACES.before, ...NATIVE_PLACES.before],
};

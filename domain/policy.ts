/**
 * What the contract promises and allows in numbers, where no variable of the configuration sets it. Limits that protect a
 * process rather than describe the service stand beside what they protect.
 */

const MIB = 2 ** 20;
const DAY_SECONDS = 86_400;

/** Contract 4.1. PostgreSQL counts the window (`complete_idempotency_claim`). */
export const IDEMPOTENCY = { maxKeyLength: 255, windowHours: 24 };

/** Contract 4.10: the items of a page. */
export const PAGES = { defaultLimit: 50, maxLimit: 500 };

/** Contract 4.5. */
export const UPLOADS = { maxBytes: 50 * MIB, maxVideoBytes: 100 * MIB, maxFilenameLength: 255 };

/** Contract 4.3: the links of an image request; with the first request, each causes three at most. */
export const IMAGE_LINKS = { maxRedirects: 2, timeoutMs: 10_000 };

/** Contract 8.2: JSON bodies of media, webhooks and administration, and of text. */
export const BODIES = {
  // Prompts and lists of links fit many times over.
  common: { maxBytes: MIB, maxDepth: 32, maxValues: 20_000 },
  text: {
    // Images come along as base64, and prompts may fill a context window of a million tokens.
    maxBytes: 32 * MIB,
    // Schemas of tools and their arguments nest, within messages.
    maxDepth: 64,
    // A conversation of ten thousand messages.
    maxValues: 60_000,
  },
};

/** Contract 8.1: successful requests to free models that an account has in a minute, before and after its first top-up. */
export const FREE_REQUESTS_PER_MINUTE = { neverToppedUp: 1, toppedUp: 10 };

/** Contract 4.9: the days of a report. */
export const USAGE = { defaultDays: 30, maxDays: 92 };

/** Contract 4.7 and 6. */
export const WEBHOOKS = {
  /** Of one account; more receivers than that are better served by one that passes events on. */
  maxEndpoints: 20,
  /** How long the old secret goes on signing beside its successor, for receivers that accept several signatures. */
  secretOverlapSeconds: DAY_SECONDS,
  /** Receivers refuse deliveries whose timestamp is further away than this. */
  timestampToleranceSeconds: 300,
  /** For the whole exchange of an attempt: connecting, sending and the first line of the answer. */
  attemptTimeoutMs: 15_000,
  /** The longest pause of the usual schedule; a receiver cannot ask for a longer one. */
  maxRetryAfterSeconds: DAY_SECONDS,
  /** A delivery is sent again at most until it has had so many attempts, which bounds its log and its workflow's history. */
  maxAttempts: 100,
  /** One call asks for at most so many; the next call goes on with the rest. */
  redeliveriesPerCall: 200,
  /** How long a delivery and its event are shown, from its end on. */
  keptDays: 30,
  testEventsPerMinute: 60,
  redeliveryCallsPerMinute: 60,
};

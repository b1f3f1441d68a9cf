/**
 * The numbers of the contract that no environment variable sets. Limits that protect a process, rather than describe
 * the service, are next to what they protect.
 */

const MIB = 2 ** 20;
const DAY_SECONDS = 86_400;

/** Contract 4.1. PostgreSQL measures the window (`complete_idempotency_claim`). */
export const IDEMPOTENCY = { maxKeyLength: 255, windowHours: 24 };

/** Contract 4.10: the items of a page. */
export const PAGES = { defaultLimit: 50, maxLimit: 500 };

/** Contract 4.5. */
export const UPLOADS = { maxBytes: 50 * MIB, maxVideoBytes: 100 * MIB, maxFilenameLength: 255 };

/** How long a request may wait for its picture, from its arrival. */
export const MEDIA_WAIT_MS = 95_000;

/** Contract 4.3: fetching the links of an image request. Each link causes at most three requests. */
export const IMAGE_LINKS = { maxRedirects: 2, timeoutMs: 10_000 };

/** Contract 8.2: the JSON bodies of media, webhooks and administration, those of text, and those of embeddings. */
export const BODIES = {
  // Many times the size of a prompt and its links.
  common: { maxBytes: MIB, maxDepth: 32, maxValues: 20_000 },
  text: {
    // Bodies contain images as base64, and prompts may fill a context window of a million tokens.
    maxBytes: 32 * MIB,
    // Tool schemas and arguments nest, inside messages.
    maxDepth: 64,
    // Enough for a conversation of ten thousand messages.
    maxValues: 60_000,
  },
  // About 100,000 lines of a vendor's bill, in one text.
  bill: { maxBytes: 8 * MIB, maxDepth: 2, maxValues: 200 },
  // As many token ids as vendors take in one request, and about as much text.
  embeddings: { maxBytes: 8 * MIB, maxDepth: 8, maxValues: 310_000 },
};

/** Contract 4.8.5. */
export const EMBEDDINGS = { maxInputs: 2_048, maxDimensions: 65_536 };

/** Corrections that two people make: how long one waits for the second, and over how long one person's amounts add up. */
export const CORRECTIONS = { pendingDays: 7, addUpHours: 24 };

/** The least and the most that customers may pay at once, in whole USD. */
export const CHECKOUT = { leastUsd: 1, mostUsd: 10_000 };

/** How often a card is charged, how soon a lost answer is asked for again, and for how long. */
export const AUTO_TOP_UP = { mostADay: 5, retrySeconds: 60, attemptHours: 20 };

/** Contract 8.1: an account's successful requests to free models in a minute, before and after its first top-up. */
export const FREE_REQUESTS_PER_MINUTE = { neverToppedUp: 1, toppedUp: 10 };

/**
 * Contract 4.8 and 4.11. Each text process keeps the names of those with a budget in memory. A longer name counts as its beginning,
 * so that a client cannot fill the database with names.
 */
export const END_USERS = { maxNameLength: 128, maxBudgets: 10_000 };

/** Contract 4.9: the days that a usage report covers. */
export const USAGE = { defaultDays: 30, maxDays: 92 };

/** Contract 4.12: the days that the public status goes back, and how old it may be. */
export const STATUS = { days: 90, freshSeconds: 10 };

/** Contract 4.7 and 6. */
export const WEBHOOKS = {
  /** Per account. An account with more receivers should run one that passes events on. */
  maxEndpoints: 20,
  /** How long the old secret still signs beside the new one, for receivers that accept several signatures. */
  secretOverlapSeconds: DAY_SECONDS,
  /** Receivers refuse deliveries whose timestamp is further away than this. */
  timestampToleranceSeconds: 300,
  /** For a whole attempt: connecting, sending, and the first line of the answer. */
  attemptTimeoutMs: 15_000,
  /** The longest wait in the usual schedule; receivers cannot ask for a longer one. */
  maxRetryAfterSeconds: DAY_SECONDS,
  /** The most attempts of one delivery, redeliveries included: bounds its log and its workflow's history. */
  maxAttempts: 100,
  /** The most deliveries that one redelivery call sends; the next call continues with the rest. */
  redeliveriesPerCall: 200,
  /** How long an event and its deliveries are kept after the last delivery has ended. */
  keptDays: 30,
  testEventsPerMinute: 60,
  redeliveryCallsPerMinute: 60,
};

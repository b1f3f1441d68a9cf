/**
 * The numbers of the contract that no environment variable sets. Limits that protect a process are in the code that
 * they protect.
 */

const MIB = 2 ** 20;
const DAY_SECONDS = 86_400;

/** Contract 4.1. PostgreSQL measures the window (`complete_idempotency_claim`). */
export const IDEMPOTENCY = { maxKeyLength: 255, windowHours: 24 };

/** Contract 4.10: items per page. */
export const PAGES = { defaultLimit: 50, maxLimit: 500 };

/** Contract 4.5. */
export const UPLOADS = { maxBytes: 50 * MIB, maxVideoBytes: 100 * MIB, maxFilenameLength: 255 };

/** Contract 4.5: the uploads of an account, and after how long an upload is removed that no task has used. */
export const UPLOAD_LIMITS = {
  neverToppedUp: { bytes: 128 * MIB, files: 20 },
  toppedUp: { bytes: 10_240 * MIB, files: 1_000 },
  expiryMs: 7 * DAY_SECONDS * 1000,
};

/** Contract 8.1: the reads (GET) of a key per minute, if its limit for other requests is lower. */
export const READS_PER_MINUTE = 3_000;

/** How long a request may wait for its image, from its arrival. */
export const MEDIA_WAIT_MS = 95_000;

/** Contract 4.3: the limits for fetching the links of an image request. Each link causes at most three requests. */
export const IMAGE_LINKS = { maxRedirects: 2, timeoutMs: 10_000 };

/** Contract 8.2: the limits of JSON bodies of media, webhooks and administration, of text, and of embeddings. */
export const BODIES = {
  // Many times as large as a prompt and its links.
  common: { maxBytes: MIB, maxDepth: 32, maxValues: 20_000 },
  text: {
    // Bodies contain images as base64, and prompts may fill a context window of a million tokens.
    maxBytes: 32 * MIB,
    // Messages contain nested tool schemas and arguments.
    maxDepth: 64,
    // Enough for a conversation of ten thousand messages.
    maxValues: 60_000,
  },
  // About 100,000 lines of a vendor's bill, in one string.
  bill: { maxBytes: 8 * MIB, maxDepth: 2, maxValues: 200 },
  // As many token ids as vendors accept in one request, and about as much text.
  embeddings: { maxBytes: 8 * MIB, maxDepth: 8, maxValues: 310_000 },
};

/** Contract 4.8.2: stored responses. */
export const RESPONSES = {
  defaultMinutes: 60,
  maxMinutes: 1_440,
  /** A longer response is not stored: its new input and its answer together. */
  maxBytes: 4 * MIB,
  /** The most that one request may read from the store. */
  maxConversation: { responses: 1_000, bytes: 8 * MIB },
  /** Beyond this, the responses that were not used for the longest time are removed. */
  perAccount: { responses: 10_000, bytes: 256 * MIB },
};

/** Contract 4.8.2: responses over a WebSocket. */
export const RESPONSE_SOCKETS = {
  maxMessageBytes: 15 * MIB,
  maxSeconds: 3_600,
  /** A connection closes after this long without a request or a response. */
  idleMs: 10 * 60_000,
  /** In one process: of all accounts, and of one. */
  connections: { ofProcess: 1_000, ofAccount: 50 },
  /** The conversations that connections keep in memory: of one, and of a process. */
  conversationBytes: { ofConnection: 8 * MIB, ofProcess: 256 * MIB },
};

/** Contract 4.8.5. */
export const EMBEDDINGS = { maxInputs: 2_048, maxDimensions: 65_536 };

/** Contract 4.8.8. */
export const RERANK = { maxDocuments: 1_000 };

/** Contract 4.8.6. */
export const VOICE = { maxCharacters: 4_096, maxFileBytes: 100 * MIB };

/** Contract 4.16: realtime sessions. */
export const REALTIME = {
  secretSeconds: { min: 10, max: 7_200, default: 600 },
  maxSessionSeconds: 3_600,
  maxOrigins: 20,
  maxMessageBytes: 15 * MIB,
  /** In one process: of all accounts, and of one. */
  sessions: { ofProcess: 2_000, ofAccount: 100 },
  /** A session ends after this long without an event of its client or a response. */
  idleMs: 10 * 60_000,
  /** Audio arrives at most so many times as fast as it plays, over the period. */
  audioPace: { factor: 2, periodMs: 10_000 },
  eventsPerSecond: 200,
  /** Beyond one message of the most bytes. */
  bytesPerSecond: MIB,
  /** In one process: of messages that have not arrived whole, and of large messages that wait for their turn. */
  maxUnfinishedBytes: 128 * MIB,
  maxWaitingBytes: 64 * MIB,
};

/** Contract 4.17: batches. */
export const BATCHES = {
  maxBytes: 200 * MIB,
  maxLines: 50_000,
  maxLineBytes: 16 * MIB,
  maxCustomIdLength: 512,
  /** How long files of batches are kept. */
  fileDays: 30,
  /** How long lines may start after the creation of the batch. */
  windowHours: 24,
  /** The batches of an account that are not final, and their lines. */
  maxRunning: 50,
  maxRunningLines: 500_000,
  /** How often a line is started: what was started more often may be what its processes died of. */
  maxAttempts: 20,
  /** The errors of a refused input that are kept. */
  maxErrors: 100,
  metadata: { maxKeys: 16, maxKeyLength: 64, maxValueLength: 512 },
};

/** Dual control: how long a correction waits for its approval, and over how long one person's amounts add up. */
export const CORRECTIONS = { pendingDays: 7, addUpHours: 24 };

/**
 * Gift codes: the most codes of a batch and the most days that their promo credit lasts, and the wrong codes that an
 * account, and a network, may send in a window. Codes cannot be guessed; the limits keep guesses from costing anything.
 */
export const GIFT_CODES = {
  maxCodes: 1_000,
  maxCreditDays: 3_650,
  accountAttempts: 10,
  networkAttempts: 50,
  windowSeconds: 15 * 60,
};

/** The least and the most that customers may pay at once, in whole USD. */
export const CHECKOUT = { minUsd: 1, maxUsd: 10_000 };

/** Charges of a card per day, and after how long and for how long a charge of unknown outcome is retried. */
export const AUTO_TOP_UP = { maxPerDay: 5, retrySeconds: 60, attemptHours: 20 };

/** Contract 8.1: an account's successful requests to free models per minute, before and after its first top-up. */
export const FREE_REQUESTS_PER_MINUTE = { neverToppedUp: 1, toppedUp: 10 };

/**
 * Contract 4.8 and 4.11. Each text process keeps the names of end users with a budget in memory. A longer name is cut,
 * so that a client cannot fill the database with names.
 */
export const END_USERS = { maxNameLength: 128, maxBudgets: 10_000 };

/** Contract 4.11. Of each setter, the owner and the operator: each request locks and counts those that apply to it. */
export const ACCOUNT_BUDGETS = { maxBudgets: 20, maxModels: 20, maxModelLength: 100 };

/** Contract 4.9: the number of days in a usage report. */
export const USAGE = { defaultDays: 30, maxDays: 92 };

/** Contract 4.12: the days of history in the public status, and how old a cached status may be. */
export const STATUS = { days: 90, freshSeconds: 10 };

/** Contract 4.7 and 6. */
export const WEBHOOKS = {
  /** Per account. An account with more receivers should run one receiver that forwards events. */
  maxEndpoints: 20,
  /** How long the old secret signs deliveries beside the new one, while receivers change their secret. */
  secretOverlapSeconds: DAY_SECONDS,
  /** Receivers refuse deliveries whose timestamp differs by more than this from their clock. */
  timestampToleranceSeconds: 300,
  /** The limit for an attempt: connecting, sending, and receiving the first line of the response. */
  attemptTimeoutMs: 15_000,
  /** How much of the body of a receiver's answer is kept. */
  answerBytes: 4096,
  /** How long an attempt waits for that body after the first line, which decides its outcome. */
  answerReadMs: 1_000,
  /** The longest wait in the usual schedule; receivers cannot ask for a longer one. */
  maxRetryAfterSeconds: DAY_SECONDS,
  /** The most attempts of one delivery, redeliveries included. This bounds its log and its workflow's history. */
  maxAttempts: 100,
  /** The most deliveries that one redelivery call sends; the next call continues with the rest. */
  redeliveriesPerCall: 200,
  /** How long an event and its deliveries are kept after the last delivery is final. */
  keptDays: 30,
  testEventsPerMinute: 60,
  redeliveryCallsPerMinute: 60,
};

/** The refused calls of keys, which the pages of the keys list. */
export const REFUSED_CALLS = {
  /** The rows that are kept, the newest first. */
  perKey: 100,
  perAccount: 1_000,
  /** The most characters of a path and of a reason. */
  maxText: 300,
  /** The requests of a row that are kept, the newest first. */
  maxRequests: 10,
  keptHours: 24,
};

/** When people are notified by e-mail. */
export const NOTICE_TIMES = {
  /** Before a key expires. */
  keyExpiryDays: 7,
  /** The used part of the limit of a key. */
  keyLimitPercent: 90,
  /** After every delivery to a webhook endpoint has failed for so long. */
  failingHours: 1,
};

/** Contract 5. How long the terms of a plan apply after a period whose renewal is not paid yet. */
export const PLANS = { graceDays: 7 };

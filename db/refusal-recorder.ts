/** Collects the refused calls of keys in this process, and writes them in batches, for the pages of the keys. */
import type { Logger } from 'pino';
import { REFUSED_CALLS } from '../domain/policy.ts';
import { repeat } from '../domain/background-loop.ts';
import type { Database } from './database.ts';
import { type RefusedCall, type RefusedCalls, recordRefusedCalls } from './queries/refused-calls.ts';

export interface RefusalRecorder {
  /** Counts a refused call. Costs no statement. */
  record(call: RefusedCall): void;
  /** Writes now instead of at the next interval. @throws when the database is unavailable */
  flush(): Promise<void>;
  /** Writes for the last time. */
  stop(): Promise<void>;
}

const PAUSE_MS = 2_000;
/** The most entries of one key in a batch. Further calls of the key are counted by their code alone. */
const MAX_OF_KEY = 10;
/** The most entries in a batch. Further calls are not listed. */
const MAX_ENTRIES = 500;

/** Equal calls share an entry, and the entries are bounded, so that a flood of refused calls costs a few rows. */
export function createRefusalRecorder(database: Database, log: Pick<Logger, 'debug'>): RefusalRecorder {
  let entries = new Map<string, RefusedCalls & { readonly lastAtMs: number }>();
  let ofKeys = new Map<string, number>();

  function record(given: RefusedCall): void {
    const { requestId, reason, ...call } = storable(given);
    const ofKey = ofKeys.get(call.apiKeyId) ?? 0;
    const listed = ofKey < MAX_OF_KEY || entries.has(nameOf(call)) ? call : { ...call, method: '', path: '' };
    const name = nameOf(listed);
    const known = entries.get(name);
    if (known === undefined) {
      if (entries.size >= MAX_ENTRIES) return;
      ofKeys.set(call.apiKeyId, ofKey + 1);
    }
    entries.set(name, {
      ...listed,
      calls: (known?.calls ?? 0) + 1,
      requestIds: [requestId, ...(known?.requestIds ?? [])].slice(0, REFUSED_CALLS.maxRequests),
      reasons: [reason, ...(known?.reasons ?? [])].slice(0, REFUSED_CALLS.maxRequests),
      lastAtMs: performance.now(),
    });
  }

  async function flush(): Promise<void> {
    if (entries.size === 0) return;
    const taken = [...entries.values()];
    // A batch that cannot be written is lost: these rows only inform.
    entries = new Map();
    ofKeys = new Map();
    const nowMs = performance.now();
    await recordRefusedCalls(
      database,
      taken.map(({ lastAtMs, ...call }) => ({ ...call, ageMs: Math.round(nowMs - lastAtMs) })),
    );
  }

  const writing = repeat(flush, {
    pauseMs: PAUSE_MS,
    onError: (error) => log.debug({ err: error }, 'cannot record refused calls'),
  });

  return {
    record,
    flush,
    stop: async () => {
      await writing.stop();
      await flush().catch(() => undefined);
    },
  };
}

function nameOf({ apiKeyId, method, path, status, code }: Omit<RefusedCall, 'requestId' | 'reason'>): string {
  return JSON.stringify([apiKeyId, method, path, status, code]);
}

function storable(call: RefusedCall): RefusedCall {
  return { ...call, path: shortened(call.path), reason: shortened(call.reason) };
}

/** Shortens a text, and removes what PostgreSQL cannot store. */
function shortened(text: string): string {
  // A buffer replaces half of a pair that the cut left.
  return Buffer.from(text.slice(0, REFUSED_CALLS.maxText)).toString().replaceAll('\0', '');
}

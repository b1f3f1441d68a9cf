/** Records the requests to the simulator, for tests and for people who want to see what an upstream receives. */
import type { SimulatorRequest } from './router.ts';

const MAX_ENTRIES = 2000;
const MAX_TOTAL_BYTES = 32 * 2 ** 20;
const MAX_BODY_BYTES = 2 ** 20;

interface Entry extends Pick<SimulatorRequest, 'method' | 'url' | 'headers' | 'notes'> {
  readonly receivedAtMs: number;
  /** The body, or the start of a very long one. */
  readonly body: Buffer;
}

export interface RequestLog {
  add(request: SimulatorRequest): void;
  /** The latest requests as JSON, newest first. */
  latest(limit: number): readonly object[];
}

/** Keeps the latest requests, bounded in number and in bytes. */
export function createRequestLog(): RequestLog {
  let entries: Entry[] = [];
  let totalBytes = 0;

  const dropOldestHalf = (): void => {
    entries = entries.slice(Math.ceil(entries.length / 2));
    totalBytes = entries.reduce((sum, entry) => sum + entry.body.length, 0);
  };

  return {
    add({ method, url, headers, notes, body: whole }) {
      const body = whole.length > MAX_BODY_BYTES ? Buffer.from(whole.subarray(0, MAX_BODY_BYTES)) : whole;
      entries.push({ receivedAtMs: Date.now(), method, url, headers, notes, body });
      totalBytes += body.length;
      if (entries.length > MAX_ENTRIES || totalBytes > MAX_TOTAL_BYTES) dropOldestHalf();
    },
    latest: (limit) => entries.slice(-limit).toReversed().map(present),
  };
}

function present({ receivedAtMs, method, url, headers, notes, body }: Entry): object {
  return {
    ...notes,
    received_at: new Date(receivedAtMs).toISOString(),
    method,
    path: url.pathname + url.search,
    headers,
    body: presentBody(body.toString('utf8')),
  };
}

/** JSON as JSON, anything else as text, no body as null. */
function presentBody(text: string): unknown {
  if (text === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

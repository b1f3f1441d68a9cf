/**
 * The circuit breaker of upstreams: one circuit for each upstream, model and key. An open circuit keeps calls from a
 * failing upstream; when the opening has passed, the circuit is half-open, and a single call probes the upstream. A
 * probe costs one call, so the first openings are short: an upstream that recovers soon gets its traffic back soon.
 *
 * A text process keeps the circuits of its own calls in memory. Media workers compute a circuit from the submissions in
 * the database. Callers pass the time, so a circuit depends only on its calls.
 */

/** The fault of a failing upstream. The fault decides what to try next, and which circuit opens. */
export const UPSTREAM_FAULTS = [
  'unreachable',
  'key_refused',
  'access_refused',
  'model_unknown',
  'rate_limited',
  'failed',
  'silent',
] as const;
export type UpstreamFault = (typeof UPSTREAM_FAULTS)[number];

/** Why a circuit is open: the upstream's fault, or an operator's override. */
export const CIRCUIT_CAUSES = [...UPSTREAM_FAULTS, 'operator'] as const;

interface FaultRule {
  /** The part that the fault concerns; `access` is a key's access to a model. Circuits that share that part open together. */
  readonly part: 'address' | 'key' | 'model' | 'access';
  /** Whether a single failure opens the circuit; otherwise failures are counted. */
  readonly atOnce: boolean;
  /**
   * Whether a single account can provoke the fault by its requests, such as one with a missing file. Such a fault counts
   * once a second account has met it, with no answer in between.
   */
  readonly isProvocable: boolean;
  /** Whether only an operator can correct the fault, so that nobody knows when the upstream works again. */
  readonly needsOperator: boolean;
  readonly firstOpenMs: number;
}

const COUNTED = { atOnce: false, isProvocable: false, needsOperator: false, firstOpenMs: 10_000 };
const FOR_OPERATORS = { ...COUNTED, atOnce: true, needsOperator: true };

/** The failures that a circuit counts, for text and media. A refusal of a media job for load is no fault: the task waits. */
export const FAULT_RULES: Readonly<Record<UpstreamFault, FaultRule>> = {
  unreachable: { ...COUNTED, part: 'address' },
  key_refused: { ...FOR_OPERATORS, part: 'key' },
  access_refused: { ...FOR_OPERATORS, part: 'access', isProvocable: true },
  model_unknown: { ...FOR_OPERATORS, part: 'model', isProvocable: true },
  rate_limited: { ...COUNTED, part: 'access', atOnce: true, firstOpenMs: 5_000 },
  failed: { ...COUNTED, part: 'model' },
  silent: { ...COUNTED, part: 'model' },
};

export const FAILURES_IN_A_ROW = 5;
/** Clients that left before the silence of their upstream was a fault: so many in a row count as the failures above. */
export const CLIENTS_IN_A_ROW = 8;
/** Limits the waits that upstreams ask for, since some use units other than seconds. */
export const MAX_REQUESTED_WAIT_MS = 60 * 60_000;
export const MAX_OPEN_MS = 60_000;
/** Openings in a row that last as long as the first; each further one lasts twice as long as the one before. */
const EQUAL_OPENINGS = 6;
/** How long a probe blocks other calls while nothing is heard of it, and once its answer has started. */
export const PROBE_PATIENCE_MS = 30_000;
export const STARTED_PROBE_PATIENCE_MS = 5 * 60_000;
/** The number of recent outcomes from which on their share of failures counts. */
const MIN_OUTCOMES = 10;
const WINDOW_PARTS = 6;

export interface Opening {
  readonly cause: UpstreamFault;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** Whether answers started and broke off, so that the start of an answer does not show that the upstream works. */
  readonly needsCompletion: boolean;
}

export interface Circuit {
  /** Calls that started before do not count. The time of the latest opening or reset. */
  readonly countsFromMs: number;
  /** The period whose outcomes count as recent. */
  readonly windowMs: number;
  /** The current opening, or the last one until a probe succeeds. */
  readonly opening: Opening | null;
  readonly probe: { readonly startedAtMs: number; readonly untilMs: number } | null;
  /** Openings since the last complete answer. */
  readonly openingsInRow: number;
  /** Failed calls since an answer last started, and shares of a call for each client that left. */
  readonly failuresInRow: number;
  /** Broken answers since the last complete answer. */
  readonly breaksInRow: number;
  /** The outcomes of the window by part of the window. */
  readonly recent: readonly { readonly part: number; readonly good: number; readonly bad: number }[];
  /** The account that last met a provocable fault since an answer started; null if none did. */
  readonly refusedAccount: string | null;
}

export function newCircuit(windowMs: number, countsFromMs = -Infinity): Circuit {
  return { ...CLOSED, windowMs, countsFromMs, openingsInRow: 0, breaksInRow: 0, recent: [], refusedAccount: null };
}

const CLOSED = { opening: null, probe: null, failuresInRow: 0 };

/** `half-open`: the next call is the probe. While a probe is in progress, the circuit is `open` to all others. */
export type CircuitState = 'closed' | 'half-open' | 'open';

export function circuitState({ opening, probe }: Circuit, nowMs: number): CircuitState {
  if (opening === null) return 'closed';
  return nowMs < opening.untilMs || (probe !== null && nowMs < probe.untilMs) ? 'open' : 'half-open';
}

/** Records the start of a call, which is the probe if the circuit is half-open. */
export function recordCall(circuit: Circuit, nowMs: number): Circuit {
  if (circuitState(circuit, nowMs) !== 'half-open') return circuit;
  return { ...circuit, probe: { startedAtMs: nowMs, untilMs: nowMs + PROBE_PATIENCE_MS } };
}

/** A failure of an upstream. */
export interface CallFailure {
  readonly fault: UpstreamFault;
  /** Whether the answer had started. For media: whether the upstream had accepted the job. */
  readonly hadStarted: boolean;
  /** The wait that the upstream requested; null if it requested none. */
  readonly requestedWaitMs: number | null;
  /** Whose call failed; null if no account can have provoked the failure. */
  readonly account: string | null;
  /** From 0 to 1: shortens the opening by up to a fifth, so that processes probe at different times. */
  readonly random: number;
}

/**
 * `started`: the answer has started, or a media job was accepted; `completed`: the answer or render is complete;
 * `abandoned`: the client left before the answer started, weak evidence that an answer refutes; `unclear`: the call
 * ended and shows nothing about the upstream.
 */
export type CallOutcome = 'started' | 'completed' | 'abandoned' | 'unclear' | CallFailure;

/** @param startedAtMs when the call started */
export function recordOutcome(circuit: Circuit, startedAtMs: number, outcome: CallOutcome, nowMs: number): Circuit {
  const isOld = startedAtMs < circuit.countsFromMs;
  switch (outcome) {
    case 'started':
      return isOld ? circuit : recordStart({ ...circuit, refusedAccount: null, failuresInRow: 0 }, startedAtMs, nowMs);
    case 'completed': {
      const counted = { ...circuit, recent: addRecent(circuit, { good: 1, bad: 0 }, nowMs) };
      return isOld ? counted : { ...counted, ...CLOSED, openingsInRow: 0, breaksInRow: 0 };
    }
    case 'abandoned': {
      if (isOld || circuit.opening !== null) return circuit;
      const failuresInRow = circuit.failuresInRow + FAILURES_IN_A_ROW / CLIENTS_IN_A_ROW;
      const counted = { ...circuit, failuresInRow };
      return failuresInRow >= FAILURES_IN_A_ROW ? openForLonger(counted, SILENCE, nowMs) : counted;
    }
    case 'unclear':
      return withoutProbe(circuit, startedAtMs);
    default:
      return recordFailure(circuit, startedAtMs, outcome, nowMs);
  }
}

const SILENCE = { fault: 'silent', hadStarted: false, random: 0 } as const;

/** The start of an answer closes the circuit, unless answers start and break off: then the probe goes on. */
function recordStart(circuit: Circuit, startedAtMs: number, nowMs: number): Circuit {
  if (!circuit.opening?.needsCompletion) return { ...circuit, ...CLOSED };
  if (circuit.probe?.startedAtMs !== startedAtMs) return circuit;
  return { ...circuit, probe: { startedAtMs, untilMs: nowMs + STARTED_PROBE_PATIENCE_MS } };
}

function withoutProbe(circuit: Circuit, startedAtMs: number): Circuit {
  return circuit.probe?.startedAtMs === startedAtMs ? { ...circuit, probe: null } : circuit;
}

function recordFailure(before: Circuit, startedAtMs: number, failure: CallFailure, nowMs: number): Circuit {
  const circuit = withoutProbe(before, startedAtMs);
  const { fault, hadStarted, requestedWaitMs, account } = failure;
  const { refusedAccount, opening } = circuit;
  const rule = FAULT_RULES[fault];
  if (rule.isProvocable && account !== null) {
    const isConfirmed = refusedAccount !== null && refusedAccount !== account;
    if (!isConfirmed) return { ...circuit, refusedAccount: account };
  }
  if (requestedWaitMs !== null) return open(circuit, failure, nowMs, Math.min(requestedWaitMs, MAX_REQUESTED_WAIT_MS));
  if (startedAtMs < circuit.countsFromMs) return circuit;
  // Calls that were sent, for lack of another route, during an opening or beside its probe prove nothing new.
  if (opening !== null && (startedAtMs < opening.untilMs || circuit.probe !== null)) return circuit;
  const counted = {
    ...circuit,
    recent: addRecent(circuit, { good: 0, bad: 1 }, nowMs),
    failuresInRow: circuit.failuresInRow + (hadStarted ? 0 : 1),
    breaksInRow: circuit.breaksInRow + (hadStarted ? 1 : 0),
  };
  const inRow = hadStarted ? counted.breaksInRow : counted.failuresInRow;
  const isTooMuch = opening !== null || rule.atOnce || inRow >= FAILURES_IN_A_ROW || isMostlyBad(counted.recent);
  return isTooMuch ? openForLonger(counted, failure, nowMs) : counted;
}

type OpeningFailure = Pick<CallFailure, 'fault' | 'hadStarted' | 'random'>;

function openForLonger(circuit: Circuit, failure: OpeningFailure, nowMs: number): Circuit {
  const { openingsInRow } = circuit;
  const doublings = Math.max(openingsInRow - EQUAL_OPENINGS + 1, 0);
  const openMs = Math.min(FAULT_RULES[failure.fault].firstOpenMs * 2 ** doublings, MAX_OPEN_MS);
  const next = { ...circuit, openingsInRow: openingsInRow + 1 };
  return open(next, failure, nowMs, openMs * (1 - failure.random / 5));
}

/** Opens the circuit, or extends an opening; never shortens one. */
function open(circuit: Circuit, { fault, hadStarted }: OpeningFailure, nowMs: number, openMs: number): Circuit {
  const known = circuit.opening;
  const untilMs = nowMs + openMs;
  if (known !== null && known.untilMs >= untilMs) return circuit;
  const opening = { cause: fault, sinceMs: known?.sinceMs ?? nowMs, untilMs, needsCompletion: hadStarted };
  return known !== null && known.untilMs > nowMs ? { ...circuit, opening } : openLike(circuit, opening, nowMs);
}

/** Opens the circuit like another one that shares the part at fault. */
export function openLike(circuit: Circuit, opening: Opening, nowMs: number): Circuit {
  if (circuit.opening !== null && circuit.opening.untilMs > opening.untilMs) return circuit;
  return { ...circuit, ...CLOSED, opening, countsFromMs: nowMs, recent: [] };
}

export function closeCircuit(circuit: Circuit): Circuit {
  return { ...circuit, ...CLOSED };
}

function addRecent({ recent, windowMs }: Circuit, counts: { good: number; bad: number }, nowMs: number) {
  const part = Math.floor((nowMs * WINDOW_PARTS) / windowMs);
  const current = recent.find((one) => one.part === part) ?? { good: 0, bad: 0 };
  return [
    { part, good: current.good + counts.good, bad: current.bad + counts.bad },
    ...recent.filter((one) => one.part < part && one.part > part - WINDOW_PARTS),
  ];
}

/** Whether more than half of at least {@link MIN_OUTCOMES} outcomes are bad. */
function isMostlyBad(recent: Circuit['recent']): boolean {
  const [good, bad] = recent.reduce(([goods, bads], part) => [goods + part.good, bads + part.bad], [0, 0]);
  return good + bad >= MIN_OUTCOMES && bad > good;
}

/** A call with everything that is known of it. */
export interface PastCall {
  readonly startedAtMs: number;
  readonly outcomes: readonly { readonly outcome: CallOutcome; readonly atMs: number }[];
}

/** Computes a circuit from its calls, which are in any order. */
export function circuitAfter(calls: readonly PastCall[], circuit: Circuit): Circuit {
  const events = calls.flatMap(({ startedAtMs, outcomes }) => [
    { startedAtMs, atMs: startedAtMs, outcome: null },
    ...outcomes.map((one) => ({ startedAtMs, ...one })),
  ]);
  return events
    .toSorted((one, other) => one.atMs - other.atMs)
    .reduce(
      (known, { startedAtMs, atMs, outcome }) =>
        outcome === null ? recordCall(known, atMs) : recordOutcome(known, startedAtMs, outcome, atMs),
      circuit,
    );
}

/** A circuit as operators see it: `resting` is open, and `probing` is half-open or probed. */
export interface CircuitStatus {
  readonly state: 'ok' | 'resting' | 'probing';
  readonly cause: (typeof CIRCUIT_CAUSES)[number] | null;
  readonly sinceMs: number | null;
  readonly untilMs: number | null;
}

/** @param outOfService the period of an operator's override, which takes precedence; null if the upstream is in service */
export function describeCircuit(
  { opening }: Pick<Circuit, 'opening'>,
  outOfService: Pick<Opening, 'sinceMs' | 'untilMs'> | null,
  nowMs: number,
): CircuitStatus {
  if (outOfService !== null) return { state: 'resting', cause: 'operator', ...outOfService };
  if (opening === null) return { state: 'ok', cause: null, sinceMs: null, untilMs: null };
  const { cause, sinceMs, untilMs } = opening;
  return { state: nowMs < untilMs ? 'resting' : 'probing', cause, sinceMs, untilMs };
}

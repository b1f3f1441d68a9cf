/** Current problems, for operators: alert conditions that can be read from the database and this process. */
import { findPendingAcknowledgements } from '../../db/queries/acknowledgements.ts';
import { type Backlog, readBacklog } from '../../db/queries/backlog.ts';
import { readLedgerHealth } from '../../db/queries/ledger-health.ts';
import { listPendingCorrections } from '../../db/queries/corrections.ts';
import { listPollProblems, type PollProblem } from '../../db/queries/poll-problems.ts';
import { listRefusedPayments, type RefusedPayment } from '../../db/queries/refused-payments.ts';
import type { Authorship } from '../../db/queries/operator-actions.ts';
import { listAllWebhookEndpoints } from '../../db/queries/webhook-endpoints.ts';
import { type JudgedCalls, judgedCalls } from '../../domain/upstream-calls.ts';
import type { Readiness } from '../../telemetry/health.ts';
import { readRefusal } from './configuration-control.ts';
import type { UpstreamHealth } from './fleet-health.ts';
import type { SoldBelowCost } from '../../catalogue/below-cost.ts';
import { findSalesBelowCost } from '../money/price-lists.ts';
import type { Services } from '../services.ts';
import { listSoldModels, type SoldModel } from './sold-models.ts';

export type Problem =
  | { readonly kind: 'database' | 'temporal' }
  /** The circuits of an upstream's routes to these models are open. */
  | {
      readonly kind: 'circuit';
      readonly upstream: string;
      readonly models: ReadonlySet<string>;
      readonly cause: string;
    }
  /** An upstream fails many of its requests. */
  | {
      readonly kind: 'failing';
      readonly upstream: string;
      readonly model: string;
      readonly calls: JudgedCalls;
    }
  /** An upstream repeats a state of jobs that Genway does not know, or all polls of a job fail: tasks wait until the deadline. */
  | ({ readonly kind: (typeof POLL_PROBLEMS)[PollProblem['kind']] } & Omit<PollProblem, 'kind'>)
  /** A payment or a change of a plan that was announced and refused, so that a customer may lack what they paid for. */
  | ({ readonly kind: 'refusedPayment' } & RefusedPayment)
  | { readonly kind: 'overdue'; readonly count: number }
  | { readonly kind: 'lateTasks' | 'lateDeliveries'; readonly count: number; readonly seconds: number }
  | { readonly kind: 'endpoints' | 'approvals' | 'findings'; readonly count: number }
  /** Acknowledgements of findings that wait for a second person. */
  | { readonly kind: 'acknowledgements'; readonly count: number; readonly reconciliationId: string }
  /** Prices below an upstream's cost, in the catalogue (`list` is null) or in a version of a price list. */
  | { readonly kind: 'belowCost'; readonly list: string | null; readonly count: number; readonly first: SoldBelowCost }
  /** A process refused the operator's files, or the moderation service gave this process no verdict. */
  | { readonly kind: 'files' | 'moderation'; readonly reason: string }
  /** An operator disabled a model. */
  | ({ readonly kind: 'disabled'; readonly model: string } & Authorship);

export interface State {
  readonly readiness: Readiness;
  /** Null when the database does not answer. */
  readonly backlog: Backlog | null;
  /** The worst first. */
  readonly problems: readonly Problem[];
}

/** Work that waits for longer means that a relay is down or behind: see docs/on-call.md. */
const LATE_SECONDS = 30;
const FAILING_SHARE = 0.2;
const MAX_COUNT = 100;
const MAX_REFUSED_PAYMENTS = 10;
const POLL_PROBLEMS = { unknown_state: 'unknownWord', failed_polls: 'failedPolls' } as const;

export async function readState(services: Services): Promise<State> {
  const [readiness, fromDatabase] = await Promise.all([
    services.operations.checkHealth(),
    readProblems(services).catch(() => ({ backlog: null, problems: [] })),
  ]);
  const refusal = await readRefusal(services).catch(() => null);
  const unmoderated = services.moderation.problem();
  return {
    readiness,
    backlog: fromDatabase.backlog,
    problems: [
      ...(['database', 'temporal'] as const).flatMap((kind) => (readiness[kind] === 'ok' ? [] : [{ kind }])),
      ...fromDatabase.problems,
      ...(unmoderated === null ? [] : [{ kind: 'moderation', reason: unmoderated } as const]),
      ...(refusal === null ? [] : [{ kind: 'files', reason: refusal } as const]),
      ...listSoldModels(services).flatMap(disabledModel),
    ],
  };
}

async function readProblems(services: Services) {
  const { database } = services;
  const { upstreams } = services.operations;
  const [backlog, health, ledger, polls, endpoints, corrections, acknowledgements, losses, refused] = await Promise.all(
    [
      readBacklog(database),
      upstreams.list(),
      readLedgerHealth(database),
      listPollProblems(database),
      listAllWebhookEndpoints(database, { failing: true, limit: MAX_COUNT }),
      listPendingCorrections(database, MAX_COUNT),
      findPendingAcknowledgements(database),
      findSalesBelowCost(services),
      listRefusedPayments(database, MAX_REFUSED_PAYMENTS),
    ],
  );
  return {
    backlog,
    problems: [
      ...openCircuits(health),
      ...health.flatMap(failingRoute),
      ...polls.map(({ kind, ...poll }) => ({ kind: POLL_PROBLEMS[kind], ...poll })),
      ...refused.map((payment) => ({ kind: 'refusedPayment' as const, ...payment })),
      ...lateWork(backlog),
      ...counted('endpoints', endpoints.length),
      ...counted('approvals', corrections.length),
      ...(acknowledgements === null ? [] : [{ kind: 'acknowledgements', ...acknowledgements } as const]),
      ...counted('findings', ledger.findings),
      ...losses.map((loss) => ({ kind: 'belowCost' as const, ...loss })),
    ],
  };
}

/** One problem for each upstream and cause, however many models the upstream serves. */
function openCircuits(health: readonly UpstreamHealth[]): readonly Problem[] {
  const found = new Map<string, { upstream: string; models: Set<string>; cause: string }>();
  for (const { name: upstream, model, cause } of health) {
    if (cause === null) continue;
    const key = JSON.stringify([upstream, cause]);
    const circuit = found.get(key) ?? { upstream, models: new Set(), cause };
    circuit.models.add(model);
    found.set(key, circuit);
  }
  return Array.from(found.values(), (circuit) => ({ kind: 'circuit', ...circuit }));
}

function failingRoute(route: UpstreamHealth): readonly Problem[] {
  const calls = failingCallsOf(route);
  return calls === null ? [] : [{ kind: 'failing', upstream: route.name, model: route.model, calls }];
}

/** The latest calls of a route that is in service and fails many of them, before or after it accepted them; otherwise null. */
export function failingCallsOf({ cause, lastFiveMinutes, lastHour }: UpstreamHealth): JudgedCalls | null {
  const calls = judgedCalls(lastFiveMinutes, lastHour);
  const isFailing = cause === null && calls !== null && calls.failures > FAILING_SHARE * calls.requests;
  return isFailing ? calls : null;
}

function disabledModel({ disabledBy }: SoldModel): readonly Problem[] {
  if (disabledBy === null) return [];
  const { model, author, reason } = disabledBy;
  return [{ kind: 'disabled', model, author, reason }];
}

function lateWork(backlog: Backlog): readonly Problem[] {
  const { overdue, unstarted, oldestUnstartedSeconds, unstartedDeliveries, oldestUnstartedDeliverySeconds } = backlog;
  return [
    ...(overdue > 0 ? [{ kind: 'overdue', count: overdue } as const] : []),
    ...late('lateTasks', unstarted, oldestUnstartedSeconds),
    ...late('lateDeliveries', unstartedDeliveries, oldestUnstartedDeliverySeconds),
  ];
}

function late(kind: 'lateTasks' | 'lateDeliveries', count: number, seconds: number): readonly Problem[] {
  return seconds > LATE_SECONDS ? [{ kind, count, seconds: Math.round(seconds) }] : [];
}

function counted(kind: 'endpoints' | 'approvals' | 'findings', count: number): readonly Problem[] {
  return count > 0 ? [{ kind, count }] : [];
}

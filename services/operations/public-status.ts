/** The gateway's health for the public: each service now and by day, without the names of upstreams. */
import type { Catalogue, MediaModel, TextModel } from '../../catalogue/types.ts';
import type { Database } from '../../db/database.ts';
import type { Clock } from '../../db/database-clock.ts';
import {
  areDeliveriesLate,
  type DayAvailability,
  listAvailability,
  type ServiceRoute,
  WEBHOOK_CHECKS,
} from '../../db/queries/availability.ts';
import type { CallTarget } from '../../db/queries/upstream-calls.ts';
import { DAY_MS, dayOf, daysAfter } from '../../domain/day.ts';
import { addCalls, type CallSum, NO_CALLS } from '../../domain/upstream-calls.ts';
import { STATUS } from '../../domain/policy.ts';
import {
  availabilityOf,
  average,
  overallStatus,
  type RouteState,
  type ServiceStatus,
  statusOf,
} from '../../domain/service-status.ts';
import { cached } from '../cached.ts';
import type { UpstreamHealth } from './fleet-health.ts';
import { cacheByCatalogue } from '../cache-by-catalogue.ts';
import type { ModelControl } from './model-control.ts';
import type { UpstreamControl } from './upstream-control.ts';

export interface PublicStatus {
  readonly status: ServiceStatus;
  readonly updatedAtMs: number;
  readonly services: readonly ServiceReport[];
}

export interface ServiceReport {
  readonly kind: 'text' | 'video' | 'image' | 'webhooks';
  /** The family of text; null for other kinds. */
  readonly family: string | null;
  readonly status: ServiceStatus;
  /** The mean of the known days, from 0 to 1; null if no day is known. */
  readonly availability: number | null;
  /** The last 90 days, today's last. */
  readonly days: readonly { readonly date: string; readonly availability: number | null }[];
}

export type ReadStatus = () => Promise<PublicStatus>;

interface StatusDependencies {
  readonly database: Database;
  /** The same database, for statements that may run long. */
  readonly reports: Database;
  readonly upstreams: Pick<UpstreamControl, 'list'>;
  readonly models: Pick<ModelControl, 'disabledBy'>;
  readonly catalogue: () => Catalogue;
  readonly clock: Clock;
}

type Target = Omit<CallTarget, 'key'>;

interface Service extends Pick<ServiceReport, 'kind' | 'family'> {
  readonly models: readonly (MediaModel | TextModel)[];
}

/** Past days do not change. */
const PAST = { forMs: 3_600_000, staleForMs: DAY_MS, maxEntries: 2 };
/** A process queries the database once in this time, for any number of readers. */
const NOW = { forMs: STATUS.freshSeconds * 1000, staleForMs: 30_000, maxEntries: 1 };

/** @returns a function that reads the status, at most some seconds old */
export function createReadStatus({ catalogue, ...dependencies }: StatusDependencies): ReadStatus {
  const ofCatalogue = cacheByCatalogue(catalogue, (current) => {
    const services = servicesOf(current);
    const routes = services.flatMap(routesOf);
    const past = cached((today) => listPastDays(dependencies.reports, routes, today), PAST);
    return cached(() => readStatus(dependencies, services, routes, past), NOW);
  });
  return () => ofCatalogue()('');
}

function servicesOf({ textModels, videoModels, imageModels }: Catalogue): readonly Service[] {
  const text = [...textModels.values()];
  const families = [...new Set(text.map(({ family }) => family))];
  const services: readonly Service[] = [
    ...families.map(
      (family) => ({ kind: 'text', family, models: text.filter((model) => model.family === family) }) as const,
    ),
    { kind: 'video', family: null, models: [...videoModels.values()] },
    { kind: 'image', family: null, models: [...imageModels.values()] },
  ];
  return [...services.filter(({ models }) => models.length > 0), { kind: 'webhooks', family: null, models: [] }];
}

const nameOf = ({ kind, family }: Pick<Service, 'kind' | 'family'>): string => `${kind} ${family ?? ''}`;

function routesOf(service: Service): readonly ServiceRoute[] {
  const targets =
    service.kind === 'webhooks'
      ? [{ id: '', ...WEBHOOK_CHECKS }]
      : service.models.flatMap((model) => targetsOf(model).map((target) => ({ id: model.id, ...target })));
  return targets.map(({ id, upstream, format, model }) => ({
    service: nameOf(service),
    model: id,
    upstream,
    format,
    upstreamModel: model,
  }));
}

/** The upstreams' models that the routes of a model call, with any key. */
function targetsOf({ routes }: MediaModel | TextModel): readonly Target[] {
  return routes.map((route) => ({
    upstream: route.provider,
    format: 'format' in route ? route.format : '',
    model: route.model,
  }));
}

function listPastDays(reports: Database, routes: readonly ServiceRoute[], today: string) {
  const from = dayOf(daysAfter(new Date(today), 1 - STATUS.days));
  return listAvailability(reports, routes, { from, to: today });
}

async function readStatus(
  { database, upstreams, models, clock }: Omit<StatusDependencies, 'catalogue'>,
  services: readonly Service[],
  routes: readonly ServiceRoute[],
  past: (today: string) => Promise<readonly DayAvailability[]>,
): Promise<PublicStatus> {
  const moment = new Date(clock.nowMs());
  const [today, tomorrow] = [dayOf(moment), dayOf(daysAfter(moment, 1))];
  const [health, isLate, ...known] = await Promise.all([
    upstreams.list(),
    areDeliveriesLate(database),
    past(today),
    listAvailability(database, routes, { from: today, to: tomorrow }),
  ]);
  const byDay = new Map(known.flat().map(({ service, day, availability }) => [`${service} ${day}`, availability]));
  const reports = services.flatMap((service): readonly ServiceReport[] => {
    const { kind, family } = service;
    const now = kind === 'webhooks' ? Number(!isLate) : availabilityNow(service, health, models);
    if (now === null) return [];
    const days = Array.from({ length: STATUS.days }, (_, index) => {
      const date = dayOf(daysAfter(moment, index + 1 - STATUS.days));
      return { date, availability: byDay.get(`${nameOf(service)} ${date}`) ?? null };
    });
    const availability = average(days.flatMap((day) => day.availability ?? []));
    return [{ kind, family, status: statusOf(now), availability, days }];
  });
  return {
    status: overallStatus(reports.map(({ status }) => status)),
    updatedAtMs: moment.getTime(),
    services: reports,
  };
}

/** @returns null if operators have disabled every model of the service */
function availabilityNow(
  service: Service,
  health: readonly UpstreamHealth[],
  models: StatusDependencies['models'],
): number | null {
  const sold = service.models.filter(({ id }) => models.disabledBy(id) === null);
  return average(sold.map((model) => availabilityOf(targetsOf(model).map((target) => stateOf(target, health)))));
}

/** A route is open when all of its keys are. */
function stateOf(target: Target, health: readonly UpstreamHealth[]): RouteState {
  const circuits = health.filter(
    (circuit) =>
      circuit.name === target.upstream &&
      circuit.model === target.model &&
      ('format' in circuit ? circuit.format : '') === target.format,
  );
  const { requests, failures } = circuits.reduce<CallSum>(
    (total, { lastFiveMinutes }) => addCalls(total, lastFiveMinutes),
    NO_CALLS,
  );
  return { isOpen: circuits.every(({ state }) => state === 'resting'), requests, failures };
}

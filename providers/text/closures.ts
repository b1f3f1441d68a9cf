/** Upstreams that operators have taken out of service. Nobody asks them, even when no other is left. */
import { ServiceError } from '../../domain/errors.ts';
import type { Way } from './ways.ts';

/** What an operator orders of an upstream. */
export interface UpstreamOrder {
  readonly id: string;
  readonly upstream: string;
  readonly createdAt: Date;
  /** Until when nobody is to ask it; null where it is to be asked again, and what was wrong with it to be forgotten. */
  readonly until: Date | null;
}

export interface Closure {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class Closures {
  /** The order of each upstream that was taken note of last. */
  readonly #orders = new Map<string, UpstreamOrder>();

  /**
   * Takes note of orders.
   *
   * @param orders the newest of each upstream
   * @returns the upstreams that are to be asked again, each once
   */
  obey(orders: readonly UpstreamOrder[]): readonly string[] {
    const others = orders.filter(({ id, upstream }) => this.#orders.get(upstream)?.id !== id);
    for (const order of others) this.#orders.set(order.upstream, order);
    return others.filter(({ until }) => until === null).map(({ upstream }) => upstream);
  }

  /** For how long an upstream is out of service; null when it is not. */
  of(upstream: string, nowMs: number): Closure | null {
    const order = this.#orders.get(upstream);
    if (order === undefined || order.until === null || order.until.getTime() <= nowMs) return null;
    return { sinceMs: order.createdAt.getTime(), untilMs: order.until.getTime() };
  }

  /**
   * Those of some ways that are in service.
   *
   * @throws ServiceError 503 `processing_unavailable` when all of them have been taken out of it
   */
  open<SomeWay extends Way>(ways: readonly SomeWay[], nowMs: number): readonly SomeWay[] {
    if (this.#orders.size === 0) return ways;
    const open = ways.filter(({ route }) => this.of(route.provider, nowMs) === null);
    if (open.length > 0 || ways.length === 0) return open;
    const untilMs = Math.min(...ways.map(({ route }) => this.of(route.provider, nowMs)?.untilMs ?? nowMs));
    throw new ServiceError('processing_unavailable', 'The model is out of service for now; use another model.', {
      retryAfterSeconds: Math.max(Math.ceil((untilMs - nowMs) / 1000), 1),
    });
  }
}

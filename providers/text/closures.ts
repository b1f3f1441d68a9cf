/** Upstreams that operators have taken out of service. They get no requests, even if no other is left. */
import { ServiceError } from '../../domain/errors.ts';
import type { Way } from './ways.ts';

/** An operator's order about an upstream. */
export interface UpstreamOrder {
  readonly id: string;
  readonly upstream: string;
  readonly createdAt: Date;
  /** When it returns to service; null to put it back now and clear its record of failures. */
  readonly until: Date | null;
}

export interface Closure {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class Closures {
  /** The latest known order for each upstream. */
  readonly #orders = new Map<string, UpstreamOrder>();

  /**
   * Applies orders.
   *
   * @param orders the latest for each upstream
   * @returns the upstreams that return to service, each once
   */
  obey(orders: readonly UpstreamOrder[]): readonly string[] {
    const others = orders.filter(({ id, upstream }) => this.#orders.get(upstream)?.id !== id);
    for (const order of others) this.#orders.set(order.upstream, order);
    return others.filter(({ until }) => until === null).map(({ upstream }) => upstream);
  }

  /** How long an upstream is out of service; null if it is in service. */
  of(upstream: string, nowMs: number): Closure | null {
    const order = this.#orders.get(upstream);
    if (order === undefined || order.until === null || order.until.getTime() <= nowMs) return null;
    return { sinceMs: order.createdAt.getTime(), untilMs: order.until.getTime() };
  }

  /**
   * The ways that are in service.
   *
   * @throws ServiceError 503 `processing_unavailable` if all of them are out of service
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

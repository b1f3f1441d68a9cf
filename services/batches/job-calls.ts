/**
 * Requests of a job at a vendor's batch API take the path of direct requests, apart from the call of the upstream: the
 * request is kept for the job, and the answer comes from the job.
 */
import type { JobCredit, JobMoney } from '../../db/text-money/job-money.ts';
import type { JobPrices, LineHold } from '../../db/queries/batch-jobs.ts';
import type { HeldText, DecidedHold } from '../../db/text-money/allowances.ts';
import type { TextBilling, TextMoneyMetrics } from '../../db/text-money/billing.ts';
import { holdText } from '../../db/text-money/holds.ts';
import type { NewTextHold } from '../../db/text-money/ledger.ts';
import { amountOf } from '../../domain/allowance.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { batchPricing } from '../../domain/pricing.ts';
import type { Logger } from 'pino';
import { arrivedAnswer } from '../../providers/text/answer.ts';
import { errorForClient } from '../../providers/text/attempt-report.ts';
import type { BatchResult } from '../../providers/text/batches/vendor.ts';
import type { UpstreamRoute } from '../../providers/text/candidates.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import { FORMATS } from '../../text/formats.ts';
import { jsonTextOf } from '../../text/json/write.ts';
import type { UpstreamRequest } from '../../text/wire-format.ts';

export type JobRoute = Pick<UpstreamRoute, 'provider' | 'format' | 'model'>;

export interface BillingParts {
  readonly metrics: TextMoneyMetrics;
  readonly log: Logger;
}

/** Ends a request once it is kept. */
const KEPT = new ServiceError('processing_unavailable', 'The request is part of a job.');

/** Keeps the request that a route's upstream would get, and calls nothing. */
export function keepRequest(route: JobRoute, keep: (request: UpstreamRequest) => void): TextUpstreams['call'] {
  return async (call) => {
    keep(call.prepare(routeOf(route, call.routes), '').upstreamRequest);
    throw KEPT;
  };
}

/** Answers with the result of a job; null for a request that the vendor left out. */
export function answerFrom(route: JobRoute, result: BatchResult | null): TextUpstreams['call'] {
  return async (call) => {
    const prepared = call.prepare(routeOf(route, call.routes), '');
    if (result === null || result.status === null) throw LEFT_OUT;
    if (result.status !== 200) {
      throw errorForClient(FORMATS[route.format].upstream.parseError(result.status, result.body), call.body);
    }
    const answer = arrivedAnswer(Buffer.from(jsonTextOf(result.body)), call.signal);
    await call.begin(answer, prepared);
    await call.readOn(answer, prepared);
  };
}

const LEFT_OUT = new ServiceError(
  'processing_failed',
  'The model provider ended the batch without an answer to this request; send the request again.',
);

/** The route of a job. A job has whole answers, even of an upstream whose direct answers are always streams. */
function routeOf<Route extends UpstreamRoute>({ provider, format, model }: JobRoute, routes: readonly Route[]): Route {
  const route = routes.find((one) => one.provider === provider && one.format === format && one.model === model);
  if (route === undefined) throw LEFT_OUT;
  return { ...route, streamsOnly: false };
}

interface WaitingRequest {
  readonly hold: NewTextHold;
  readonly decide: (decided: DecidedHold) => void;
  readonly fail: (error: unknown) => void;
}

/** Holds the money of the requests of a job at once, when each of them waits for money or has left. */
export class JobBilling {
  readonly #money: Pick<JobMoney, 'hold'>;
  readonly #waiting: WaitingRequest[] = [];
  readonly #holds = new Map<string, LineHold>();
  #left: number;
  #prices: JobPrices | null = null;

  constructor(money: Pick<JobMoney, 'hold'>, requests: number) {
    this.#money = money;
    this.#left = requests;
  }

  /** Null if no request asked for money. */
  get prices(): JobPrices | null {
    return this.#prices;
  }

  /** The money of a request; undefined if it has none. @param requestId `req_…` */
  holdOf(requestId: string): LineHold | undefined {
    return this.#holds.get(requestId);
  }

  billingWith(parts: BillingParts): TextBilling {
    return {
      hold: async (charge) => {
        // The vendor's batches answer once, and do not search the web as Genway counts it.
        if (charge.callCount > 1 || charge.streamed || (charge.webSearches ?? 0) > 0)
          throw badRequest('not for batches');
        const { catalogueVersion, priceList, model } = charge;
        this.#prices ??= { catalogueVersion, priceList, pricing: model.pricing };
        return holdText(charge, { ...parts, allowances: { hold: (hold) => this.#wait(hold) } });
      },
    };
  }

  /** Each request calls it once, when it waits for nothing or has failed. */
  leave(): void {
    this.#left -= 1;
    this.#holdAll();
  }

  #wait(hold: NewTextHold): Promise<DecidedHold> {
    return new Promise((decide, fail) => {
      this.#waiting.push({ hold, decide, fail });
      this.#holdAll();
    });
  }

  #holdAll(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#left) return;
    const waiting = this.#waiting.splice(0);
    this.#decide(waiting).catch((error: unknown) => {
      for (const { fail } of waiting) fail(error);
    });
  }

  async #decide(waiting: readonly WaitingRequest[]): Promise<void> {
    const decisions = await this.#money.hold(waiting.map(({ hold }) => hold));
    for (const [index, { hold, decide, fail }] of waiting.entries()) {
      const decision = decisions[index];
      if (decision === undefined) fail(new Error('the ledger decides on every request'));
      else if (decision.refusal !== null) decide({ ...decision, window: null });
      else {
        const { signup, funded } = decision.held;
        const { allowanceId } = decision;
        const credit = { allowanceId, signup: signup.toString(), funded: funded.toString() };
        this.#holds.set(hold.requestId, { textRequestId: hold.id, ...credit });
        const amount = amountOf(decision.held);
        decide({ refusal: null, amount, window: null, settle: async () => {}, release: () => {} });
      }
    }
  }
}

/** Settles a request with the money that its job holds, at the prices of its start. */
export function settleFrom(
  money: Pick<JobMoney, 'settle'>,
  { signup, funded, allowanceId, textRequestId }: LineHold,
  { catalogueVersion, priceList, pricing }: JobPrices,
  costFactor: string,
  parts: BillingParts,
): TextBilling {
  const credit: JobCredit = { allowanceId, held: { signup: BigInt(signup), funded: BigInt(funded) } };
  const held: HeldText = {
    refusal: null,
    amount: amountOf(credit.held),
    window: null,
    settle: async (unpaid) => {
      // A request that is to be tried again has its own hold then.
      if (unpaid.batchLine === null) return;
      await money.settle(
        {
          ...unpaid,
          hold: { ...unpaid.hold, id: textRequestId },
          // The wait for a job says nothing about the speed of the upstream.
          measured: { latencyMs: null, firstByteMs: null },
          costFactor,
        },
        credit,
      );
    },
    release: () => {},
  };
  return {
    hold: (charge) =>
      holdText(
        { ...charge, model: { ...charge.model, pricing: batchPricing(pricing) }, catalogueVersion, priceList },
        { ...parts, allowances: { hold: async () => held } },
      ),
  };
}

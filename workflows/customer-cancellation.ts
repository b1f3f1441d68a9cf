/** A customer's request to cancel a task, which succeeds only where the provider surely renders nothing for it. */
import { CancellationScope, defineUpdate, isCancellation, setHandler } from '@temporalio/workflow';

/** Whether the task ends as cancelled, or why it goes on. */
export type CancelAnswer = { readonly isCancelled: true } | { readonly isCancelled: false; readonly reason: string };

/** Answers once the outcome is certain: after the refund, or when the provider goes on rendering. */
export const cancelByCustomer = defineUpdate<CancelAnswer>('cancelByCustomer');

/** Ends the task: the provider surely renders nothing for it. */
export class CancelledByCustomerError extends Error {
  override readonly name = 'CancelledByCustomerError';
}

/** Bounds the history: each attempt stops a step and starts it again. */
const MAX_ATTEMPTS = 5;

/** All requests of a task; several that wait get one answer. */
export class CustomerCancellation {
  readonly #waiting: ((answer: CancelAnswer) => void)[] = [];
  /** Why requests are refused at once; null while they may succeed. */
  #obstacle: string | null = null;
  #attempts = 0;
  /** The scope of the step in progress. */
  #scope: CancellationScope | null = null;

  constructor() {
    setHandler(cancelByCustomer, () => {
      const reason = this.#obstacle;
      if (reason !== null) return Promise.resolve({ isCancelled: false, reason });
      return new Promise<CancelAnswer>((resolve) => {
        this.#waiting.push(resolve);
        this.stopStep();
      });
    });
  }

  get isRequested(): boolean {
    return this.#waiting.length > 0;
  }

  /** Cancels the step in progress. */
  stopStep(): void {
    this.#scope?.cancel();
  }

  /** Answers all requests that wait. */
  answer(answer: CancelAnswer): void {
    for (const resolve of this.#waiting.splice(0)) resolve(answer);
  }

  /** Refuses requests from now on, and those that wait. */
  refuse(reason: string): void {
    this.#obstacle = reason;
    this.answer({ isCancelled: false, reason });
  }

  /** Lets requests succeed again. */
  allow(): void {
    this.#obstacle = null;
  }

  /**
   * Runs a step that may be stopped and started again. A request stops the step, and then asks the provider.
   *
   * @param settle makes sure that the provider renders nothing; returns the reason if that is not certain
   * @throws CancelledByCustomerError if the provider renders nothing
   */
  async runUnlessCancelled<Result>(step: () => Promise<Result>, settle: () => Promise<string | null>): Promise<Result> {
    for (;;) {
      const scope = new CancellationScope();
      this.#scope = scope;
      if (this.isRequested) scope.cancel();
      let result: { readonly value: Result } | null = null;
      try {
        result = { value: await scope.run(step) };
        if (!this.isRequested) return result.value;
      } catch (error) {
        if (!this.isRequested || !isCancellation(error)) throw error;
      }
      const reason = await settle();
      if (reason === null) throw new CancelledByCustomerError();
      this.#attempts += 1;
      if (this.#attempts < MAX_ATTEMPTS) this.answer({ isCancelled: false, reason });
      else this.refuse(reason);
      if (result !== null) return result.value;
    }
  }
}

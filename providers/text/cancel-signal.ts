/**
 * Signals to all parts of a call that it is cancelled, like an `AbortSignal`. Each text request needs two signals, and
 * Node's event targets would be too expensive.
 */
export class CancelSignal {
  #reason: Error | null = null;
  #listeners: (() => void)[] = [];

  get isCancelled(): boolean {
    return this.#reason !== null;
  }

  /** Why the call was cancelled; null if it was not. */
  get reason(): Error | null {
    return this.#reason;
  }

  /** Only the first reason counts. */
  cancel(reason: Error): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** @param listener called once, when the call is cancelled; never if it already was */
  listen(listener: () => void): void {
    this.#listeners.push(listener);
  }

  unlisten(listener: () => void): void {
    this.#listeners = this.#listeners.filter((one) => one !== listener);
  }
}

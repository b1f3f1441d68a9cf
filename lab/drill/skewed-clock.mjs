/**
 * Loaded before a program, sets its clock: `Date` is ahead of the machine's by `?ahead_ms=` in the module's address.
 * Timers and monotonic clocks are unchanged. Plain JavaScript, because Temporal's threads load it without a
 * loader of TypeScript.
 */

const aheadMs = Number(new URL(import.meta.url).searchParams.get('ahead_ms'));
const now = Date.now.bind(Date);

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now() + aheadMs] : args, newTarget),
  apply: () => new Date().toString(),
  get: (target, name, receiver) => (name === 'now' ? () => now() + aheadMs : Reflect.get(target, name, receiver)),
});

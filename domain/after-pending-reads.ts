/**
 * Runs `then` after data that has already arrived is read. After a process stood still, such as by SIGSTOP or a
 * suspended machine, timers run before sockets are read, and would end connections whose data waits in the kernel.
 */
export function afterPendingReads(then: () => void): void {
  setImmediate(() => setImmediate(then));
}

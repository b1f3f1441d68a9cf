/** How much a machine is slowed down by more work than it has cores for. */

export interface SlownessWatch {
  /** Ends the measurement. @returns the duration of work that takes 1 on an idle machine */
  stop(): number;
}

const EVERY_MS = 500;
/** The CPU time that each measurement spends. */
const BURNT_MS = 10;

export function watchSlowness(): SlownessWatch {
  let passedMs = 0;
  let workedMs = 0;
  const timer = setInterval(() => {
    const { passed, worked } = burn();
    passedMs += passed;
    workedMs += worked;
  }, EVERY_MS).unref();
  return {
    stop: () => {
      clearInterval(timer);
      return workedMs === 0 ? 1 : Math.max(passedMs / workedMs, 1);
    },
  };
}

/** Works for a while. @returns the elapsed time, and the CPU time, in milliseconds */
function burn(): { passed: number; worked: number } {
  const beganAt = performance.now();
  const before = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(before);
    const worked = (user + system) / 1000;
    if (worked >= BURNT_MS) return { passed: performance.now() - beganAt, worked };
  }
}

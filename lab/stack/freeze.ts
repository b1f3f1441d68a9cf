import { pause } from './pause.ts';

/** SIGSTOP, and SIGCONT after a while, or when the signal is aborted. */
export async function freezeProcesses(
  pids: readonly number[],
  forMs: number,
  signal = new AbortController().signal,
): Promise<void> {
  const goOn = (): void => {
    for (const pid of pids) sendSignal(pid, 'SIGCONT');
  };
  for (const pid of pids) sendSignal(pid, 'SIGSTOP');
  // A frozen process could not stop together with this one.
  process.once('exit', goOn);
  await pause(forMs, signal);
  process.off('exit', goOn);
  goOn();
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

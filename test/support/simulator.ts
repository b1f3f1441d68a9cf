import { createSimulator, type SimulatorOptions } from '../../lab/simulator/simulator.ts';
import { useStarted } from './started.ts';

/** A simulator for the tests of the suite that is being described. */
export function useSimulator(options?: SimulatorOptions): { readonly url: string } {
  return useStarted(async () => {
    const simulator = createSimulator(options);
    return { url: await simulator.listen(0, '127.0.0.1'), stop: () => simulator.close() };
  });
}

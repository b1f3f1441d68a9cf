import { createSimulator, type SimulatorOptions } from '../../lab/simulator/simulator.ts';
import { baseUrlsAt, type TextUpstreamSettings } from '../../providers/text/settings.ts';
import { useStarted } from './started.ts';

/** A simulator for the tests of the current suite. */
export function useSimulator(options?: SimulatorOptions): { readonly url: string } {
  return useStarted(async () => {
    const simulator = createSimulator(options);
    return { url: await simulator.listen(0, '127.0.0.1'), stop: () => simulator.close() };
  });
}

/** A simulator as an upstream for text. */
export async function startTextSimulator(): Promise<{
  readonly settings: TextUpstreamSettings;
  readonly stop: () => Promise<void>;
}> {
  const name = 'simulator';
  const simulator = createSimulator({ apiKey: name });
  const baseUrls = baseUrlsAt(await simulator.listen(0, '127.0.0.1'));
  return { settings: { name, apiKeys: [name], baseUrls }, stop: () => simulator.close() };
}

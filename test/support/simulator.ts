import { createSimulator, type SimulatorOptions } from '../../simulator/simulator.ts';
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
  readonly url: string;
  readonly settings: TextUpstreamSettings;
  readonly stop: () => Promise<void>;
}> {
  const apiKey = 'sk-of-the-simulator';
  const simulator = createSimulator({ apiKey });
  const url = await simulator.listen(0, '127.0.0.1');
  const settings = { name: 'simulator', apiKeys: [apiKey], baseUrls: baseUrlsAt(url) } as const;
  return { url, settings, stop: () => simulator.close() };
}

/** The list prices of the responses of simulated realtime sessions. */
import type { Catalogue } from '../../catalogue/types.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { PicoUsd } from '../../domain/money.ts';
import { priceText } from '../../domain/pricing.ts';
import type { Stack } from '../stack/stack.ts';

export const REALTIME_MODEL = 'demo-realtime';

/** A response that the upstream generated. */
export interface GeneratedResponse {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly price: PicoUsd;
}

/** @returns the responses that did not fail, of which the upstream reports the usage */
export function priceResponses(
  { textModels }: Pick<Catalogue, 'textModels'>,
  finished: Stack['realtimeUpstream']['finished'],
): readonly GeneratedResponse[] {
  const pricing = textModels.get(REALTIME_MODEL)?.pricing;
  if (pricing === undefined) throw new Error(`there is no model ${REALTIME_MODEL}`);
  return finished.flatMap(({ status, usage }) => {
    if (status === 'failed' || !isObject(usage)) return [];
    const [input, output] = [countsIn(usage['input_token_details']), countsIn(usage['output_token_details'])];
    const [inputTokens, outputTokens] = [input.text + input.audio, output.text + output.audio];
    const counts = {
      inputTotal: inputTokens,
      cacheRead: input.cached,
      cacheWrite: 0,
      cacheWrite1h: 0,
      outputTotal: outputTokens,
      audioInput: input.audio,
      audioOutput: output.audio,
    };
    return [{ inputTokens, outputTokens, price: priceText(pricing, counts, Date.now()).charge }];
  });
}

function countsIn(details: unknown): { readonly text: number; readonly audio: number; readonly cached: number } {
  const fields: JsonObject = isObject(details) ? details : {};
  const count = (name: string): number => Number(fields[name] ?? 0);
  return { text: count('text_tokens'), audio: count('audio_tokens'), cached: count('cached_tokens') };
}

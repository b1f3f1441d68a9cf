/** Counts the input tokens of a request without an answer to it: contract 4.8. */
import type { TextModel } from '../../catalogue/types.ts';
import { Meter } from '../../text/meter.ts';
import type { RenderContext } from '../../text/wire-format.ts';
import { affinityOf } from './affinity.ts';
import { estimateInputTokens } from './estimate-tokens.ts';
import { planExchange, type ReadRequest } from './exchange.ts';
import type { TextServices } from './services.ts';

export interface CountRequest extends Omit<ReadRequest, 'streamsArray'> {
  readonly model: TextModel;
  readonly accountId: string;
}

export interface InputTokens {
  readonly tokens: number;
  readonly countedBy: 'model' | 'genway';
}

/** Lets the vendor of the model's first route count the converted request, or else estimates the count. */
export async function countInput(
  { accountId, ...counted }: CountRequest,
  { upstreams, assertEnabled }: Pick<TextServices, 'upstreams' | 'assertEnabled'>,
): Promise<InputTokens> {
  const { request, model, body } = counted;
  const read = { ...counted, streamsArray: false };
  const context: RenderContext = {
    request,
    responseId: '',
    createdAtSeconds: 0,
    nowSeconds: () => 0,
    estimateInputTokens: () => 0,
  };
  const tokens = await upstreams.countInput({
    routes: model.routes,
    affinity: affinityOf(accountId, body),
    prepare: (route, apiKey) => {
      assertEnabled(model.id);
      return planExchange(read, route, apiKey, context, new Meter(), null);
    },
  });
  return tokens === null
    ? { tokens: estimateInputTokens(request), countedBy: 'genway' }
    : { tokens, countedBy: 'model' };
}

/** A native body as a canonical request: contract 4.8.4. */
import type { TextRequest } from '../canonical.ts';
import type { ParseContext } from '../wire-format.ts';
import { readContents, systemTurnOf } from './read-contents.ts';
import { readRequest } from './request-shape.ts';

export function parseRequest(body: unknown, { address }: ParseContext): TextRequest {
  if (address === undefined) throw new Error('the native format has its model, and whether to stream, in the path');
  const request = readRequest(body, '');
  const contents = request.getAs('contents', readContents);
  const system = request.get('systemInstruction');
  return {
    model: address.model,
    stream: address.stream,
    turns: system === undefined ? contents : [systemTurnOf(system), ...contents],
    tools: (request.get('tools') ?? []).flat(),
    sampling: request.get('generationConfig') ?? {},
  };
}

/** A native body as a canonical request: contract 4.8.4. */
import type { TextRequest } from '../canonical.ts';
import { compact } from '../read.ts';
import { unusedFields } from '../unused-fields.ts';
import type { ParseContext } from '../wire-format.ts';
import { readContents, systemTurnOf } from './read-contents.ts';
import { builtInTools, findWebSearch, READ_REQUEST } from './request-shape.ts';

export function parseRequest(body: unknown, { address, compatibility = 'specification' }: ParseContext): TextRequest {
  if (address === undefined) throw new Error('the native format has its model, and whether to stream, in the path');
  const request = READ_REQUEST[compatibility](body, '');
  const contents = request.getAs('contents', (value, path) => readContents(value, path, compatibility));
  const system = request.get('systemInstruction');
  const { toolChoice, allowed } = request.get('toolConfig') ?? {};
  const tools = (request.get('tools') ?? []).flat();
  const webSearch = compatibility === 'full' ? findWebSearch(request.object['tools']) : undefined;
  const { unused, ...settings } = request.get('generationConfig') ?? { sampling: {} };
  return compact({
    model: address.model,
    stream: address.stream,
    turns: system === undefined ? contents : [systemTurnOf(system), ...contents],
    tools: allowed === undefined ? tools : tools.filter(({ name }) => allowed.has(name)),
    webSearch,
    toolChoice,
    ...settings,
    unused: unusedFields(request.unused(), unused, builtInTools(request.object['tools'], webSearch)),
  });
}

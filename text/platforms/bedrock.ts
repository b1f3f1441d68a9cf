/**
 * Amazon Bedrock: Claude by InvokeModel, every model by Converse, and OpenAI's formats.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
 */
import { isObject } from '../../domain/json.ts';
import { compact } from '../read.ts';
import type { UpstreamRequest } from '../wire-format.ts';
import { type Platform, withKey } from './platform.ts';

const ANTHROPIC_VERSION = 'bedrock-2023-05-31';

export const bedrock: Platform = {
  formats: ['chat-completions', 'responses', 'messages', 'converse'],

  adapt(request, format) {
    const headers = withKey(request.headers, (key) => ({ authorization: `Bearer ${key}` }));
    if (format === 'messages') return claude({ ...request, headers });
    if (format === 'converse') return { ...request, headers };
    return { ...request, path: `/openai/v1${request.path}`, headers };
  },

  /** The name of the error is in a header: `ThrottlingException:http://internal.amazon.com/…`. */
  refusal(body, header) {
    const [type = ''] = header('x-amzn-errortype').split(':');
    if (type === '' || !isObject(body)) return body;
    return { error: { type, message: body['message'] ?? body['Message'] } };
  },
};

/** Claude takes the model and whether to stream in the path, and versions and betas in the body. */
function claude({ path, headers, body }: UpstreamRequest): UpstreamRequest {
  const { 'anthropic-version': _version, 'anthropic-beta': betas, ...others } = headers;
  const { model, stream, ...fields } = body;
  const sent = compact({
    anthropic_version: ANTHROPIC_VERSION,
    anthropic_beta: betas === undefined ? undefined : betas.split(','),
    ...fields,
  });
  const base = `/model/${encodeURIComponent(String(model))}`;
  if (path !== '/messages') return { path: `${base}/count-tokens`, headers: others, body: countInput(sent) };
  const method = stream === true ? 'invoke-with-response-stream' : 'invoke';
  return { path: `${base}/${method}`, headers: others, body: sent };
}

/** The request to count is inside, as it would be sent. https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html */
function countInput(body: UpstreamRequest['body']): UpstreamRequest['body'] {
  return {
    input: { invokeModel: { body: Buffer.from(JSON.stringify({ max_tokens: 1, ...body })).toString('base64') } },
  };
}

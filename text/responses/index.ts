/** The responses format: contract 4.8.2. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { OPENAI_SCHEMA_LIMITS } from '../fit-schemas.ts';
import { renderError } from '../chat-completions/errors.ts';
import { parseError } from '../chat-completions/upstream.ts';
import { countWith } from '../count-input.ts';
import { COMMENT_FRAME } from '../sse.ts';
import type { WireFormat } from '../wire-format.ts';
import { adoptBody } from './adopt-body.ts';
import { buildRequest, forwardRequest, MINIMUM_OUTPUT_TOKENS } from './build-request.ts';
import { renderStreamError } from './errors.ts';
import { parseRequest } from './parse-request.ts';
import { createRepairer } from './repair.ts';
import { renderResult } from './render-result.ts';
import { renderKeepAlive, renderStream } from './render-stream.ts';
import { signaturePlaces } from './signatures.ts';
import { parseResult, parseStream } from './upstream.ts';

/** Errors have the shape of chat completions in both directions. */
export const responses: WireFormat = {
  name: 'responses',
  client: {
    settingNames: {
      temperature: 'temperature',
      topP: 'top_p',
      verbosity: 'text.verbosity',
      reasoningEffort: 'reasoning.effort',
      toolChoice: 'tool_choice',
      parallelToolCalls: 'parallel_tool_calls',
      strictTools: 'tools.strict',
      userId: 'user',
      promptCacheKey: 'prompt_cache_key',
      imageDetail: 'input_image.detail',
    },
    schemaNames: { tool: 'tools.parameters', answer: 'text.format.schema', strictTool: 'tools.strict' },
    hasStopSequence: false,
    keepAliveFrame: COMMENT_FRAME,
    renderKeepAlive,
    adoptBody,
    parseRequest,
    renderResult,
    renderStream,
    renderError,
    renderRefusal: presentTypedError,
    renderStreamError,
  },
  upstream: {
    // https://platform.openai.com/docs/api-reference/responses/create
    schemaLimits: OPENAI_SCHEMA_LIMITS,
    toolNames: /^[A-Za-z0-9_-]{1,64}$/,
    missingSettings: ['topK', 'seed', 'frequencyPenalty', 'presencePenalty', 'cacheMarks'],
    isOneAnswerPerCall: true,
    inputCount: countWith('/responses/input_tokens', [
      'model',
      'input',
      'instructions',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'reasoning',
      'text',
      'truncation',
    ]),
    stopSequences: 'unsupported',
    minOutputTokens: MINIMUM_OUTPUT_TOKENS,
    buildRequest,
    forwardRequest,
    parseResult,
    parseStream,
    createRepairer,
    signaturePlaces,
    parseError,
  },
};

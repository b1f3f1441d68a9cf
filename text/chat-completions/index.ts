/** The chat-completions format: contract 4.8.1. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { OPENAI_SCHEMA_LIMITS } from '../fit-schemas.ts';
import { COMMENT_FRAME } from '../sse.ts';
import type { WireFormat } from '../wire-format.ts';
import { adoptBody } from './adopt-body.ts';
import { buildRequest, forwardRequest } from './build-request.ts';
import { renderError, renderStreamError } from './errors.ts';
import { createRepairer } from './repair.ts';
import { parseRequest } from './parse-request.ts';
import { renderResult } from './render-result.ts';
import { renderStream } from './render-stream.ts';
import { signaturePlaces } from './signatures.ts';
import { parseError, parseResult, parseStream } from './upstream.ts';

export const chatCompletions: WireFormat = {
  name: 'chat-completions',
  client: {
    settingNames: {
      temperature: 'temperature',
      topP: 'top_p',
      topK: 'top_k',
      seed: 'seed',
      frequencyPenalty: 'frequency_penalty',
      presencePenalty: 'presence_penalty',
      verbosity: 'verbosity',
      reasoningEffort: 'reasoning_effort',
      toolChoice: 'tool_choice',
      parallelToolCalls: 'parallel_tool_calls',
      strictTools: 'tools.strict',
      userId: 'user',
      promptCacheKey: 'prompt_cache_key',
      imageDetail: 'image_url.detail',
      cacheMarks: 'cache_control',
    },
    hasCallSignatures: true,
    schemaNames: { tool: 'tools.parameters', answer: 'response_format.json_schema.schema', strictTool: 'tools.strict' },
    hasStopSequence: false,
    keepAliveFrame: COMMENT_FRAME,
    adoptBody,
    parseRequest,
    renderResult,
    renderStream,
    renderError,
    renderRefusal: presentTypedError,
    renderStreamError,
  },
  upstream: {
    // https://platform.openai.com/docs/api-reference/chat/create
    schemaLimits: OPENAI_SCHEMA_LIMITS,
    toolNames: /^[A-Za-z0-9_-]{1,64}$/,
    // Few services with this format have the key, and some refuse fields that they do not have.
    missingSettings: ['cacheMarks', 'promptCacheKey'],
    stopSequences: 'unreported',
    maxStopSequences: 4,
    buildRequest,
    forwardRequest,
    parseResult,
    parseStream,
    createRepairer,
    signaturePlaces,
    parseError,
  },
};

/** The messages format: contract 4.8.3. The endpoint checks its version header. */
import { presentMessagesError } from '../../domain/error-envelope.ts';
import { countWith } from '../count-input.ts';
import { encodeEvent } from '../sse.ts';
import type { WireFormat } from '../wire-format.ts';
import { adoptBody } from './adopt-body.ts';
import { buildRequest, forwardRequest, canSendStopSequence } from './build-request.ts';
import { renderError, renderStreamError } from './errors.ts';
import { createRepairer } from './repair.ts';
import { parseRequest } from './parse-request.ts';
import { renderResult } from './render-result.ts';
import { renderStream } from './render-stream.ts';
import { signaturePlaces } from './signatures.ts';
import { SCHEMA_LIMITS } from './schema.ts';
import { parseError, parseResult, parseStream } from './upstream.ts';

export const messages: WireFormat = {
  name: 'messages',
  client: {
    settingNames: {
      temperature: 'temperature',
      topP: 'top_p',
      topK: 'top_k',
      reasoningEffort: 'output_config.effort',
      toolChoice: 'tool_choice',
      parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
      strictTools: 'tools.strict',
      userId: 'metadata.user_id',
      cacheMarks: 'cache_control',
    },
    schemaNames: { tool: 'tools.input_schema', answer: 'output_config.format.schema', strictTool: 'tools.strict' },
    hasStopSequence: true,
    keepAliveFrame: encodeEvent('{"type":"ping"}', 'ping'),
    adoptBody,
    parseRequest,
    renderResult,
    renderStream,
    renderError,
    renderRefusal: presentMessagesError,
    renderStreamError,
  },
  upstream: {
    // https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
    schemaLimits: SCHEMA_LIMITS,
    toolNames: /^[A-Za-z0-9_-]{1,64}$/,
    missingSettings: ['seed', 'frequencyPenalty', 'presencePenalty', 'verbosity', 'promptCacheKey', 'imageDetail'],
    isOneAnswerPerCall: true,
    isSchemaRequiredForJson: true,
    inputCount: countWith('/messages/count_tokens', [
      'model',
      'messages',
      'system',
      'tools',
      'tool_choice',
      'thinking',
      'output_config',
    ]),
    stopSequences: 'reported',
    canSendStopSequence,
    buildRequest,
    forwardRequest,
    parseResult,
    parseStream,
    createRepairer,
    signaturePlaces,
    parseError,
  },
};

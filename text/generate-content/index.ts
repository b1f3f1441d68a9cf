/** The native format: contract 4.8.4. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { renderError } from '../chat-completions/errors.ts';
import type { WireFormat } from '../wire-format.ts';
import { adoptBody } from './adopt-body.ts';
import { buildRequest, forwardRequest } from './build-request.ts';
import { inputCount } from './count-input.ts';
import { createRepairer } from './repair.ts';
import { parseRequest } from './parse-request.ts';
import { renderStreamError } from './errors.ts';
import { renderResult } from './render-result.ts';
import { renderStream } from './render-stream.ts';
import { signaturePlaces } from './signatures.ts';
import { givesJsonBesideTools } from './thinking.ts';
import { parseError, parseResult, parseStream } from './upstream.ts';

export const generateContent: WireFormat = {
  name: 'generate-content',
  client: {
    settingNames: {
      temperature: 'generationConfig.temperature',
      topP: 'generationConfig.topP',
      topK: 'generationConfig.topK',
      seed: 'generationConfig.seed',
      frequencyPenalty: 'generationConfig.frequencyPenalty',
      presencePenalty: 'generationConfig.presencePenalty',
      reasoningEffort: 'generationConfig.thinkingConfig',
      toolChoice: 'toolConfig',
    },
    hasCallSignatures: true,
    schemaNames: {
      tool: 'tools.parameters',
      answer: 'generationConfig.responseJsonSchema',
      strictTool: 'tools.strict',
    },
    hasStopSequence: false,
    // The Python SDK mistakes a comment for data.
    keepAliveFrame: null,
    adoptBody,
    parseRequest,
    renderResult,
    renderStream,
    renderError,
    renderRefusal: presentTypedError,
    renderStreamError,
  },
  upstream: {
    // https://ai.google.dev/api/caching#FunctionDeclaration
    schemaLimits: { notAtTop: [], needsProperties: false },
    toolNames: /^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$/,
    givesAnyJson: true,
    givesJsonBesideTools,
    missingSettings: [
      'verbosity',
      'parallelToolCalls',
      'strictTools',
      'userId',
      'promptCacheKey',
      'imageDetail',
      'cacheMarks',
    ],
    inputCount,
    stopSequences: 'unreported',
    maxStopSequences: 5,
    buildRequest,
    forwardRequest,
    parseResult,
    parseStream,
    createRepairer,
    signaturePlaces,
    parseError,
  },
};

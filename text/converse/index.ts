/** Converse, the format of Amazon Bedrock for all of its models. Only upstreams use the format. */
import type { UpstreamHalf } from '../wire-format.ts';
import { MAX_COMPILED } from '../messages/schema.ts';
import { buildRequest } from './build-request.ts';
import { parseError, parseResult, parseStream } from './upstream.ts';

export const converse: UpstreamHalf = {
  name: 'converse',
  upstream: {
    schemaLimits: { notAtTop: ['oneOf', 'anyOf', 'allOf'], needsProperties: false, maxCompiled: MAX_COMPILED },
    // https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html
    toolNames: /^[A-Za-z0-9_-]{1,64}$/,
    missingSettings: [
      'topK',
      'seed',
      'frequencyPenalty',
      'presencePenalty',
      'verbosity',
      'parallelToolCalls',
      'userId',
      'promptCacheKey',
      'imageDetail',
    ],
    isOneAnswerPerCall: true,
    isSchemaRequiredForJson: true,
    stopSequences: 'unreported',
    canSendStopSequence: (sequence) => sequence.trim() !== '',
    maxStopSequences: 4,
    buildRequest,
    parseResult,
    parseStream,
    parseError,
  },
};

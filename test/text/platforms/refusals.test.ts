/** What clouds answer instead of an answer: names, statuses and sentences as their documents and users report them. */
import { expect } from 'chai';
import type { UpstreamFault } from '../../../domain/circuit.ts';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { UpstreamFormatName } from '../../../domain/wire-format-name.ts';
import { FORMATS } from '../../../text/formats.ts';
import { platformOf, type PlatformName } from '../../../text/platforms/index.ts';

type Verdict = readonly [code: ErrorCode, fault: UpstreamFault | null];
const MODEL_UNKNOWN: Verdict = ['processing_unavailable', 'model_unknown'];
const ACCESS_REFUSED: Verdict = ['processing_unavailable', 'access_refused'];
const KEY_REFUSED: Verdict = ['processing_unavailable', 'key_refused'];
const RATE_LIMITED: Verdict = ['rate_limit_exceeded', 'rate_limited'];
const FAILED: Verdict = ['processing_failed', 'failed'];
const TIMED_OUT: Verdict = ['processing_timeout', 'failed'];
const UNAVAILABLE: Verdict = ['processing_unavailable', 'failed'];
const INVALID: Verdict = ['bad_request', null];
const FILTERED: Verdict = ['content_policy_violation', null];

type Recorded = readonly [
  status: number,
  /** The name of the error; of Bedrock in a header. */
  name: string | null,
  message: string,
  verdict: Verdict,
];

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html and the errors of its calls */
const BEDROCK: readonly Recorded[] = [
  [400, 'ValidationException', 'The provided model identifier is invalid.', MODEL_UNKNOWN],
  [
    400,
    'ValidationException',
    'Invocation of model ID anthropic.claude-opus-5 with on-demand throughput isn’t supported.',
    MODEL_UNKNOWN,
  ],
  [
    400,
    'ValidationException',
    'Access to Anthropic models is not allowed from unsupported countries, regions, or territories.',
    ACCESS_REFUSED,
  ],
  [400, 'ValidationException', 'messages: final assistant content cannot end with trailing whitespace', INVALID],
  [403, 'AccessDeniedException', 'Authentication failed: Please make sure your API Key is valid.', ACCESS_REFUSED],
  [404, 'ResourceNotFoundException', 'Model use case details have not been submitted for this account.', MODEL_UNKNOWN],
  [400, 'ValidationException', 'Input is too long for requested model.', INVALID],
  [400, 'ValidationException', 'prompt is too long: 215000 tokens > 200000 maximum', INVALID],
  [400, 'ServiceQuotaExceededException', 'Too many tokens per day.', RATE_LIMITED],
  [403, 'AccessDeniedException', "You don't have access to the model.", ACCESS_REFUSED],
  [403, 'AccessDeniedException', 'is not authorized to perform: bedrock:InvokeModel', ACCESS_REFUSED],
  [403, 'ExpiredTokenException', 'The security token included is expired', KEY_REFUSED],
  [403, 'UnrecognizedClientException', 'The security token included is invalid.', KEY_REFUSED],
  [403, 'InvalidSignatureException', 'Signature expired: is now earlier than', KEY_REFUSED],
  [403, 'InvalidSignatureException', 'The signature we calculated does not match', KEY_REFUSED],
  [403, 'MissingAuthenticationTokenException', 'Missing Authentication Token', KEY_REFUSED],
  [403, 'IncompleteSignatureException', 'The signature is incomplete', KEY_REFUSED],
  [404, 'ResourceNotFoundException', 'Could not resolve the foundation model.', MODEL_UNKNOWN],
  [404, 'ResourceNotFoundException', 'This model version has reached the end of its life.', MODEL_UNKNOWN],
  [408, 'ModelTimeoutException', 'Model has timed out.', TIMED_OUT],
  [424, 'ModelErrorException', 'The model had an error.', FAILED],
  [424, 'ModelStreamErrorException', 'The stream had an error.', FAILED],
  [429, 'ThrottlingException', 'Too many requests, please wait before trying again.', RATE_LIMITED],
  [429, 'ThrottlingException', 'Too many tokens, please wait before trying again.', RATE_LIMITED],
  [429, 'ModelNotReadyException', 'The model is not ready for inference.', RATE_LIMITED],
  [500, 'InternalServerException', 'The system encountered an unexpected error.', FAILED],
  [503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.', UNAVAILABLE],
];

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors */
const VERTEX: readonly Recorded[] = [
  [400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.', INVALID],
  [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.', INVALID],
  [
    400,
    'FAILED_PRECONDITION',
    'Project 123 is not allowed to use Publisher Model projects/123/locations/us-central1/publishers/anthropic/models/m',
    ACCESS_REFUSED,
  ],
  [400, 'FAILED_PRECONDITION', 'Publisher Model is not servable in region us-central1.', MODEL_UNKNOWN],
  [400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.', KEY_REFUSED],
  [
    400,
    'INVALID_ARGUMENT',
    'The input token count (185586) exceeds the maximum number of tokens allowed (131072).',
    INVALID,
  ],
  [400, 'INVALID_ARGUMENT', 'Unable to submit request because it must have a text parameter.', INVALID],
  [400, 'INVALID_ARGUMENT', 'Invalid JSON payload received. Unknown name "foo"', INVALID],
  [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.', KEY_REFUSED],
  [403, 'PERMISSION_DENIED', "Permission 'aiplatform.endpoints.predict' denied", ACCESS_REFUSED],
  [403, 'PERMISSION_DENIED', 'Vertex AI API has not been used in project', ACCESS_REFUSED],
  [403, 'PERMISSION_DENIED', 'This API method requires billing to be enabled.', ACCESS_REFUSED],
  [403, 'PERMISSION_DENIED', 'Request had insufficient authentication scopes.', ACCESS_REFUSED],
  [404, 'NOT_FOUND', 'Publisher Model was not found', MODEL_UNKNOWN],
  [404, 'NOT_FOUND', 'This model models/gemini-2.0-flash is no longer available.', MODEL_UNKNOWN],
  [408, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.', TIMED_OUT],
  [429, 'RESOURCE_EXHAUSTED', 'Resource exhausted. Please try again later.', RATE_LIMITED],
  [429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for online_prediction_requests_per_base_model', RATE_LIMITED],
  [
    429,
    'RESOURCE_EXHAUSTED',
    'Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model',
    RATE_LIMITED,
  ],
  [499, 'CANCELLED', 'The operation was cancelled.', FAILED],
  [500, 'INTERNAL', 'Internal error encountered.', FAILED],
  [503, 'UNAVAILABLE', 'The service is currently unavailable.', UNAVAILABLE],
  [504, 'DEADLINE_EXCEEDED', 'Deadline exceeded', TIMED_OUT],
];

/** https://learn.microsoft.com/en-us/azure/foundry/openai/concepts/content-filter and its quotas */
const AZURE: readonly Recorded[] = [
  [400, 'content_filter', 'The response was filtered due to the prompt.', FILTERED],
  [400, 'context_length_exceeded', "This model's maximum context length is 128000 tokens.", INVALID],
  [400, 'unsupported_parameter', "Unsupported parameter: 'max_tokens'", INVALID],
  [400, 'invalid_request_error', 'Invalid value', INVALID],
  [
    400,
    'OperationNotSupported',
    'The chatCompletion operation does not work with the specified model, gpt-5-pro.',
    MODEL_UNKNOWN,
  ],
  [
    400,
    'ServiceModelDeprecating',
    "The model 'Format:OpenAI,Name:gpt-4o,Version:2024-11-20' is in deprecation.",
    MODEL_UNKNOWN,
  ],
  [401, '401', 'Access denied due to invalid subscription key.', KEY_REFUSED],
  [401, 'PermissionDenied', 'The principal lacks the required data action', KEY_REFUSED],
  [403, '403', 'Public access is disabled. Please configure private endpoint.', ACCESS_REFUSED],
  [403, '403', 'Access denied due to Virtual Network/Firewall rules.', ACCESS_REFUSED],
  [
    403,
    'Forbidden',
    'Your resource has been temporarily blocked because we detected unusual behavior.',
    ACCESS_REFUSED,
  ],
  [404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.', MODEL_UNKNOWN],
  [404, '404', 'Resource not found', MODEL_UNKNOWN],
  [408, 'Timeout', 'The operation was timeout.', TIMED_OUT],
  [429, '429', 'Requests have exceeded call rate limit of your current OpenAI S0 pricing tier.', RATE_LIMITED],
  [
    410,
    'ModelDeprecated',
    'The model associated with the deployment is deprecated and no longer available.',
    MODEL_UNKNOWN,
  ],
  [
    429,
    'too_many_requests',
    'The system is currently experiencing high demand and cannot process your request.',
    RATE_LIMITED,
  ],
  [429, 'RateLimitReached', 'Your requests have exceeded token rate limit.', RATE_LIMITED],
  [429, 'too_many_requests', 'Too many requests', RATE_LIMITED],
  [429, 'insufficient_quota', 'You exceeded your current quota', KEY_REFUSED],
  [500, 'InternalServerError', 'Backend returned unexpected response.', FAILED],
  [503, 'ServiceUnavailable', 'The service is temporarily unable to process your request.', UNAVAILABLE],
];

const CLOUDS: readonly (readonly [PlatformName, readonly UpstreamFormatName[], readonly Recorded[]])[] = [
  ['bedrock', ['messages', 'converse'], BEDROCK],
  ['vertex', ['messages', 'generate-content'], VERTEX],
  ['azure', ['chat-completions', 'responses'], AZURE],
];

/** An error in the form of its cloud. */
function bodyOf(cloud: PlatformName, [status, name, message]: Recorded): object {
  if (cloud === 'bedrock') return { message };
  return cloud === 'vertex' ? { error: { code: status, status: name, message } } : { error: { code: name, message } };
}

describe('a refusal of a cloud', () => {
  for (const [cloud, formats, recorded] of CLOUDS) {
    for (const format of formats) {
      it(`of ${cloud} has its code and its fault in ${format}`, () => {
        for (const refusal of recorded) {
          const [status, name, message, verdict] = refusal;
          const body = bodyOf(cloud, refusal);
          const header = (asked: string): string =>
            cloud === 'bedrock' && asked === 'x-amzn-errortype' ? `${name}:http://internal.amazon.com/` : '';
          const read = platformOf(cloud).refusal?.(body, header) ?? body;
          const error = FORMATS[format].upstream.parseError(status, read);
          expect([error.code, error.fault], `${status} ${name} ${message}`).to.deep.equal(verdict);
          expect(error.vendorMessage).to.equal(message);
        }
      });
    }
  }

  it('of Bedrock for a prompt that is too long says so', () => {
    for (const format of ['messages', 'converse'] as const) {
      const error = { type: 'ValidationException', message: 'Input is too long for requested model.' };
      expect(FORMATS[format].upstream.parseError(400, { error }).overflow).not.to.equal(null);
    }
  });

  it('of Azure names its filter inside, whatever the code is', () => {
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: { hate: { filtered: true } } };
    const { upstream } = FORMATS['chat-completions'];
    expect(upstream.parseError(400, { error: { code: null, message: 'No.', innererror } }).code).to.equal(
      'content_policy_violation',
    );
  });
});

/** The native format: https://ai.google.dev/api/generate-content */
import type { SimulatorRequest } from '../router.ts';
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { tone } from '../realtime/tone.ts';
import type { Conversation, Entry, OfferedTool, ToolChoice } from './conversation.ts';
import { badRequest, RETRY_AFTER_SECONDS, TextFailure, type FailureKind } from './failure.ts';
import { numberOf, readContent, stringsOf } from './fields.ts';
import { newId, streamBlocks, type Block, type StreamedAnswer, type SimulatedFormat } from './format.ts';
import { type Finish, PIECE_MS, type Script, type ScriptedCall, type Usage } from './script.ts';
import { pagesFor } from './searches.ts';

const STREAMING_PATH = '/v1beta/models/{model}:streamGenerateContent';
const MAX_CANDIDATES = 8;

type Wording = readonly [status: number, name: string, message: string];

/** https://ai.google.dev/gemini-api/docs/troubleshooting; a refused prompt is no error, see {@link renderBlocked}. */
const WORDINGS: Readonly<Record<Exclude<FailureKind, 'content_policy_violation'>, Wording>> = {
  bad_request: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  unauthenticated: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  no_funds: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'],
  forbidden: [403, 'PERMISSION_DENIED', 'The caller does not have permission'],
  not_found: [404, 'NOT_FOUND', 'The model is not found for API version v1beta.'],
  context_exceeded: [
    400,
    'INVALID_ARGUMENT',
    'The input token count ({input}) exceeds the maximum number of tokens allowed ({limit}).',
  ],
  too_large: [400, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit.'],
  rate_limit_exceeded: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  processing_failed: [500, 'INTERNAL', 'An internal error has occurred. Please retry.'],
  processing_unavailable: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  processing_timeout: [504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'],
};

const DETAILS: Partial<Readonly<Record<FailureKind, object>>> = {
  unauthenticated: {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  },
  rate_limit_exceeded: { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${RETRY_AFTER_SECONDS}s` },
};

export const generateContent: SimulatedFormat = {
  paths: ['/v1beta/models/{model}:generateContent', STREAMING_PATH],
  count: {
    path: '/v1beta/models/{model}:countTokens',
    requestIn: (body) => {
      const { model, ...request } = objectOf(field(objectOf(body), 'generateContentRequest'));
      if (model === undefined) throw badRequest('GenerateContentRequest.model: must be specified');
      return request;
    },
    render: (tokens) => ({ totalTokens: tokens }),
  },
  contentTypes: { whole: 'application/json; charset=UTF-8', stream: 'text/event-stream' },

  requireCredential({ headers, url }, apiKey) {
    const key = headers['x-goog-api-key'] ?? url.searchParams.get('key');
    if (key === null) {
      throw new TextFailure('forbidden', {
        message:
          "Method doesn't allow unregistered callers. Please use API Key or other form of API consumer identity.",
      });
    }
    if (apiKey !== undefined && key !== apiKey) throw new TextFailure('unauthenticated');
  },

  open(input, request) {
    const body = objectOf(input);
    const conversation = readConversation(body, request);
    const thinking = field(objectOf(field(body, 'generationConfig')), 'thinkingConfig');
    const renderer = new Renderer(conversation, field(objectOf(thinking), 'includeThoughts') === true);
    return {
      conversation,
      renderWhole: (script) => renderer.whole(script),
      renderStream: (script) => renderer.stream(script),
    };
  },

  headers: () => ({ vary: 'Origin, X-Origin, Referer', 'x-content-type-options': 'nosniff' }),

  renderFailure(failure, isStream) {
    const blocked = failure.kind === 'content_policy_violation' && failure.status === undefined;
    const body = JSON.stringify(blocked ? renderBlocked() : renderError(failure));
    if (blocked && isStream) {
      return { status: 200, headers: { 'content-type': this.contentTypes.stream }, body: frame(body) };
    }
    return { status: blocked ? 200 : statusOf(failure), headers: {}, body };
  },
};

function wordingOf({ kind }: TextFailure): Wording {
  return WORDINGS[kind === 'content_policy_violation' ? 'bad_request' : kind];
}

function statusOf(failure: TextFailure): number {
  return failure.status ?? wordingOf(failure)[0];
}

function renderError(failure: TextFailure): object {
  const [, name, message] = wordingOf(failure);
  const details = DETAILS[failure.kind];
  return {
    error: {
      code: statusOf(failure),
      message: failure.wordedBy(message),
      status: name,
      ...(details === undefined ? {} : { details: [details] }),
    },
  };
}

/** The successful answer that refuses a prompt. */
function renderBlocked(): object {
  return {
    promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
    usageMetadata: { promptTokenCount: 1, totalTokenCount: 1 },
    responseId: newId(''),
  };
}

/** A field by its name in camel case, also if it was sent in snake case. */
function field(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

function readConversation(body: JsonObject, { url, parameters }: SimulatorRequest): Conversation {
  const stream = url.pathname.endsWith(':streamGenerateContent');
  if (stream && url.searchParams.get('alt') !== 'sse') throw badRequest('The simulator streams only with alt=sse.');
  const contents = listOf(body['contents']);
  if (contents.length === 0) throw badRequest('* GenerateContentRequest.contents: contents is not specified');
  const config = objectOf(field(body, 'generationConfig'));
  const system = field(body, 'systemInstruction');
  const functions = listOf(body['tools']).flatMap((tool) => listOf(field(objectOf(tool), 'functionDeclarations')));
  return {
    model: parameters['model'] ?? '',
    stream,
    entries: [
      ...(isObject(system) ? readTurn({ ...system, role: 'system' }) : []),
      ...contents.flatMap((content) => readTurn(objectOf(content))),
    ],
    tools: functions.flatMap((tool) => readTool(objectOf(tool))),
    maxSearches: listOf(body['tools']).some((tool) => isObject(field(objectOf(tool), 'googleSearch')))
      ? Number.POSITIVE_INFINITY
      : 0,
    toolChoice: readToolChoice(objectOf(field(objectOf(field(body, 'toolConfig')), 'functionCallingConfig'))),
    parallelCalls: true,
    maxOutputTokens: numberOf(field(config, 'maxOutputTokens')),
    stopSequences: stringsOf(field(config, 'stopSequences')),
    reasoningAllowed: field(objectOf(field(config, 'thinkingConfig')), 'thinkingBudget') !== 0,
    answerSchema: readAnswerSchema(config),
    answersInText: field(config, 'responseMimeType') === ENUM_TYPE,
    isSpoken: speaks(config),
    choiceCount: Math.min(numberOf(field(config, 'candidateCount')) ?? 1, MAX_CANDIDATES),
  };
}

function speaks(config: JsonObject): boolean {
  return stringsOf(field(config, 'responseModalities')).includes('AUDIO');
}

/** One of the texts of a schema. */
const ENUM_TYPE = 'text/x.enum';

function readAnswerSchema(config: JsonObject): unknown {
  const type = field(config, 'responseMimeType');
  return type === 'application/json' || type === ENUM_TYPE
    ? (field(config, 'responseJsonSchema') ?? field(config, 'responseSchema') ?? { type: 'object' })
    : undefined;
}

/** Results and calls are separate entries, and the text around them is one. Returned thoughts are ignored. */
function readTurn(content: JsonObject): Entry[] {
  const parts = listOf(content['parts']).map(objectOf);
  for (const part of parts) requireOwnSignature(field(part, 'thoughtSignature'));
  const calls = parts.flatMap((part) => readCall(field(part, 'functionCall')));
  const results = parts.flatMap((part) => readResult(field(part, 'functionResponse')));
  const rest = parts.filter((part) => part['thought'] !== true && !isCallOrResult(part));
  const role = content['role'] === 'model' ? 'assistant' : content['role'] === 'system' ? 'system' : 'user';
  const texts: Entry[] = rest.length === 0 ? [] : [{ kind: 'text', role, ...readContent(rest) }];
  return [...results, ...texts, ...calls];
}

/** The service checks the signatures of thoughts, unless asked to skip it. */
function requireOwnSignature(signature: unknown): void {
  const isAccepted = [undefined, THOUGHT_SIGNATURE, SKIPPED_SIGNATURE].includes(stringOf(signature) || undefined);
  if (!isAccepted) throw badRequest('Thought signature is not valid.');
}

function isCallOrResult(part: JsonObject): boolean {
  return isObject(field(part, 'functionCall')) || isObject(field(part, 'functionResponse'));
}

function readCall(call: unknown): Entry[] {
  if (!isObject(call)) return [];
  const { id, name, args } = call;
  return [{ kind: 'call', id: stringOf(id), name: stringOf(name), arguments: JSON.stringify(objectOf(args)) }];
}

function readResult(result: unknown): Entry[] {
  if (!isObject(result)) return [];
  const { id, name, response, parts } = result;
  const { mediaCount } = readContent(parts);
  return [
    { kind: 'result', callId: stringOf(id) || null, name: stringOf(name), text: textOfResponse(response), mediaCount },
  ];
}

/** A response is an object; one that contains only a text stands for that text. */
function textOfResponse(response: unknown): string {
  const values = Object.values(objectOf(response));
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(response ?? {});
}

function readTool(tool: JsonObject): OfferedTool[] {
  const name = stringOf(tool['name']);
  const schema = field(tool, 'parametersJsonSchema') ?? tool['parameters'];
  return name === '' ? [] : [{ name, description: stringOf(tool['description']), schema }];
}

function readToolChoice(config: JsonObject): ToolChoice {
  const mode = stringOf(config['mode']).toUpperCase();
  if (mode === 'NONE') return 'none';
  if (mode !== 'ANY') return 'auto';
  const names = stringsOf(field(config, 'allowedFunctionNames'));
  return names.length === 1 && names[0] !== undefined ? { name: names[0] } : 'required';
}

const FINISH_REASONS: Readonly<Record<Finish['reason'], string>> = {
  stop: 'STOP',
  'stop-sequence': 'STOP',
  length: 'MAX_TOKENS',
  'tool-calls': 'STOP',
};

/** Signs the first call of a reasoning model; clients send it back unchanged. */
const SKIPPED_SIGNATURE = 'skip_thought_signature_validator';
const THOUGHT_SIGNATURE = 'RXhhbXBsZSBzaWduYXR1cmU=';

class Renderer {
  readonly #model: string;
  readonly #choiceCount: number;
  /** Thoughts are shown only on request. */
  readonly #showsThoughts: boolean;
  readonly #responseId = newId('');
  readonly #isSpoken: boolean;

  constructor({ model, choiceCount, isSpoken }: Conversation, showsThoughts: boolean) {
    this.#isSpoken = isSpoken === true;
    this.#model = model;
    this.#choiceCount = choiceCount;
    this.#showsThoughts = showsThoughts;
  }

  whole({ reasoning, text, calls, searches, finish, usage }: Script): object {
    const thoughts = this.#showsThoughts && reasoning.length > 0;
    const parts = [
      ...(thoughts ? [{ text: reasoning.join(''), thought: true }] : []),
      ...(text.length === 0 ? [] : [this.#isSpoken ? spokenPart(text) : { text: text.join('') }]),
      ...calls.map((call, index) => renderCall(call, index === 0 && reasoning.length > 0)),
    ];
    const content = parts.length === 0 ? { role: 'model' } : { parts, role: 'model' };
    const finishReason = FINISH_REASONS[finish.reason];
    return {
      candidates: Array.from({ length: this.#choiceCount }, (_, index) => ({
        content,
        finishReason,
        index,
        ...renderGrounding(searches),
      })),
      ...(usage === null ? {} : { usageMetadata: renderUsage(usage, usage.output - usage.reasoning) }),
      modelVersion: this.#model,
      responseId: this.#responseId,
    };
  }

  stream({ reasoning, text, calls, searches, finish, usage }: Script): StreamedAnswer {
    let candidateTokens = 0;
    const tail = `"modelVersion":${JSON.stringify(this.#model)},"responseId":"${this.#responseId}"}`;
    const write = (part: string, tokens: number, reason = ''): string => {
      const grounding = reason === '' ? '' : JSON.stringify({ ...renderGrounding(searches), finishReason: reason });
      const end = `"role":"model"}${reason === '' ? '' : `,${grounding.slice(1, -1)}`},"index":`;
      const start = `{"content":{${part === '' ? '' : `"parts":[${part}],`}${end}`;
      const candidates = Array.from({ length: this.#choiceCount }, (_, index) => `${start}${index}}`).join(',');
      const usageText = usage === null ? '' : `"usageMetadata":${JSON.stringify(renderUsage(usage, tokens))},`;
      return frame(`{"candidates":[${candidates}],${usageText}${tail}`);
    };
    const isEmpty = text.length === 0 && calls.length === 0;
    const block = (pieces: readonly string[], toPart: (piece: string) => string, cost: number): Block => ({
      pieces,
      opening: () => '',
      delta: (piece) => write(toPart(piece), (candidateTokens += cost)),
      closing: () => '',
    });
    return streamBlocks({
      opening: '',
      blocks: [
        block(this.#showsThoughts ? reasoning : [], (piece) => `{"text":${JSON.stringify(piece)},"thought":true}`, 0),
        this.#isSpoken
          ? block(
              text,
              (piece) => JSON.stringify(spokenPart([piece])),
              (usage?.audioOutput ?? 0) / text.length / this.#choiceCount + 1,
            )
          : block(text, (piece) => `{"text":${JSON.stringify(piece)}}`, 1),
        ...calls.map((call, index) =>
          block([call.arguments], () => JSON.stringify(renderCall(call, index === 0 && reasoning.length > 0)), 1),
        ),
      ],
      ending: () =>
        write(isEmpty ? '' : '{"text":""}', usage ? usage.output - usage.reasoning : 0, FINISH_REASONS[finish.reason]),
      malformed: 'data: {"candidates":[{"content":{"parts":[{"te\r\n\r\n',
      renderFailure: (failure) => frame(JSON.stringify(renderError(failure))),
    });
  }
}

function renderGrounding(searches: Script['searches']): object {
  if (searches.length === 0) return {};
  const groundingChunks = searches.flatMap(pagesFor).map(({ url: uri, title }) => ({ web: { uri, title } }));
  return { groundingMetadata: { webSearchQueries: searches, groundingChunks } };
}

/** The format identifies calls only by name and order; the service gives them no ids. */
function renderCall({ name, arguments: text }: ScriptedCall, isSigned: boolean): object {
  const functionCall = { name, args: JSON.parse(text) as unknown };
  return isSigned ? { functionCall, thoughtSignature: THOUGHT_SIGNATURE } : { functionCall };
}

function spokenPart(pieces: readonly string[]): object {
  const data = tone(PIECE_MS * pieces.length);
  return { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data } };
}

function countsOf(text: number, audio: number): readonly object[] {
  return [{ modality: 'TEXT', tokenCount: text }, ...(audio === 0 ? [] : [{ modality: 'AUDIO', tokenCount: audio }])];
}

/** In this format the candidates' tokens do not include the thoughts'. */
function renderUsage(usage: Usage, candidateTokens: number): object {
  const { input, cached, reasoning, audioInput, audioOutput } = usage;
  const isSpoken = audioOutput > 0 && candidateTokens > 0;
  const spoken = Math.min(audioOutput, candidateTokens);
  return {
    promptTokenCount: input,
    ...(candidateTokens === 0 ? {} : { candidatesTokenCount: candidateTokens }),
    totalTokenCount: input + candidateTokens + reasoning,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    promptTokensDetails: countsOf(input - audioInput, audioInput),
    ...(isSpoken && { candidatesTokensDetails: countsOf(candidateTokens - spoken, spoken) }),
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
  };
}

/** Lines of this service end in two characters. */
function frame(json: string): string {
  return `data: ${json}\r\n\r\n`;
}

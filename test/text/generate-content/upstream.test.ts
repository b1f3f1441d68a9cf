import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import {
  type TextRequest,
  type TextResult,
  type ToolCallPart,
  type Turn,
  UNREPORTED_USAGE,
} from '../../../text/canonical.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { encodeEvent } from '../../../text/sse.ts';
import { resultOf } from '../answers.ts';
import { answerOfStream, partsOf, textRequest } from '../support.ts';

const { upstream, client } = generateContent;
const options = { model: 'upstream-model', apiKey: 'secret' };

/** The answer in a recorded stream. The service ends its lines with CR LF, the files in the repository with LF. */
function fixture(name: string): TextResult {
  const text = readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8');
  return answerOfStream(generateContent, text.replaceAll('\n', '\r\n'));
}

function answer(...responses: readonly JsonObject[]): TextResult {
  return answerOfStream(generateContent, responses.map((response) => encodeEvent(JSON.stringify(response))).join(''));
}

function response(parts: readonly unknown[], finishReason?: string): JsonObject {
  return { candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }] };
}

function callsOf(result: TextResult): ToolCallPart[] {
  return partsOf(result).filter((part) => part.type === 'tool-call');
}

function bodyOf(request: Partial<TextRequest>): JsonObject {
  return upstream.buildRequest(textRequest(request), options).body;
}

function contentsOf(...turns: readonly Turn[]): unknown {
  return bodyOf({ turns })['contents'];
}

function usageOf(usageMetadata: JsonObject): TextResult['usage'] {
  return answer({ ...response([], 'STOP'), usageMetadata }).usage;
}

function errorOf(status: number, error: JsonObject, seconds?: number): ServiceError {
  return upstream.parseError(status, { error }, seconds);
}

function codeOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error instanceof ServiceError ? error.code : error;
  }
  return 'no error';
}

const call = (callId: string, rest: Partial<ToolCallPart> = {}): ToolCallPart => {
  return { type: 'tool-call', callId, name: 'look', arguments: '{}', ...rest };
};
const result = (callId: string, text: string): Turn => {
  return { role: 'tool', parts: [{ type: 'tool-result', callId, content: [{ type: 'text', text }] }] };
};

const text = (value: string) => ({ type: 'text', text: value }) as const;

describe('native upstream', () => {
  describe('recorded streams', () => {
    it('hold thinking, text and usage, which includes the thinking and the cached tokens', () => {
      const { choices, usage, id, model } = fixture('thinking-and-text');
      expect(choices).to.deep.equal([
        {
          parts: [
            {
              type: 'reasoning',
              text: '**Comparing the numbers**\n\nI look at the decimals first. Nine tenths is more than eleven hundredths.',
            },
            { type: 'text', text: '9.9 is larger than 9.11 — 0.9 > 0.11.' },
          ],
          finish: { reason: 'stop' },
        },
      ]);
      expect(usage).to.deep.equal({
        ...UNREPORTED_USAGE,
        inputTotal: 14,
        cacheRead: 8,
        outputTotal: 192,
        reasoning: 171,
      });
      expect([id, model]).to.deep.equal(['mPzQaL7bEdCvkdUPn6KTsAc', 'texth-3.8-flash']);
    });

    it('hold parallel calls with the upstream’s ids, the signature in the first', () => {
      const parallel = fixture('parallel-calls');
      expect(parallel.choices[0]?.finish.reason).to.equal('tool-calls');
      expect(partsOf(parallel)).to.deep.equal([
        {
          type: 'tool-call',
          callId: 'fn_8041',
          name: 'get_weather',
          arguments: '{"place":"Paris"}',
          signature: 'EpYFCpMFAb4+9vu3kH/0sQ==',
        },
        { type: 'tool-call', callId: 'fn_8042', name: 'get_weather', arguments: '{"place":"São Paulo"}' },
        { type: 'tool-call', callId: 'fn_8043', name: 'get_time', arguments: '{}' },
      ]);
    });

    it('hold calls without ids, which get ids that all formats accept', () => {
      const [first, second] = callsOf(fixture('calls-without-ids'));
      expect(first?.callId).to.match(/^call_minted_[0-9a-z]{24}$/);
      expect(second?.callId).to.match(/^call_minted_[0-9a-z]{24}$/);
      expect(second?.arguments).to.equal('{}');
    });

    it('hold nothing when thinking used the whole budget', () => {
      const { choices, usage } = fixture('budget-spent-on-thinking');
      expect(choices).to.deep.equal([{ parts: [], finish: { reason: 'length' } }]);
      expect([usage.outputTotal, usage.reasoning]).to.deep.equal([97, 97]);
    });

    it('recorded streams are a policy violation when a filter cut them', () => {
      expect(codeOf(() => fixture('cut-by-safety'))).to.equal('content_policy_violation');
    });

    it('recorded streams are a policy violation when the prompt was blocked', () => {
      expect(codeOf(() => fixture('blocked-prompt'))).to.equal('content_policy_violation');
    });

    it('throw on an error in the middle', () => {
      expect(codeOf(() => fixture('error-in-the-middle'))).to.equal('processing_unavailable');
    });
  });

  describe('calls in pieces', () => {
    const piece = (functionCall: JsonObject): JsonObject => response([{ functionCall }]);
    const part = (jsonPath: string, value: JsonObject, rest: JsonObject = {}): JsonObject => {
      return { partialArgs: [{ jsonPath, ...value, ...rest }], willContinue: true };
    };
    const pieces = [
      { name: 'book', id: 'b1', willContinue: true },
      part('$.city', { stringValue: 'Ås' }, { willContinue: true }),
      part('$.city', { stringValue: 'gård' }),
      part('$.stops[1].at', { numberValue: 7 }),
      part('$.stops[0].at', { numberValue: 6.5 }),
      part("$['fast']", { boolValue: false }),
      part('$.note', { nullValue: 'NULL_VALUE' }),
    ];
    const expected = { city: 'Åsgård', stops: [{ at: 6.5 }, { at: 7 }], fast: false, note: null };
    const readAs = (result: TextResult): unknown[] =>
      callsOf(result).map(({ callId, name, arguments: text }) => [callId, name, JSON.parse(text)]);

    it('become whole ones with their name, streamed and in one body', () => {
      const streamed = answer(...pieces.map(piece), piece({}), response([], 'STOP'));
      expect(readAs(streamed)).to.deep.equal([['b1', 'book', expected]]);
      const parts = [...pieces, {}].map((functionCall) => ({ functionCall }));
      expect(readAs(resultOf(upstream.parseResult(response(parts, 'STOP'))))).to.deep.equal(readAs(streamed));
    });

    it('stay separate, even if the last one does not end', () => {
      const [, ...rest] = pieces;
      const streamed = answer(
        piece({ name: 'wait', args: { s: 1 } }),
        piece({ name: 'book', id: 'b1', willContinue: true }),
        ...rest.map(piece),
        piece({ name: 'book', id: 'b2', willContinue: true }),
        piece(part('$.city', { stringValue: 'x' })),
        piece({}),
        piece({ name: 'wait', id: 'w2', willContinue: true }),
        piece({ partialArgs: [{ jsonPath: '$.s', numberValue: 2 }], willContinue: true }),
        response([], 'STOP'),
      );
      expect(readAs(streamed).map((read) => (Array.isArray(read) ? read.slice(1) : read))).to.deep.equal([
        ['wait', { s: 1 }],
        ['book', expected],
        ['book', { city: 'x' }],
        ['wait', { s: 2 }],
      ]);
    });

    it('are a failure without a name or with an invalid path', () => {
      expect(codeOf(() => answer(piece(part('$.s', { numberValue: 2 }))))).to.equal('processing_failed');
      expect(codeOf(() => answer(piece({ name: 'x', ...part('$..', { numberValue: 2 }) })))).to.equal(
        'processing_failed',
      );
      const deep = part(`$${'[0]'.repeat(100_000)}`, { numberValue: 2 });
      expect(codeOf(() => answer(piece({ name: 'x', ...deep })))).to.equal('processing_failed');
    });

    it('cannot reach inherited properties', () => {
      const call = piece({ name: 'x', ...part('$.__proto__.polluted', { boolValue: true }) });
      const [read] = callsOf(answer(call, piece({}), response([], 'STOP')));
      expect(read?.arguments).to.equal('{"__proto__":{"polluted":true}}');
      expect('polluted' in {}).to.equal(false);
    });
  });

  describe('finish', () => {
    const reasons = {
      STOP: 'stop',
      MAX_TOKENS: 'length',
      OTHER: 'stop',
    };
    for (const [reason, expected] of Object.entries(reasons)) {
      it(`reads ${reason} as ${expected}`, () => {
        expect(answer(response([{ text: 'x' }], reason)).choices[0]?.finish.reason).to.equal(expected);
      });
    }

    for (const reason of ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MISSING_THOUGHT_SIGNATURE']) {
      it(`reads ${reason} as a failure of the model`, () => {
        expect(codeOf(() => answer(response([], reason)))).to.equal('processing_failed');
      });
    }

    it('the finish reason is the last one where every event has one', () => {
      const result = answer(response([{ text: 'a' }], 'STOP'), response([{ text: 'b' }], 'MAX_TOKENS'));
      expect(result.choices[0]?.finish.reason).to.equal('length');
    });

    it('the finish reason is missing when no event has one, or only an unspecified one', () => {
      for (const reason of [undefined, 'FINISH_REASON_UNSPECIFIED']) {
        expect(codeOf(() => answer(response([{ text: 'a' }], reason)))).to.equal('result_transfer_failed');
      }
    });
  });

  describe('usage', () => {
    it('adds thinking to the output, with and without a total', () => {
      // contract 4.8.4:11
      const counts = { promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 7 };
      expect(usageOf(counts).outputTotal).to.equal(12);
      expect(usageOf({ ...counts, totalTokenCount: 22 }).outputTotal).to.equal(12);
    });

    it('counts thinking once where an upstream includes it in the candidates', () => {
      const counts = { promptTokenCount: 10, candidatesTokenCount: 12, thoughtsTokenCount: 7, totalTokenCount: 22 };
      expect(usageOf(counts).outputTotal).to.equal(12);
    });

    it('counts the results of built-in tools as input', () => {
      const counts = { promptTokenCount: 10, toolUsePromptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 18 };
      expect(usageOf(counts)).to.include({ inputTotal: 13, outputTotal: 5 });
    });

    it('usage is unreported, not zero, when it never arrives', () => {
      expect(answer(response([], 'STOP')).usage).to.include({ inputTotal: null, outputTotal: null });
    });
  });

  it('answers with several candidates', () => {
    const candidates = ['a', 'b'].map((text, index) => ({
      content: { parts: [{ text }] },
      finishReason: 'STOP',
      index,
    }));
    const whole = { candidates };
    expect(resultOf(upstream.parseResult(whole)).choices.map(({ parts }) => parts)).to.deep.equal([
      [{ type: 'text', text: 'a' }],
      [{ type: 'text', text: 'b' }],
    ]);
  });

  it('throws on an invalid answer', () => {
    for (const body of [null, [], {}, { candidates: [] }, { candidates: 'x' }]) {
      expect(codeOf(() => resultOf(upstream.parseResult(body)))).to.equal('processing_failed');
    }
    expect(codeOf(() => answerOfStream(generateContent, encodeEvent('{"candidates":')))).to.equal('processing_failed');
  });

  describe('error', () => {
    it('an error is a bad request only when the client can correct it', () => {
      const invalid = { code: 400, status: 'INVALID_ARGUMENT', message: 'Invalid value at contents' };
      expect(errorOf(400, invalid).code).to.equal('bad_request');
      const wrongKey = { ...invalid, details: [{ '@type': 'ErrorInfo', reason: 'API_KEY_INVALID' }] };
      expect(errorOf(400, wrongKey).code).to.equal('processing_unavailable');
      expect(errorOf(400, { status: 'FAILED_PRECONDITION' }).code).to.equal('processing_unavailable');
    });

    it('reports a prompt that is too long', () => {
      const message = 'The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).';
      const error = errorOf(400, { status: 'INVALID_ARGUMENT', message });
      expect(error.code).to.equal('bad_request');
      expect(error.message).to.contain('context window').and.not.contain('1100000');
    });

    it('reports the time to wait: from the header, else from the retry delay, else five seconds', () => {
      const exhausted = { status: 'RESOURCE_EXHAUSTED', details: [{ reason: 'x' }, { retryDelay: '34.07s' }] };
      expect(errorOf(429, exhausted)).to.include({ code: 'rate_limit_exceeded', retryAfterSeconds: 35 });
      expect(errorOf(429, exhausted, 7).retryAfterSeconds).to.equal(7);
      expect(errorOf(429, { details: 'x' }).retryAfterSeconds).to.equal(5);
    });
  });

  describe('request', () => {
    it('returns a signature that a client kept beside the call, and the upstream’s ids', () => {
      const [first, second] = callsOf(fixture('parallel-calls'));
      const kept = { type: 'reasoning', text: '', signature: first?.signature, redacted: true } as const;
      const turns: Turn[] = [
        { role: 'assistant', parts: [kept, call(first?.callId ?? ''), call(second?.callId ?? '')] },
        result(second?.callId ?? '', 'B'),
        result(first?.callId ?? '', 'A'),
      ];
      expect(contentsOf(...turns)).to.deep.equal([
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'fn_8041', name: 'look', args: {} },
              thoughtSignature: 'EpYFCpMFAb4+9vu3kH/0sQ==',
            },
            { functionCall: { id: 'fn_8042', name: 'look', args: {} } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'fn_8041', name: 'look', response: { output: 'A' } } },
            { functionResponse: { id: 'fn_8042', name: 'look', response: { output: 'B' } } },
          ],
        },
      ]);
    });

    it('has every id of the upstream, in any form', () => {
      for (const id of ['call_3206086', 'call_0', 'call_abcdefghijklmnopqrstuvwx', 'fn:1']) {
        const functionCall = { id, name: 'look', args: {} };
        const candidates = [{ content: { parts: [{ functionCall, thoughtSignature: 'c2ln' }] }, finishReason: 'STOP' }];
        const [made] = callsOf(resultOf(upstream.parseResult({ candidates })));
        const callId = made?.callId ?? '';
        const contents = contentsOf({ role: 'assistant', parts: [call(callId)] }, result(callId, 'A'));
        expect(contents).to.have.nested.property('[0].parts[0].functionCall.id', id);
        expect(contents).to.have.nested.property('[1].parts[0].functionResponse.id', id);
        const read = generateContent.client.parseRequest(
          {
            contents: [
              { role: 'model', parts: [{ functionCall }] },
              { role: 'user', parts: [{ text: 'Go on' }] },
            ],
          },
          { address: { model: 'm', stream: false } },
        );
        expect(contentsOf(...read.turns)).to.have.nested.property('[0].parts[0].functionCall.id', id);
      }
    });

    it('has no ids that the upstream did not assign', () => {
      const [first] = callsOf(fixture('calls-without-ids'));
      const callId = first?.callId ?? '';
      expect(contentsOf({ role: 'assistant', parts: [call(callId)] }, result(callId, 'A'))).to.deep.equal([
        {
          role: 'model',
          parts: [{ functionCall: { name: 'look', args: {} }, thoughtSignature: 'skip_thought_signature_validator' }],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { output: 'A' } } }] },
      ]);
    });

    it('asks to skip the signature of an answer’s first call if it has none', () => {
      const turns: Turn[] = [{ role: 'assistant', parts: [call('toolu_1'), call('toolu_2')] }];
      expect(contentsOf(...turns)).to.have.nested.property(
        '[0].parts[0].thoughtSignature',
        'skip_thought_signature_validator',
      );
      expect(contentsOf(...turns)).to.not.have.nested.property('[0].parts[1].thoughtSignature');
    });

    it('has calls that arrived one by one in one answer, their results in one item', () => {
      const turns: Turn[] = [
        { role: 'assistant', parts: [call('a')] },
        { role: 'assistant', parts: [call('b')] },
        result('b', 'B'),
        result('a', 'A'),
      ];
      const contents = contentsOf(...turns);
      expect(contents).to.have.length(2);
      expect(contents).to.have.nested.property('[1].parts[0].functionResponse.id', 'a');
      expect(contents).to.have.nested.property('[1].parts[1].functionResponse.id', 'b');
    });

    it('marks a tool result as an error, and puts its images inside it', () => {
      const image = { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } } as const;
      const content = [{ type: 'text', text: 'Lost' } as const, image];
      const turns: Turn[] = [
        { role: 'assistant', parts: [call('a')] },
        { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content, isError: true }] },
      ];
      expect(contentsOf(...turns)).to.have.deep.nested.property('[1].parts[0].functionResponse', {
        id: 'a',
        name: 'look',
        response: { error: 'Lost' },
        parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
      });
    });

    it('refuses a result without a call', () => {
      expect(() => contentsOf(result('a', 'A'))).to.throw(ServiceError, 'the tool result "a" answers no tool call');
    });

    it('has images as bytes, or as a link with the media type of its extension', () => {
      const parts = [
        { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
        { type: 'text', text: 'and' },
        { type: 'image', source: { kind: 'url', url: 'https://example.com/a.JPG?x=1' } },
        { type: 'file', source: { kind: 'url', url: 'https://example.com/constructor' } },
      ] as const;
      expect(contentsOf({ role: 'user', parts })).to.have.deep.nested.property('[0].parts', [
        { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
        { text: 'and' },
        { fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a.JPG?x=1' } },
        { fileData: { fileUri: 'https://example.com/constructor' } },
      ]);
    });

    it('has the system text of the beginning in one place, later system text in its own, and no reasoning', () => {
      // contract 4.8.4:5
      const body = bodyOf({
        turns: [
          { role: 'system', parts: [text('Be kind.')] },
          { role: 'user', parts: [text('Hi')] },
          { role: 'assistant', parts: [{ type: 'reasoning', text: 'Hm', signature: 'other' }] },
          { role: 'system', parts: [text('Be brief.')] },
          { role: 'user', parts: [text('Bye'), text('')] },
        ],
      });
      expect(body['systemInstruction']).to.deep.equal({ parts: [{ text: 'Be kind.' }] });
      expect(body['contents']).to.deep.equal([
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'user', parts: [{ text: '<system-reminder>\nBe brief.\n</system-reminder>' }, { text: 'Bye' }] },
      ]);
    });

    it('has system text as a message where there is no other', () => {
      const turns: Turn[] = [{ role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] }];
      expect(bodyOf({ turns })).to.deep.include({ contents: [{ role: 'user', parts: [{ text: 'Be kind.' }] }] });
    });

    it('has an object as arguments, whatever the model wrote', () => {
      expect(contentsOf({ role: 'assistant', parts: [call('a', { arguments: '[1]' })] })).to.have.deep.nested.property(
        '[0].parts[0].functionCall.args',
        { unreadable_arguments: '[1]' },
      );
    });

    it("sends the tool choice in the format's own terms, and none without tools", () => {
      const tools = [{ name: 'look' }];
      const configOf = (toolChoice: TextRequest['toolChoice']): unknown => bodyOf({ tools, toolChoice })['toolConfig'];
      expect(configOf({ type: 'auto' })).to.deep.equal({ functionCallingConfig: { mode: 'AUTO' } });
      expect(configOf({ type: 'required' })).to.deep.equal({ functionCallingConfig: { mode: 'ANY' } });
      expect(configOf({ type: 'none' })).to.deep.equal({ functionCallingConfig: { mode: 'NONE' } });
      expect(configOf({ type: 'tool', name: 'look' })).to.deep.equal({
        functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] },
      });
      expect(bodyOf({ toolChoice: { type: 'required' } })).to.not.have.property('toolConfig');
    });

    it('has the schema of a tool as JSON Schema of an object', () => {
      const parameters = { properties: { place: { type: ['string', 'null'] } }, additionalProperties: false };
      expect(bodyOf({ tools: [{ name: 'look', parameters }, { name: 'wait' }] })['tools']).to.deep.equal([
        {
          functionDeclarations: [
            { name: 'look', parametersJsonSchema: { type: 'object', ...parameters } },
            { name: 'wait' },
          ],
        },
      ]);
    });

    it('requests the format of the output, and the thinking', () => {
      const schema = { type: 'array', items: { type: 'integer' } };
      const body = bodyOf({ outputFormat: { type: 'json-schema', name: 'list', schema }, reasoningEffort: 'xhigh' });
      expect(body['generationConfig']).to.deep.equal({
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' },
      });
      expect(bodyOf({ outputFormat: { type: 'json-object' } })).to.have.deep.property('generationConfig', {
        responseMimeType: 'application/json',
        thinkingConfig: { includeThoughts: true },
      });
    });
  });

  it('a native request is forwarded without the fields that have no effect', () => {
    // contract 4.8.4:10
    const functionDeclarations = [{ name: 'look', parameters: { type: 'OBJECT' } }];
    const body = {
      contents: [{ parts: [{ text: 'Hi', thoughtSignature: 'c2ln' }] }],
      system_instruction: { parts: [{ text: 'Be kind.' }] },
      generationConfig: {
        topP: 0,
        topK: 0,
        temperature: 1,
        max_output_tokens: 9,
        stopSequences: ['a', 'b', 'c', 'd', 'e'],
        thinkingConfig: { includeThoughts: true },
        responseMimeType: 'application/json',
        seed: 1,
      },
      tools: [{ googleSearch: {} }, { function_declarations: functionDeclarations }, { codeExecution: {} }],
      toolConfig: { functionCallingConfig: { mode: 'NONE' } },
      safetySettings: [],
      cachedContent: 'cachedContents/of-another',
    };
    const request = client.parseRequest(body, { address: { model: 'texth-4-argon', stream: true } });
    expect(upstream.forwardRequest(body, request, options)).to.deep.equal({
      path: '/models/upstream-model:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': 'secret' },
      body: {
        contents: body.contents,
        systemInstruction: body.system_instruction,
        tools: [{ functionDeclarations }],
        generationConfig: { maxOutputTokens: 9, temperature: 1, stopSequences: ['a', 'b', 'c', 'd'] },
      },
    });
  });
});

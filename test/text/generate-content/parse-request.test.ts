import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import type { TextRequest } from '../../../text/canonical.ts';
import { parseRequest } from '../../../text/generate-content/parse-request.ts';
import { GENERATION_CONFIG, READ_REQUEST } from '../../../text/generate-content/request-shape.ts';
import { planForwarding } from '../../../text/forward.ts';
import { generateContent } from '../../../text/generate-content/index.ts';
import { Meter } from '../../../text/meter.ts';
import { itDecidesEveryField } from '../support.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const address = { model: 'texth-4-argon', stream: false };
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];
const base = { contents };

const EXAMPLES = {
  contents: [{ role: 'user', parts: [{ text: 'Bye' }] }],
  systemInstruction: { parts: [{ text: 'Be kind.' }] },
  generationConfig: { topK: 3 },
  tools: [{ functionDeclarations: [{ name: 'look' }] }],
};

const GENERATION_EXAMPLES = {
  maxOutputTokens: 10,
  temperature: 0.5,
  topP: 0.5,
  topK: 3,
  stopSequences: ['END'],
  candidateCount: 2,
  presencePenalty: 1,
  frequencyPenalty: -1,
};

function parse(body: unknown): TextRequest {
  return parseRequest(body, { address });
}

function parseConfig(generationConfig: unknown): TextRequest {
  return parse({ ...base, generationConfig });
}

const refusal = createRefusalReader(parse);

function turnsOf(...items: readonly JsonObject[]): TextRequest['turns'] {
  return parse({ contents: items }).turns;
}

function userParts(...parts: readonly JsonObject[]): unknown {
  return turnsOf({ role: 'user', parts })[0]?.parts;
}

function parametersOf(declaration: JsonObject): unknown {
  const tools = [{ functionDeclarations: [{ name: 'look', ...declaration }] }];
  return parse({ ...base, tools }).tools[0]?.parameters;
}

function idsOf(turns: TextRequest['turns']): string[] {
  return turns.flatMap((turn) =>
    turn.parts.flatMap((part) => ('callId' in part ? [`${part.type} ${part.callId} ${part.name}`] : [])),
  );
}

const call = (name: string, rest: JsonObject = {}): JsonObject => ({ functionCall: { name, ...rest } });
const response = (name: string, rest: JsonObject = {}): JsonObject => ({ functionResponse: { name, ...rest } });

describe('native request', () => {
  itDecidesEveryField(parse, READ_REQUEST.specification, base, EXAMPLES);

  describe('generationConfig', () => {
    itDecidesEveryField(parseConfig, GENERATION_CONFIG.specification, {}, GENERATION_EXAMPLES);

    it('ignores a topP and a topK of zero', () => {
      // contract 4.8.4:9
      expect(parseConfig({ topP: 0, topK: 0 })).to.deep.equal(parse(base));
    });

    it('uses the first four stop sequences', () => {
      // contract 4.8:15 4.8.4:9
      const stopSequences = ['a', '', 'b', 'c', 'd', 'e'];
      expect(parseConfig({ stopSequences }).sampling.stopSequences).to.deep.equal(['a', 'b', 'c', 'd']);
    });

    it('bounds maxOutputTokens', () => {
      // contract 4.8.4:9
      expect(parseConfig({ maxOutputTokens: 1_073_741_823 }).sampling.maxOutputTokens).to.equal(1_073_741_823);
      expect(refusal({ ...base, generationConfig: { maxOutputTokens: 1_073_741_824 } })).to.equal(
        '"generationConfig.maxOutputTokens" must be between 1 and 1073741823',
      );
    });
  });

  const refusals: readonly (readonly [unknown, string])[] = [
    [[], 'the request body must be an object'],
    [{}, '"contents" is required'],
    [{ contents: [] }, '"contents" requires at least 1 item with a part'],
    [{ contents: [{ role: 'user', parts: [] }] }, '"contents" requires at least 1 item with a part'],
    [{ contents: 'Hello' }, '"contents" must be an array'],
    [{ contents: [{ role: 'system', parts: [] }] }, '"contents[0].role" must be one of: [user model function]'],
    [{ contents: [{ role: 'user', parts: ['Hello'] }] }, '"contents[0].parts[0]" must be an object'],
    [
      { contents: [{ role: 'user', parts: [{}] }] },
      '"contents[0].parts[0]" must have exactly one of: [text inlineData fileData functionCall functionResponse]',
    ],
    [
      { contents: [{ role: 'user', parts: [{ text: 'a', inlineData: {} }] }] },
      '"contents[0].parts[0]" must have exactly one of: [text inlineData fileData functionCall functionResponse]',
    ],
    [
      { contents: [{ role: 'user', parts: [{ inlineData: { data: 'AAAA' } }] }] },
      '"contents[0].parts[0].inlineData.mimeType" is required',
    ],
    [
      { contents: [{ role: 'user', parts: [{ fileData: { fileUri: 'gs://bucket/a.png' } }] }] },
      '"contents[0].parts[0].fileData.fileUri" must be an https URL, or a base64 data URL with a media type',
    ],
    [
      { contents: [{ role: 'user', parts: [call('look')] }] },
      '"contents[0].parts[0].functionCall" must be in an item with the role model',
    ],
    [
      { contents: [{ role: 'model', parts: [response('look')] }] },
      '"contents[0].parts[0].functionResponse" must be in an item with the role user',
    ],
    [
      { contents: [{ role: 'user', parts: [response('look')] }] },
      '"contents[0].parts[0].functionResponse" must answer a functionCall of "look" before it',
    ],
    [{ ...base, systemInstruction: 'Be kind.' }, '"systemInstruction" must be an object'],
    [
      { ...base, systemInstruction: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] } },
      '"systemInstruction.parts[0]" must be a text part',
    ],
    [{ ...base, generationConfig: { temperature: 'hot' } }, '"generationConfig.temperature" must be a number'],
    [
      { ...base, generationConfig: { presencePenalty: 3 } },
      '"generationConfig.presencePenalty" must be between -2 and 2',
    ],
    [{ ...base, generationConfig: { presence: 1 } }, 'unknown field: generationConfig.presence'],
    [{ ...base, tools: [{ functionDeclarations: [{}] }] }, '"tools[0].functionDeclarations[0].name" is required'],
    [{ ...base, colour: 'red' }, 'unknown field: colour'],
  ];
  for (const [body, message] of refusals) {
    it(`a request is refused with: ${message} (${JSON.stringify(body).slice(0, 40)})`, () =>
      expect(refusal(body)).to.equal(message)); // contract 4.8:4 4.8.4:4 4.8.4:8
  }

  for (const field of ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse']) {
    it(`refuses "${field}" in a part by name`, () => {
      expect(refusal({ contents: [{ parts: [{ [field]: {} }] }] })).to.contain(
        `"contents[0].parts[0].${field}" is not supported`,
      );
    });
  }

  describe('with records of tools that the vendor ran', () => {
    const parts = [
      { toolCall: { toolType: 'GOOGLE_SEARCH_WEB', id: 'a', args: { queries: ['x'] } }, thoughtSignature: 'c2ln' },
      { toolResponse: { toolType: 'GOOGLE_SEARCH_WEB', id: 'a', response: {} } },
      { executableCode: { language: 'PYTHON', code: 'print(6)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '6' } },
      { text: 'Six.' },
      { thoughtSignature: 'c2ln' },
    ];
    const body = { contents: [...contents, { role: 'model', parts }, ...contents] };

    it('gives other models the code and its output as text', () => {
      // contract 4.8.4:22
      expect(parseRequest(body, { address, compatibility: 'full' }).turns[1]).to.deep.equal({
        role: 'assistant',
        parts: ['```\nprint(6)\n```\n', '```\n6\n```\n', 'Six.'].map((text) => ({ type: 'text', text })),
      });
    });

    it('reaches models of the format unchanged', () => {
      // contract 4.8.4:22
      const request = parseRequest(body, { address, compatibility: 'full' });
      const options = { model: 'up', apiKey: 'secret', compatibility: 'full' } as const;
      const { upstream } = generateContent;
      expect(planForwarding(upstream, body, request, options, new Meter()).upstreamRequest.body).to.deep.include(body);
    });

    it('gets 400 from other models, and from every model for such records in the response of a function', () => {
      // contract 4.8.4:22
      expect(refusal(body)).to.contain('"contents[1].parts[0].toolCall" is not supported');
      const call = { role: 'model', parts: [{ functionCall: { name: 'look' } }] };
      for (const record of parts.slice(0, 4)) {
        const response = { functionResponse: { name: 'look', response: {}, parts: [record] } };
        const answered = { contents: [...contents, call, { role: 'user', parts: [response] }] };
        for (const compatibility of ['specification', 'full'] as const)
          expect(() => parseRequest(answered, { address, compatibility })).to.throw('is not supported');
      }
    });
  });

  it('accepts the video metadata and the media resolution of parts in both spellings', () => {
    const fileData = { fileUri: 'https://example.com/a.mp4' };
    const parts = [
      { fileData, videoMetadata: { startOffset: '1s', fps: 2 }, mediaResolution: { level: 'LOW' } },
      { file_data: { file_uri: fileData.fileUri }, video_metadata: { start_offset: '1s' }, media_resolution: {} },
    ];
    expect(userParts(...parts)).to.deep.equal(userParts({ fileData }, { fileData }));
    expect(
      refusal({ ...base, generation_config: { _response_json_schema: {}, response_modalities: ['TEXT'] } }),
    ).to.equal('accepted');
  });

  it('takes the model and the streaming mode from the address', () => {
    // contract 4.8.4:1
    const request = parseRequest(base, { address: { model: 'texth-3.8-flash', stream: true } });
    expect([request.model, request.stream]).to.deep.equal(['texth-3.8-flash', true]);
  });

  it('refuses a field in both spellings, since an upstream might read the other one', () => {
    const video = { mimeType: 'video/mp4', fileUri: 'https://example.com/a.mp4' };
    const part = { file_data: video, fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } };
    expect(refusal({ contents: [{ parts: [part] }] })).to.match(/"contents\[0\]\.parts\[0\]" has a field in both/);
    expect(refusal({ ...base, generationConfig: {}, generation_config: {} })).to.match(/^the request has a field/);
  });

  it('accepts field names in snake_case as in camelCase', () => {
    // contract 4.8.4:2
    const snake = {
      contents: [
        { parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
        {
          role: 'model',
          parts: [{ function_call: { name: 'look', args: { some_name: 1 } }, thought_signature: 'c2ln' }],
        },
        { role: 'user', parts: [{ function_response: { name: 'look', response: { some_name: 2 } } }] },
        { role: 'user', parts: [{ file_data: { mime_type: 'image/png', file_uri: 'https://example.com/a' } }] },
      ],
      system_instruction: { parts: [{ text: 'Be kind.' }] },
      generation_config: { max_output_tokens: 5, top_p: 0.5, stop_sequences: ['END'], thinking_config: {} },
      safety_settings: [],
      tools: [{ function_declarations: [{ name: 'look', parameters_json_schema: { type: 'object' } }] }],
    };
    const camel = {
      contents: [
        { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
        {
          role: 'model',
          parts: [{ functionCall: { name: 'look', args: { some_name: 1 } }, thoughtSignature: 'c2ln' }],
        },
        { role: 'user', parts: [{ functionResponse: { name: 'look', response: { some_name: 2 } } }] },
        { role: 'user', parts: [{ fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a' } }] },
      ],
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      generationConfig: { maxOutputTokens: 5, topP: 0.5, stopSequences: ['END'], thinkingConfig: {} },
      safetySettings: [],
      tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object' } }] }],
    };
    expect(parse(snake)).to.deep.equal(parse(camel));
    expect(JSON.stringify(parse(snake)))
      .to.contain('{\\"some_name\\":1}')
      .and.contain('{\\"some_name\\":2}');
  });

  it('reads images and files as bytes or as a link, in order', () => {
    // contract 4.8:30 4.8.4:8
    const parts = userParts(
      { inlineData: { mimeType: 'image/PNG', data: 'AAAA' } },
      { text: 'and' },
      { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/a' } },
      { fileData: { fileUri: 'https://example.com/a.jpeg?size=2' } },
      { fileData: { fileUri: 'https://example.com/watch' } },
    );
    expect(parts).to.deep.equal([
      { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
      { type: 'text', text: 'and' },
      { type: 'file', source: { kind: 'url', url: 'https://example.com/a', mediaType: 'video/mp4' } },
      { type: 'image', source: { kind: 'url', url: 'https://example.com/a.jpeg?size=2', mediaType: 'image/jpeg' } },
      { type: 'file', source: { kind: 'url', url: 'https://example.com/watch' } },
    ]);
  });

  it('merges the pieces of a streamed answer, kept one by one, into a single message', () => {
    const turns = turnsOf(
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'Hm.', thought: true, thoughtSignature: 'c2ln' }] },
      { role: 'model', parts: [{ text: 'Hel' }] },
      { role: 'model', parts: [{ text: 'lo' }] },
      { role: 'model', parts: [{ text: '' }] },
    );
    expect(turns[1]).to.deep.equal({
      role: 'assistant',
      parts: [
        { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
        { type: 'text', text: 'Hel' },
        { type: 'text', text: 'lo' },
      ],
    });
  });

  describe('function calls', () => {
    it('have responses also from the role function, as earlier clients send them', () => {
      // contract 4.8.4:4
      const called = { role: 'model', parts: [call('look')] };
      expect(turnsOf(called, { role: 'function', parts: [response('look')] })).to.deep.equal(
        turnsOf(called, { role: 'user', parts: [response('look')] }),
      );
    });

    it('get an id by position if they have none, and responses the id of the next call of the same name', () => {
      const turns = turnsOf(
        { role: 'model', parts: [call('look'), call('find'), call('look')] },
        { role: 'user', parts: [response('look'), response('look'), response('find')] },
        { role: 'model', parts: [call('look')] },
        { role: 'user', parts: [response('look')] },
      );
      expect(idsOf(turns)).to.deep.equal([
        'tool-call call_minted_0 look',
        'tool-call call_minted_1 find',
        'tool-call call_minted_2 look',
        'tool-result call_minted_0 look',
        'tool-result call_minted_2 look',
        'tool-result call_minted_1 find',
        'tool-call call_minted_3 look',
        'tool-result call_minted_3 look',
      ]);
    });

    it('function calls are matched by id if they have one, even if the id is reused', () => {
      const turns = turnsOf(
        { role: 'model', parts: [call('look', { id: 'a' }), call('look', { id: 'b' })] },
        { role: 'user', parts: [response('look', { id: 'b' }), response('look', { id: 'a' })] },
        { role: 'model', parts: [call('look', { id: 'a' })] },
        { role: 'user', parts: [response('look', { id: 'unknown' })] },
      );
      expect(idsOf(turns).slice(2)).to.deep.equal([
        'tool-result b look',
        'tool-result a look',
        'tool-call a look',
        'tool-result a look',
      ]);
    });

    it('keep their arguments and signature, except the signature that stands for none', () => {
      const args = { place: 'Ås', some_id: 1 };
      const turns = turnsOf({
        role: 'model',
        parts: [
          { ...call('look', { args }), thoughtSignature: 'c2ln' },
          { ...call('look'), thoughtSignature: 'skip_thought_signature_validator' },
        ],
      });
      expect(turns[0]?.parts).to.deep.equal([
        {
          type: 'tool-call',
          callId: 'call_minted_0',
          name: 'look',
          arguments: '{"place":"Ås","some_id":1}',
          signature: 'c2ln',
        },
        { type: 'tool-call', callId: 'call_minted_1', name: 'look', arguments: '{}' },
      ]);
    });

    it("function calls are answered before the other content of the user's message", () => {
      const turns = turnsOf(
        { role: 'model', parts: [call('look')] },
        { role: 'user', parts: [{ text: 'Here:' }, response('look', { response: { output: 'Rain' } })] },
      );
      expect(turns.map((turn) => turn.role)).to.deep.equal(['assistant', 'tool', 'user']);
    });

    it('have results that are text, an error, an object, or images', () => {
      const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
      const results = [
        response('look', { response: { output: 'Rain' } }),
        response('look', { response: { error: 'Lost' } }),
        response('look', { response: { output: { degrees: 4 } } }),
        response('look', { response: { degrees: 4, wind: 'none' } }),
        response('look', { parts: [image] }),
      ];
      const turns = turnsOf(
        { role: 'model', parts: results.map(() => call('look')) },
        { role: 'user', parts: results },
      );
      const contentOf = (index: number): unknown => {
        const part = turns[1]?.parts[index];
        return part?.type === 'tool-result' ? [part.isError === true, ...part.content] : part;
      };
      expect(results.map((_, index) => contentOf(index))).to.deep.equal([
        [false, { type: 'text', text: 'Rain' }],
        [true, { type: 'text', text: 'Lost' }],
        [false, { type: 'text', text: '{"degrees":4}' }],
        [false, { type: 'text', text: '{"degrees":4,"wind":"none"}' }],
        [
          false,
          { type: 'text', text: '{}' },
          { type: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AAAA' } },
        ],
      ]);
    });

    it('function calls are matched in linear time', () => {
      const count = 50_000;
      const turns = turnsOf(...Array.from({ length: count }, () => ({ role: 'model', parts: [call('look')] })), {
        role: 'user',
        parts: Array.from({ length: count }, () => response('look')),
      });
      expect(turns.map((turn) => turn.parts.length)).to.deep.equal([count, count]);
    });
  });

  describe('tools', () => {
    it('have their schema converted from the dialect of the format to JSON Schema', () => {
      const parameters = {
        type: 'OBJECT',
        properties: {
          type: { type: 'STRING', nullable: true, enum: ['A'], min_length: '1' },
          list: { type: 'ARRAY', items: { type: 'INTEGER' }, maxItems: '3', default: { type: 'KEPT' } },
          either: { any_of: [{ type: 'NUMBER' }, { type: 'BOOLEAN' }], nullable: true },
          any: { type: 'TYPE_UNSPECIFIED' },
        },
        required: ['list'],
      };
      expect(parametersOf({ parameters })).to.deep.equal({
        type: 'object',
        properties: {
          type: { type: ['string', 'null'], enum: ['A', null], minLength: 1 },
          list: { type: 'array', items: { type: 'integer' }, maxItems: 3, default: { type: 'KEPT' } },
          either: { anyOf: [{ type: 'number' }, { type: 'boolean' }, { type: 'null' }] },
          any: {},
        },
        required: ['list'],
      });
    });

    it('keep a JSON Schema, under either name', () => {
      // contract 4.8.4:7
      const schema = {
        type: 'object',
        properties: { some_name: { type: ['string', 'null'] }, other: { $ref: '#/$defs/Other' } },
        additionalProperties: false,
        $defs: { Other: { type: 'integer', exclusiveMinimum: 0 } },
      };
      expect(parametersOf({ parameters: schema })).to.deep.equal(schema);
      expect(parametersOf({ parametersJsonSchema: schema })).to.deep.equal(schema);
    });

    it('are only the declared functions: built-in tools have no effect', () => {
      // contract 4.8:26 4.8.4:7
      const tools = [{ googleSearch: {} }, { codeExecution: {}, functionDeclarations: [{ name: 'look' }] }];
      expect(parse({ ...base, tools }).tools).to.deep.equal([{ name: 'look' }]);
    });

    for (const name of ['urlContext', 'url_context', 'codeExecution', 'fileSearch', 'google_maps', 'mcpServers']) {
      it(`of models with full compatibility are not the vendor’s ${name}: the refusal says what to do`, () => {
        // contract 4.8:26 4.8.4:7
        const tools = [{ functionDeclarations: [{ name: 'look' }] }, { [name]: {} }];
        const camelCase = name.replace(/_([a-z])/, (_, letter: string) => letter.toUpperCase());
        expect(() => parseRequest({ ...base, tools }, { address, compatibility: 'full' })).to.throw(
          `"tools[1].${camelCase}" is not supported: Genway does not run this tool; declare a function in ` +
            'functionDeclarations, and run it yourself',
        );
      });
    }
  });
});

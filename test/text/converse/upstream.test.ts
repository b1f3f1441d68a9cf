import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type {
  AssistantPart,
  FilePart,
  FinishReason,
  StreamEvent,
  TextRequest,
  ToolResultPart,
  Turn,
} from '../../../text/canonical.ts';
import { collect } from '../../../text/collect.ts';
import { converse } from '../../../text/converse/index.ts';
import { normalize } from '../../../text/normalize.ts';
import { compact } from '../../../text/read.ts';
import { runStage } from '../../../text/stage.ts';
import type { UpstreamOptions } from '../../../text/wire-format.ts';
import { textRequest } from '../support.ts';

const { upstream } = converse;

/** The name and the data of an event. */
type Delta = readonly [string, JsonObject];

describe('Converse upstream', () => {
  describe('requests', () => {
    const call = { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{"at":"sea"}' } as const;
    const text = (words: string) => ({ type: 'text', text: words }) as const;
    const asked: Turn = { role: 'user', parts: [text('Look')] };
    const toolUse = { toolUse: { toolUseId: 'call_1', name: 'look', input: { at: 'sea' } } };

    function bodyOf(request: Partial<TextRequest>, options: Partial<UpstreamOptions> = {}): JsonObject {
      return upstream.buildRequest(textRequest(request), { model: 'upstream-model', apiKey: 'secret', ...options })
        .body;
    }

    /** The content of the answer to a call, and of its result. */
    function contentOf(parts: readonly AssistantPart[], result: Partial<ToolResultPart> = {}): unknown[] {
      const content = [text('blue')];
      const answered: Turn = { role: 'tool', parts: [{ type: 'tool-result', callId: 'call_1', content, ...result }] };
      const { messages } = bodyOf({ turns: [asked, { role: 'assistant', parts }, answered] });
      return listOf(messages)
        .slice(1)
        .map((message) => objectOf(message)['content']);
    }

    it('have a message of the user before a conversation that starts with an answer', () => {
      // contract 4.8:62
      const greeting: Turn = { role: 'assistant', parts: [text('Welcome!')] };
      expect(bodyOf({ turns: [greeting, asked] })['messages']).to.deep.equal([
        { role: 'user', content: [{ text: '…' }] },
        { role: 'assistant', content: [{ text: 'Welcome!' }] },
        { role: 'user', content: [{ text: 'Look' }] },
      ]);
    });

    it('have the system text of the beginning in one place, and later system text in its own', () => {
      const body = bodyOf({
        turns: [
          { role: 'system', parts: [text('Be kind.')] },
          { role: 'system', parts: [text('Be brief.'), text(' ')] },
          { role: 'user', parts: [text('Hi')] },
          { role: 'system', parts: [text('Be quick.')] },
        ],
      });
      expect(body['system']).to.deep.equal([{ text: 'Be kind.' }, { text: 'Be brief.' }]);
      expect(body['messages']).to.deep.equal([
        { role: 'user', content: [{ text: 'Hi' }, { text: '<system-reminder>\nBe quick.\n</system-reminder>' }] },
      ]);
    });

    it('have system text as a message where there is no other', () => {
      const turns: Turn[] = [{ role: 'system', parts: [text('Be kind.')] }];
      const body = bodyOf({ turns });
      expect(body['messages']).to.deep.equal([{ role: 'user', content: [{ text: 'Be kind.' }] }]);
      expect(body).not.to.have.property('system');
    });

    it('have an answer to continue without white space at its end', () => {
      const body = bodyOf({ turns: [asked, { role: 'assistant', parts: [text('Answer: ')] }] });
      expect(body['messages']).to.deep.include({ role: 'assistant', content: [{ text: 'Answer:' }] });
    });

    it('have calls and their results, errors and empty results included', () => {
      const resultOf = (fields: object): object => ({ toolResult: { toolUseId: 'call_1', ...fields } });
      expect(contentOf([call])).to.deep.equal([[toolUse], [resultOf({ content: [{ text: 'blue' }] })]]);
      expect(contentOf([call], { isError: true })[1]).to.deep.equal([
        resultOf({ content: [{ text: 'blue' }], status: 'error' }),
      ]);
      expect(contentOf([call], { content: [] })[1]).to.deep.equal([resultOf({ content: [{ text: '(no output)' }] })]);
    });

    it('have signed and redacted reasoning, and no reasoning without a signature', () => {
      const signed = { type: 'reasoning', text: 'Hm', signature: 's' } as const;
      expect(contentOf([signed, call])[0]).to.deep.equal([
        { reasoningContent: { reasoningText: { text: 'Hm', signature: 's' } } },
        toolUse,
      ]);
      expect(contentOf([{ ...signed, redacted: true }, call])[0]).to.deep.equal([
        { reasoningContent: { redactedContent: 's' } },
        toolUse,
      ]);
      expect(contentOf([{ type: 'reasoning', text: 'Hm' }, call])[0]).to.deep.equal([toolUse]);
    });

    it('have pictures, videos and documents, whose names are unique', () => {
      const file = (mediaType: string, filename?: string): FilePart =>
        compact({ type: 'file', source: { kind: 'base64', mediaType, data: 'AAAA' }, filename });
      const parts = [
        file('image/jpg'),
        file('video/mp4'),
        file('application/pdf', 'Über_all.pdf'),
        file('text/csv'),
        file('application/json'),
      ];
      const source = { bytes: 'AAAA' };
      expect(bodyOf({ turns: [{ role: 'user', parts }] })['messages']).to.deep.equal([
        {
          role: 'user',
          content: [
            { image: { format: 'jpeg', source } },
            { video: { format: 'mp4', source } },
            { document: { format: 'pdf', name: 'ber all 1', source } },
            { document: { format: 'csv', name: 'document 2', source } },
            { document: { format: 'txt', name: 'document 3', source } },
          ],
        },
      ]);
      for (const [part, message] of [
        [file('image/tiff'), /images of the type image\/tiff/],
        [file('application/zip'), /files of the type application\/zip/],
        [{ type: 'image', source: { kind: 'url', url: 'https://a.example/b.png' } }, /does not fetch images/],
      ] as const) {
        expect(() => bodyOf({ turns: [{ role: 'user', parts: [part] }] })).to.throw(message);
      }
    });

    it('have the tools and their choice, and a placeholder for the tools of earlier calls', () => {
      const tools = [{ name: 'look', description: '' }];
      const json = { type: 'object', properties: {} };
      const specs = [{ toolSpec: { name: 'look', inputSchema: { json } } }];
      const past: Turn[] = [asked, { role: 'assistant', parts: [call] }];
      for (const [toolChoice, rendered] of [
        [undefined, {}],
        [{ type: 'auto' }, { toolChoice: { auto: {} } }],
        [{ type: 'required' }, { toolChoice: { any: {} } }],
        [{ type: 'tool', name: 'look' }, { toolChoice: { tool: { name: 'look' } } }],
      ] as const) {
        const request = toolChoice === undefined ? { tools } : { tools, toolChoice };
        expect(bodyOf(request)['toolConfig']).to.deep.equal({ tools: specs, ...rendered });
      }
      expect(bodyOf({ tools, toolChoice: { type: 'none' } })).not.to.have.property('toolConfig');
      for (const request of [{}, { toolChoice: { type: 'none' } }, { tools, toolChoice: { type: 'none' } }] as const) {
        expect(JSON.stringify(bodyOf({ ...request, turns: past })['toolConfig']))
          .to.include('"name":"unavailable"')
          .and.not.include('"look"');
      }
    });

    it('have the schema of the answer, and no temperature above 1', () => {
      const schema = { type: 'object' };
      const body = bodyOf({
        outputFormat: { type: 'json-schema', name: 'place', schema },
        sampling: { maxOutputTokens: 9, temperature: 1.5, topP: 0.5, stopSequences: ['END'] },
      });
      expect(body['inferenceConfig']).to.deep.equal({
        maxTokens: 9,
        temperature: 1,
        topP: 0.5,
        stopSequences: ['END'],
      });
      expect(body['outputConfig']).to.deep.equal({
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { schema: JSON.stringify(schema), name: 'place' } },
        },
      });
    });

    for (const [model, wish, fields] of [
      [
        'us.anthropic.claude',
        { reasoningEffort: 'minimal' },
        { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
      ],
      ['us.anthropic.claude', { reasoningEffort: 'none' }, { thinking: { type: 'disabled' } }],
      ['us.anthropic.claude', { reasoningBudget: 9 }, { thinking: { type: 'enabled', budget_tokens: 1_024 } }],
      [
        'us.amazon.nova-2',
        { reasoningEffort: 'max' },
        { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
      ],
      ['us.amazon.nova-2', { reasoningEffort: 'none' }, { reasoningConfig: { type: 'disabled' } }],
      ['openai.gpt-oss', { reasoningEffort: 'none' }, { reasoning_effort: 'low' }],
      ['us.deepseek.r1', { reasoningEffort: 'high' }, undefined],
    ] as const) {
      it(`have ${JSON.stringify(wish)} as the fields of ${model}`, () => {
        const options = { model, reasons: true, compatibility: 'full' } as const;
        expect(bodyOf(wish, options)['additionalModelRequestFields']).to.deep.equal(fields);
      });
    }
  });

  describe('answers', () => {
    const usage = {
      inputTokens: 5,
      cacheReadInputTokens: 20,
      cacheWriteInputTokens: 300,
      cacheDetails: [{ ttl: '1h', inputTokens: 100 }],
      outputTokens: 7,
    };

    function eventsOf(deltas: readonly Delta[], stopReason: string): readonly StreamEvent[] {
      const events: readonly Delta[] = [
        ['messageStart', { role: 'assistant' }],
        ...deltas,
        ['messageStop', { stopReason }],
        ['metadata', { usage }],
      ];
      const sent = events.map(([event, data]) => ({ event, data: JSON.stringify(data) }));
      return runStage(sent, upstream.parseStream());
    }

    function streamed(stopReason: string): readonly StreamEvent[] {
      const text: Delta = ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }];
      return eventsOf([text, ['contentBlockStop', { contentBlockIndex: 0 }]], stopReason);
    }

    it('have text, signed and redacted reasoning, and calls, whole and streamed', () => {
      const content = [
        { reasoningContent: { reasoningText: { text: 'Hm', signature: 's' } } },
        { reasoningContent: { redactedContent: 'r' } },
        { text: 'Hi' },
        { toolUse: { toolUseId: 'call_1', name: 'look', input: { at: 'sea' } } },
        { toolUse: { toolUseId: 'call_2', name: 'wait', input: {} } },
      ];
      const deltas: readonly Delta[] = [
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { text: 'Hm' } } }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { reasoningContent: { signature: 's' } } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['contentBlockDelta', { contentBlockIndex: 1, delta: { reasoningContent: { redactedContent: 'r' } } }],
        ['contentBlockStop', { contentBlockIndex: 1 }],
        ['contentBlockDelta', { contentBlockIndex: 2, delta: { text: 'Hi' } }],
        ['contentBlockStart', { contentBlockIndex: 3, start: { toolUse: { toolUseId: 'call_1', name: 'look' } } }],
        ['contentBlockStart', { contentBlockIndex: 4, start: { toolUse: { toolUseId: 'call_2', name: 'wait' } } }],
        ['contentBlockDelta', { contentBlockIndex: 3, delta: { toolUse: { input: '{"at":' } } }],
        ['contentBlockDelta', { contentBlockIndex: 4, delta: { toolUse: { input: '{}' } } }],
        ['contentBlockDelta', { contentBlockIndex: 3, delta: { toolUse: { input: '"sea"}' } } }],
      ];
      const output = { message: { role: 'assistant', content } };
      const whole = upstream.parseResult({ output, stopReason: 'tool_use', usage });
      for (const events of [whole, eventsOf(deltas, 'tool_use')]) {
        expect(collect(runStage(events, normalize())).choices[0]?.parts).to.deep.equal([
          { type: 'reasoning', text: 'Hm', signature: 's' },
          { type: 'reasoning', text: '', signature: 'r', redacted: true },
          { type: 'text', text: 'Hi' },
          { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{"at":"sea"}' },
          { type: 'tool-call', callId: 'call_2', name: 'wait', arguments: '{}' },
        ]);
      }
    });

    for (const [stopReason, reason] of [
      ['end_turn', 'stop'],
      ['stop_sequence', 'stop'],
      ['max_tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['tool_use', 'tool-calls'],
    ] as const satisfies readonly (readonly [string, FinishReason])[]) {
      it(`have the finish reason ${reason} for ${stopReason}, and tokens of the cache in the input`, () => {
        const output = { message: { role: 'assistant', content: [{ text: 'Hi' }] } };
        for (const events of [upstream.parseResult({ output, stopReason, usage }), streamed(stopReason)]) {
          const result = collect(events);
          expect(result.choices).to.deep.equal([{ parts: [{ type: 'text', text: 'Hi' }], finish: { reason } }]);
          expect(result.usage).to.include({
            inputTotal: 325,
            cacheRead: 20,
            cacheWrite: 300,
            cacheWrite1h: 100,
            outputTotal: 7,
          });
        }
      });
    }
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import {
  type AnswerPart,
  type StreamEvent,
  type TextRequest,
  type TextResult,
  type Turn,
  UNREPORTED_USAGE,
} from '../../../text/canonical.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { planConversion } from '../../../text/convert.ts';
import { planForwarding } from '../../../text/forward.ts';
import { Meter } from '../../../text/meter.ts';
import { responses } from '../../../text/responses/index.ts';
import { DONE, encodeEvent } from '../../../text/sse.ts';
import { runStage } from '../../../text/stage.ts';
import { resultOf } from '../answers.ts';
import { answerOfStream, eventsOfText, fromBytes, partsOf, renderContext, textRequest } from '../support.ts';

const { upstream } = responses;
const options = { model: 'upstream-model', apiKey: 'secret' };

function recording(name: string): string {
  return readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8');
}

function textOfEvents(events: readonly JsonObject[]): string {
  return events.map((event) => encodeEvent(JSON.stringify(event))).join('');
}

function answer(...events: readonly JsonObject[]): TextResult {
  return answerOfStream(responses, textOfEvents(events));
}

/** The events of a stream until it failed, and the failure. */
function failureOf(text: string): { readonly events: readonly StreamEvent[]; readonly error: unknown } {
  const events: StreamEvent[] = [];
  const stage = upstream.parseStream();
  try {
    for (const event of eventsOfText(text)) stage.push(event, (output) => void events.push(output));
  } catch (error) {
    return { events, error };
  }
  return { events, error: null };
}

function built(request: Partial<TextRequest>): JsonObject {
  return upstream.buildRequest(textRequest(request), options).body;
}

const completed = (fields: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: { status: 'completed', output: [], ...fields },
});
const text = (delta: string, index = 0): JsonObject => ({
  type: 'response.output_text.delta',
  output_index: index,
  content_index: 0,
  delta,
});
const call = (callId: string, name = 'look', written = '{"at":1}'): JsonObject => ({
  type: 'function_call',
  call_id: callId,
  name,
  arguments: written,
});
const added = (index: number, item: JsonObject): JsonObject => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const done = (index: number, item: JsonObject): JsonObject => ({
  ...added(index, item),
  type: 'response.output_item.done',
});
const argumentsDelta = (delta: string): JsonObject => ({
  type: 'response.function_call_arguments.delta',
  output_index: 0,
  delta,
});
const toolCall = (callId: string, name = 'look', written = '{"at":1}'): AnswerPart => ({
  type: 'tool-call',
  callId,
  name,
  arguments: written,
});

describe('responses upstream', () => {
  describe('recorded streams', () => {
    it('give reasoning in paragraphs with its final encrypted form, and parallel calls', () => {
      expect(answerOfStream(responses, recording('reasoning-and-tools'))).to.deep.equal({
        id: 'resp_0a41c7d2be9f',
        model: 'gpt-5.6-sol-2026-06-12',
        choices: [
          {
            parts: [
              {
                type: 'reasoning',
                text: '**Planning**\n\nTwo places are asked about.\n\n**Calling**\n\nOne call for each.',
                signature: 'gAAAAABconcluding',
              },
              toolCall('call_AB6AaRZ1', 'weather', '{"place":"Oslo"}'),
              toolCall('call_Yk3vbTf8', 'weather', '{"place":"Bergen"}'),
            ],
            finish: { reason: 'tool-calls' },
          },
        ],
        usage: {
          ...UNREPORTED_USAGE,
          inputTotal: 1210,
          cacheRead: 1024,
          cacheWrite: 128,
          outputTotal: 143,
          reasoning: 64,
        },
      });
    });

    it('give an answer whose items have another id in each event', () => {
      expect(partsOf(answerOfStream(responses, recording('rotating-ids')))).to.deep.equal([
        { type: 'reasoning', text: '**Counting letters**' },
        { type: 'text', text: 'There are **3** letters “r”.' },
      ]);
    });

    it('give a cut answer of nothing but hidden reasoning, with its usage', () => {
      const result = answerOfStream(responses, recording('budget-eaten'));
      expect(result.choices).to.deep.equal([{ parts: [], finish: { reason: 'length' } }]);
      expect(result.usage).to.include({ outputTotal: 64, reasoning: 64 });
    });

    it('turn an initial refusal into an error alone, so that it can be a whole answer', () => {
      const { events, error } = failureOf(recording('no-quota'));
      expect(events).to.deep.equal([]);
      expect(error).to.be.instanceOf(ServiceError).with.property('code', 'processing_unavailable');
    });

    it('give the usage that a failure carries before the error', () => {
      const { events, error } = failureOf(recording('failed-late'));
      expect(events.map((event) => event.type)).to.deep.equal(['response-start', 'text-delta', 'usage']);
      expect(events.at(-1)).to.have.nested.property('usage.outputTotal', 2);
      expect(error).to.be.instanceOf(ServiceError).with.property('code', 'processing_failed');
    });

    it('give the answer of a service with few kinds of events, which counts reasoning only in the total', () => {
      const result = answerOfStream(responses, recording('compatible'));
      expect(partsOf(result)).to.deep.equal([
        { type: 'reasoning', text: 'Greet back.' },
        { type: 'text', text: 'Hello' },
        toolCall('c1', 'wave', '{"to":"you"}'),
      ]);
      expect(result.usage).to.include({ inputTotal: 12, outputTotal: 18, cacheRead: null, reasoning: null });
    });
  });

  describe('answers', () => {
    it('are the same from the last event alone as from all of them', () => {
      const events = [reasoningItem(), message('Yes.'), call('a')];
      expect(answer(completed({ output: events }))).to.deep.equal(
        answer(...events.map((item, index) => done(index, item)), completed({ output: events })),
      );
    });

    it('join the text parts of a message', () => {
      const content = ['First. ', 'Second.'].map((part) => ({ type: 'output_text', text: part }));
      expect(partsOf(answer(completed({ output: [{ type: 'message', content }] })))).to.deep.equal([
        { type: 'text', text: 'First. Second.' },
      ]);
    });

    it('are the model’s text when it declined, whole and as a stream', () => {
      const item = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] };
      const expected = [{ parts: [{ type: 'text', text: 'No.' }], finish: { reason: 'stop' } }];
      const delta = { type: 'response.refusal.delta', output_index: 0, delta: 'No.' };
      expect(answer(completed({ output: [item] })).choices).to.deep.equal(expected);
      expect(answer(delta, done(0, item), completed({ output: [item] })).choices).to.deep.equal(expected);
    });

    it('end as cut when they are incomplete for any reason but a filter', () => {
      for (const reason of ['max_output_tokens', 'x']) {
        const response = { status: 'incomplete', incomplete_details: { reason }, output: [message('Ye')] };
        const finish = { reason: 'length' };
        expect(answer({ type: 'response.incomplete', response }).choices[0]?.finish).to.deep.equal(finish);
      }
    });

    it('keep encrypted reasoning without a summary as redacted', () => {
      const item = { type: 'reasoning', summary: [], encrypted_content: 'c2ln' };
      expect(partsOf(answer(done(0, item), text('Yes.', 1), completed()))).to.deep.equal([
        { type: 'reasoning', text: '', signature: 'c2ln', redacted: true },
        { type: 'text', text: 'Yes.' },
      ]);
    });

    it('end at their last event: later events are not read', () => {
      const late = encodeEvent('not JSON') + encodeEvent(DONE);
      const result = answerOfStream(responses, textOfEvents([text('Yes.'), completed()]) + late);
      expect(partsOf(result)).to.deep.equal([{ type: 'text', text: 'Yes.' }]);
    });

    it('ignore unknown events', () => {
      expect(
        partsOf(answer({ type: 'keepalive' }, text('Yes.'), { type: 'response.new' }, completed())),
      ).to.have.length(1);
    });

    it('are cut at stop sequences by the gateway, across deltas, because the format has none', () => {
      const request = textRequest({ sampling: { stopSequences: ['END'] } });
      const plan = planConversion(chatCompletions, responses, request, options, new Meter());
      expect(plan.upstreamRequest.body).to.not.have.property('stop');
      const bytes = new TextEncoder().encode(textOfEvents([text('Hello E'), text('ND and more'), completed()]));
      const streamed = runStage([bytes], fromBytes(plan.convertStream(renderContext()))).join('');
      expect(streamed).to.contain('"finish_reason":"stop"').and.not.contain('more');
      expect(streamed.match(/"content":"[^"]*"/g)).to.deep.equal(['"content":""', '"content":"Hello "']);
    });
  });

  describe('tool calls', () => {
    it('have their arguments in deltas, or whole at their end', () => {
      const start = added(0, call('a', 'look', ''));
      for (const events of [[start, argumentsDelta('{"at"'), argumentsDelta(':1}')], [start], []]) {
        expect(partsOf(answer(...events, done(0, call('a')), completed()))).to.deep.equal([toolCall('a')]);
      }
    });

    it('without arguments have an empty object', () => {
      const item = call('a', 'look', '');
      expect(partsOf(answer(added(0, item), done(0, item), completed()))).to.deep.equal([toolCall('a', 'look', '{}')]);
    });

    it('tool calls are unwrapped, each with its own id, if a model wrapped them into one', () => {
      const uses = ['look', 'wait'].map((name) => ({ recipient_name: `functions.${name}`, parameters: { at: 1 } }));
      const item = call('a', 'multi_tool_use.parallel', JSON.stringify({ tool_uses: uses }));
      const [first, second] = partsOf(answer(added(0, { ...item, arguments: '' }), done(0, item), completed()));
      expect(first).to.deep.equal(toolCall('a'));
      expect(second).to.include({ type: 'tool-call', name: 'wait', arguments: '{"at":1}' });
      expect(second)
        .to.have.property('callId')
        .that.matches(/^call_/);
    });

    it('stay unchanged if their tool only has the name of a wrapper', () => {
      for (const written of ['{"at":1}', '{"tool_uses":[{"recipient_name":"look"}]}', '{"tool_uses":[]}', '{"at"']) {
        expect(partsOf(answer(done(0, call('a', 'parallel', written)), completed()))).to.deep.equal([
          toolCall('a', 'parallel', written),
        ]);
      }
    });
  });

  describe('failures', () => {
    it('inside a stream are identified by their code, nested or flat', () => {
      const cases = [
        [{ type: 'error', error: { code: 'rate_limit_exceeded' } }, 'rate_limit_exceeded'],
        [{ type: 'error', error: { type: 'too_many_requests', code: null } }, 'rate_limit_exceeded'],
        [{ type: 'error', code: 'image_content_policy_violation', message: 'x' }, 'content_policy_violation'],
        [{ error: { code: 'invalid_image_url' } }, 'bad_request'],
        [{ type: 'response.failed', response: { status: 'failed', error: { code: 'x' } } }, 'processing_failed'],
        [{ type: 'response.cancelled', response: {} }, 'processing_failed'],
      ] as const;
      for (const [event, code] of cases) {
        expect(() => answer(text('x'), event))
          .to.throw(ServiceError)
          .with.property('code', code);
      }
    });

    it('failures are whole answers that failed, have not ended, or are invalid', () => {
      const failed = { status: 'failed', error: { code: 'insufficient_quota' }, output: [] };
      expect(() => resultOf(upstream.parseResult(failed)))
        .to.throw(ServiceError)
        .with.property('code', 'processing_unavailable');
      for (const body of [null, [], {}, { output: 'x' }, { status: 'queued', output: [] }]) {
        expect(() => resultOf(upstream.parseResult(body)))
          .to.throw(ServiceError)
          .with.property('code', 'processing_failed');
      }
    });

    it('are the only outcome of invalid events', () => {
      const types = fc.constantFrom('response.output_item.added', 'response.output_item.done', 'response.completed');
      const item = fc.record({
        type: fc.constantFrom('message', 'reasoning', 'function_call'),
        content: fc.jsonValue(),
      });
      const value = fc.oneof(fc.jsonValue(), item);
      const event = fc.record({ type: types, output_index: fc.jsonValue(), item: value, response: fc.jsonValue() });
      fc.assert(
        fc.property(fc.array(event, { maxLength: 4 }), (events) => {
          const { error } = failureOf(textOfEvents(events));
          if (error !== null) expect(error).to.be.instanceOf(ServiceError);
        }),
      );
    });

    it('do not pass the upstream’s error text on', () => {
      const { error } = failureOf(recording('no-quota'));
      expect(String(error)).to.not.contain('billing');
    });
  });

  describe('receives', () => {
    const turns: Turn[] = [
      { role: 'user', parts: [{ type: 'text', text: 'Look.' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.', signature: 'c2ln' },
          { type: 'reasoning', text: 'Unsigned.' },
          { type: 'text', text: 'I look.' },
          toolCall('a'),
          toolCall('b'),
        ],
      },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'b', content: [{ type: 'text', text: 'B' }] }] },
      { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content: [] }] },
    ];

    it('an answer as one item per part, only signed reasoning, and results in the order of the calls', () => {
      expect(built({ turns })['input']).to.deep.equal([
        { role: 'user', content: 'Look.' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'c2ln' },
        { role: 'assistant', content: 'I look.' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
        { type: 'function_call', call_id: 'b', name: 'look', arguments: '{"at":1}' },
        { type: 'function_call_output', call_id: 'a', output: '' },
        { type: 'function_call_output', call_id: 'b', output: 'B' },
      ]);
    });

    it('images and files, also in tool results', () => {
      const bytes = { kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' } as const;
      const image = { type: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } } as const;
      const content = [image, { type: 'file', source: bytes } as const];
      const sent = [
        { type: 'input_image', image_url: 'https://example.com/a.png' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'file' },
      ];
      const result: Turn = { role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content }] };
      const body = built({ turns: [{ role: 'user', parts: content }, result] });
      expect(body).to.deep.nested.include({ 'input[0].content': sent, 'input[1].output': sent });
    });

    it('no budget below its minimum, and none if none was requested', () => {
      const budgets = [undefined, 1, 15, 16, 17].map(
        (maxOutputTokens) => built({ sampling: { maxOutputTokens } })['max_output_tokens'],
      );
      expect(budgets).to.deep.equal([undefined, 16, 16, 16, 17]);
    });

    it('tools that are not strict unless the client requests it', () => {
      const { tools } = built({ tools: [{ name: 'look' }, { name: 'wait', strict: true }] });
      expect(tools).to.deep.equal([
        { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false },
        { type: 'function', name: 'wait', parameters: { type: 'object', properties: {} }, strict: true },
      ]);
    });

    it('the effort of reasoning, the format of the text and the tool choice', () => {
      const schema = { type: 'object' };
      const body = built({
        reasoningEffort: 'low',
        verbosity: 'high',
        outputFormat: { type: 'json-schema', name: 'place', schema, strict: true },
        tools: [{ name: 'look' }],
        toolChoice: { type: 'tool', name: 'look' },
      });
      expect(body).to.deep.include({
        reasoning: { effort: 'low' },
        text: { format: { type: 'json_schema', name: 'place', schema, strict: true }, verbosity: 'high' },
        tool_choice: { type: 'function', name: 'look' },
        store: false,
      });
    });

    it('the option for a summary of the reasoning, if the model reasons', () => {
      const reasoningOf = (request: Partial<TextRequest>, reasons: boolean): unknown =>
        upstream.buildRequest(textRequest(request), { ...options, reasons }).body['reasoning'];
      expect(reasoningOf({}, true)).to.deep.equal({ summary: 'auto' });
      expect(reasoningOf({ reasoningEffort: 'low' }, true)).to.deep.equal({ effort: 'low', summary: 'auto' });
      expect(reasoningOf({ reasoningEffort: 'none' }, true)).to.deep.equal({ effort: 'none' });
      expect(reasoningOf({}, false)).to.equal(undefined);
    });

    it('a client’s own body without fields that look up, store or change the price', () => {
      const kept = [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', summary: [], encrypted_content: 'c2ln' },
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
      ];
      const lost = [
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'item_reference', id: 'rs_2' },
        { type: null, id: 'rs_3' },
      ];
      const fields = { include: ['reasoning.encrypted_content'], max_output_tokens: 5 };
      const input = [...kept.map((item, index) => ({ ...item, id: `x_${index}` })), ...lost];
      const body = { ...fields, model: 'textg-6-sol', input, store: true, service_tier: 'priority' };
      expect(upstream.forwardRequest(body, textRequest(), options)).to.deep.equal({
        path: '/responses',
        headers: { authorization: 'Bearer secret' },
        body: { ...fields, model: 'upstream-model', input: kept, store: false },
      });
      expect(upstream.forwardRequest({ input: 'Hi' }, textRequest(), options).body['input']).to.equal('Hi');
    });
  });

  it('maps errors to the codes that chat completions have', () => {
    expect(upstream.parseError(400, { error: { code: 'context_length_exceeded' } }).code).to.equal('bad_request');
    expect(upstream.parseError(429, null, 7)).to.include({ code: 'rate_limit_exceeded', retryAfterSeconds: 7 });
  });

  it('is measured from its bytes, which pass unchanged', async () => {
    // contract 4.8.2:31
    const bytes = new TextEncoder().encode(recording('reasoning-and-tools'));
    const meter = new Meter();
    const plan = planForwarding(upstream, {}, textRequest(), options, meter);
    const passed = runStage(inReads(bytes, 100), fromBytes(plan.forwardStream()));
    expect(Buffer.concat(passed).equals(bytes)).to.equal(true);
    expect(meter).to.deep.nested.include({
      finished: true,
      'usage.inputTotal': 1210,
      'usage.outputTotal': 143,
    });
  });
});

function* inReads(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

function message(content: string): JsonObject {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: content }] };
}

function reasoningItem(): JsonObject {
  return { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'c2ln' };
}

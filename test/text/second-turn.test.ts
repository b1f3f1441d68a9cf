/** Every answer is accepted when the client sends it back, in every format, for every upstream. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { TextResult } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import { arrayOf, objectOf } from '../../text/upstream-errors.ts';
import * as arbitrary from './arbitraries.ts';
import { answerOfStream, fromBytes, renderContext, textRequest, throughJson } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const MODEL = 'texth-4-argon';

/** The next request of a client that keeps the answer unchanged: the answer, and a result for each of its calls. */
const NEXT: Readonly<Record<WireFormatName, (answer: JsonObject) => JsonObject>> = {
  'chat-completions': (answer) => {
    const message = objectOf(objectOf(arrayOf(answer['choices'])[0])['message']);
    const called = objectOf(message['function_call'])['name'];
    const results = arrayOf(message['tool_calls']).map((call) => ({
      role: 'tool',
      tool_call_id: objectOf(call)['id'],
      content: 'done',
    }));
    const functionResults = typeof called === 'string' && called !== '' ? [{ role: 'function', name: called }] : [];
    const user = { role: 'user', content: 'Go on.' };
    return { model: MODEL, messages: [user, message, ...results, ...functionResults, user] };
  },
  responses: (answer) => {
    const items = arrayOf(answer['output']).map(objectOf);
    const results = items
      .filter((item) => item['type'] === 'function_call')
      .map((item) => ({ type: 'function_call_output', call_id: item['call_id'], output: 'done' }));
    return { model: MODEL, input: [{ role: 'user', content: 'Go on.' }, ...items, ...results] };
  },
  messages: (answer) => {
    const content = arrayOf(answer['content']).map(objectOf);
    const results = content
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => ({ type: 'tool_result', tool_use_id: block['id'], content: 'done' }));
    const asks = [{ role: 'user', content: 'Go on.' }];
    const replies = [{ role: 'user', content: [...results, { type: 'text', text: 'Go on.' }] }];
    return { model: MODEL, max_tokens: 9, messages: [...asks, { role: 'assistant', content }, ...replies] };
  },
  'generate-content': (answer) => {
    const content = objectOf(objectOf(arrayOf(answer['candidates'])[0])['content']);
    const results = arrayOf(content['parts']).flatMap((part) => {
      const { functionCall } = objectOf(part);
      return isObject(functionCall)
        ? [{ functionResponse: { id: functionCall['id'], name: functionCall['name'], response: {} } }]
        : [];
    });
    const user = { role: 'user', parts: [{ text: 'Go on.' }] };
    return { contents: [user, content, { role: 'user', parts: [...results, { text: 'Go on.' }] }] };
  },
};

function expectAccepted(client: WireFormatName, answer: unknown): void {
  const body = NEXT[client](objectOf(throughJson(answer)));
  const context = client === 'generate-content' ? { address: { model: MODEL, stream: false } } : {};
  const request = FORMATS[client].client.parseRequest(body, context);
  for (const upstream of WIRE_FORMAT_NAMES) {
    expect(() => FORMATS[upstream].upstream.buildRequest(request, options)).to.not.throw();
  }
}

/** An answer as received by each format's client, whole and as a stream. */
function expectAcceptedEverywhere(upstream: WireFormatName, whole: unknown, stream: string): void {
  const context = renderContext({ includeUsage: true });
  for (const client of WIRE_FORMAT_NAMES) {
    const conversion = () => planConversion(FORMATS[client], FORMATS[upstream], context.request, options, new Meter());
    const streamed = runStage([Buffer.from(stream)], fromBytes(conversion().convertStream(context))).join('');
    expectAccepted(client, conversion().convertResult(whole, context));
    expectAccepted(client, FORMATS[client].client.renderResult(answerOfStream(FORMATS[client], streamed), context));
  }
  expectAccepted(
    upstream,
    planForwarding(FORMATS[upstream].upstream, {}, textRequest(), options, new Meter()).checkResult(whole),
  );
}

/** The content of vendors' whole answers beside text and calls, by kind. */
const ODD_MESSAGES: Readonly<Record<string, JsonObject>> = {
  'empty objects for sound and calls': {
    content: 'Four.',
    annotations: null,
    audio: { data: '', expires_at: 0, id: '', transcript: '' },
    function_call: { arguments: '', name: '' },
    refusal: '',
    tool_calls: null,
  },
  sound: { content: null, audio: { id: 'audio_1', data: 'AAAA', expires_at: 9, transcript: 'Four.' } },
  'a call in the earlier form': { content: null, function_call: { name: 'look', arguments: '{}' } },
  'arguments that are no object': {
    content: null,
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '[1' } }],
  },
  'parts of thinking and text': {
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Two and two.' }], closed: true },
      { type: 'text', text: 'Four.' },
    ],
  },
  'reasoning under several names': {
    content: 'Four.',
    reasoning: 'Two and two.',
    reasoning_details: [{ type: 'reasoning.text', text: 'Two and two.', signature: null, index: 0 }],
  },
};

describe('an answer that is sent back with the next message', () => {
  for (const format of ['responses', 'messages', 'generate-content'] as const) {
    const folder = new URL(`${format}/fixtures/`, import.meta.url);
    for (const name of readdirSync(folder)) {
      const stream = readFileSync(new URL(name, folder), 'utf8');
      let answer: TextResult;
      try {
        answer = answerOfStream(FORMATS[format], stream);
      } catch {
        // A failed answer, which no client keeps.
        continue;
      }
      it(`is accepted in every format: ${format}, ${name}`, () => {
        // contract 4.8:18
        expectAcceptedEverywhere(format, FORMATS[format].client.renderResult(answer, renderContext()), stream);
      });
    }
  }

  for (const [what, message] of Object.entries(ODD_MESSAGES)) {
    it(`is accepted although it contains ${what}`, () => {
      const whole = { choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }] };
      const upstream = FORMATS['chat-completions'].upstream;
      const passedOn = planForwarding(upstream, {}, textRequest(), options, new Meter()).checkResult(whole);
      expectAccepted('chat-completions', passedOn);
      // Clients may also have kept the part from before.
      expectAccepted('chat-completions', whole);
    });
  }

  for (const client of WIRE_FORMAT_NAMES) {
    it(`is accepted in ${client}, whatever a model answers`, () => {
      fc.assert(
        fc.property(arbitrary.result(1), (result) => {
          expectAccepted(client, FORMATS[client].client.renderResult(result, renderContext()));
        }),
      );
    });
  }
});

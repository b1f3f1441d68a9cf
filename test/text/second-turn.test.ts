/** Every answer is accepted when the client sends it back, in every format, for every upstream. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { readdirSync, readFileSync } from 'node:fs';
import { type JsonObject, objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { TextResult } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import * as arbitrary from './arbitraries.ts';
import { MODEL, NEXT } from './next-request.ts';
import { answerOfStream, fromBytes, renderContext, textRequest, throughJson } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
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

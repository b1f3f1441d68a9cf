/** Requests over routes whose upstreams speak the client's format, and call the model by another name. */
import { expect } from 'chai';
import { planExchange, type Exchange } from '../../../services/text/exchange.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { WireFormatName } from '../../../domain/wire-format-name.ts';
import { FORMATS } from '../../../text/formats.ts';
import { Meter } from '../../../text/meter.ts';
import { DONE, encodeEvent } from '../../../text/sse.ts';
import { runStage } from '../../../text/stage.ts';
import { textModel } from '../../support/text.ts';
import { eventsOfText, fromBytes, renderContext } from '../../text/support.ts';

const CHAT = FORMATS['chat-completions'];
const PASSED_ON = {
  logit_bias: { 5: 1 },
  logprobs: true,
  top_logprobs: 2,
  safety_identifier: 'u',
  chat_template_kwargs: { enable_thinking: false },
  enable_thinking: false,
  min_p: 0.1,
  reasoning: { effort: 'low' },
  repetition_penalty: 1.1,
  thinking: { type: 'disabled' },
  prompt_cache_key: 'conversation',
};

function plan(fields: JsonObject, format: WireFormatName = 'chat-completions', model = 'renamed'): Exchange {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields };
  const request = CHAT.client.parseRequest(body, { compatibility: 'full' });
  const described = textModel('m', [{ format }], { compatibility: 'full' });
  const [route] = described.routes;
  if (route === undefined) expect.fail('the model has no route');
  const read = { format: CHAT, body, request, model: described, streamsArray: false };
  const context = { ...renderContext(), request };
  return planExchange(read, { ...route, model }, 'secret', context, new Meter(), null);
}

const tokens = (...texts: readonly string[]): JsonObject => ({
  content: texts.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })),
  refusal: null,
});

function chunk(content: string, logprobs: JsonObject | null, reason: string | null = null): JsonObject {
  return { id: 'c', choices: [{ index: 0, delta: { content }, logprobs, finish_reason: reason }] };
}

describe('a renamed model', () => {
  it('gets the fields that are passed on to upstreams of its format, and the answers name none of them', () => {
    // contract 4.8:8 4.8.1:23 4.8.1:43
    const { upstreamRequest, unusedFields } = plan({ ...PASSED_ON, service_tier: 'flex' });
    expect(upstreamRequest.body).to.deep.include({ ...PASSED_ON, model: 'renamed' });
    expect(unusedFields).to.deep.equal(['service_tier']);
    expect(upstreamRequest.body).to.not.have.any.keys('service_tier');
  });

  it('gets none of the fields if its format is another, and the answers name them, also thinking that is turned off', () => {
    const { upstreamRequest, unusedFields } = plan({ ...PASSED_ON, reasoning_split: false }, 'messages');
    expect(upstreamRequest.body).to.not.have.any.keys(...Object.keys(PASSED_ON));
    expect(unusedFields).to.have.members(Object.keys(PASSED_ON));
  });

  it('answers with the probabilities of its tokens, whole', async () => {
    const message = { role: 'assistant', content: 'Hi' };
    const answer = { id: 'c', choices: [{ index: 0, message, logprobs: tokens('H', 'i'), finish_reason: 'stop' }] };
    const written = await plan(PASSED_ON).readResult(Buffer.from(JSON.stringify(answer)));
    const text = typeof written === 'string' ? written : Buffer.concat(written ?? []).toString();
    expect(JSON.parse(text)).to.have.deep.nested.property('choices[0].logprobs', tokens('H', 'i'));
  });

  it('answers with the probabilities of its tokens in the chunks of a stream', () => {
    const sent = [chunk('H', tokens('H')), chunk('<', tokens('<')), chunk('i', tokens('i')), chunk('', null, 'stop')];
    const bytes = Buffer.from(
      [...sent.map((each) => JSON.stringify(each)), DONE].map((data) => encodeEvent(data)).join(''),
    );
    const text = runStage([bytes], fromBytes(plan({ ...PASSED_ON, stream: true }).readStream())).join('');
    const choices = eventsOfText(text).flatMap(({ data }): unknown[] =>
      data === DONE ? [] : (JSON.parse(data) as { choices: unknown[] }).choices,
    );
    const piece = (delta: JsonObject, logprobs: JsonObject | null, reason: string | null = null): JsonObject => ({
      index: 0,
      delta,
      logprobs,
      finish_reason: reason,
    });
    expect(choices).to.deep.equal([
      piece({ role: 'assistant', content: '' }, null),
      piece({ content: 'H' }, tokens('H')),
      piece({ content: '<' }, tokens('<')),
      piece({ content: 'i' }, tokens('i')),
      piece({}, null, 'stop'),
    ]);
  });

  it('answers with the probabilities of text that waits because it may start a stop sequence', () => {
    const sent = [
      chunk('a', tokens('a')),
      chunk('x', tokens('x')),
      chunk('b', tokens('b')),
      chunk('xy', tokens('xy'), 'stop'),
    ];
    const bytes = Buffer.from(
      [...sent.map((each) => JSON.stringify(each)), DONE].map((data) => encodeEvent(data)).join(''),
    );
    const stop = ['1', '2', '3', '4', 'xy'];
    const text = runStage([bytes], fromBytes(plan({ ...PASSED_ON, stop, stream: true }).readStream())).join('');
    const lists = [...text.matchAll(/"token":"(\w+)"/g)].map(([, token]) => token);
    expect(lists.slice(0, 3)).to.deep.equal(['a', 'x', 'b']);
  });
});

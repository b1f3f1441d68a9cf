/** Each vendor gets back the signatures that it made, and no others, for all pairs of formats, whatever the client's. */
import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { AnswerPart, TextResult } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import { MODEL, NEXT } from './next-request.ts';
import { answerOfStream, fromBytes, renderContext, streamedTo, textResult, throughJson } from './support.ts';
import { eventsOf } from './answers.ts';

const SIGNATURE = 'c2lnbmF0dXJlIG9mIGl0cyB2ZW5kb3I0';

/** The formats whose calls have signatures; the others sign reasoning. */
const SIGNS_CALLS: readonly WireFormatName[] = ['chat-completions', 'generate-content'];

/** The clients that send back what a vendor of each format signed. */
const KEPT: Readonly<Record<WireFormatName, readonly WireFormatName[]>> = {
  'chat-completions': ['chat-completions', 'generate-content'],
  responses: ['responses', 'messages'],
  messages: ['responses', 'messages'],
  'generate-content': WIRE_FORMAT_NAMES,
};

interface Vendor {
  readonly name: string;
  readonly format: WireFormatName;
}

function answerOf({ format }: Vendor): TextResult {
  const signsCalls = SIGNS_CALLS.includes(format);
  const thought: AnswerPart = { type: 'reasoning', text: 'Hm.', ...(!signsCalls && { signature: SIGNATURE }) };
  const call = { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{}' } as const;
  const parts = [thought, { ...call, ...(signsCalls && { signature: SIGNATURE }) }];
  return textResult({ parts, finish: { reason: 'tool-calls' } });
}

function optionsFor({ name, format }: Vendor) {
  return { model: 'upstream', apiKey: 'secret', compatibility: 'full', origin: `${name} ${format}` } as const;
}

/** The answers that a client gets from a vendor: whole, and as the whole of a stream. */
function answersTo(client: WireFormatName, vendor: Vendor): JsonObject[] {
  const [to, from] = [FORMATS[client], FORMATS[vendor.format]];
  const context = renderContext({ model: MODEL, reasoningDisplay: 'text' });
  const { request } = context;
  const result = answerOf(vendor);
  const whole = throughJson(from.client.renderResult(result, context));
  const bytes = Buffer.from(streamedTo(from, [...eventsOf(result)], context));
  const converted = () => planConversion(to, from, request, optionsFor(vendor), new Meter());
  const forwarded = () => planForwarding(from.upstream, {}, request, optionsFor(vendor), new Meter());
  const isSame = client === vendor.format;
  const streamed = isSame
    ? Buffer.concat(runStage([bytes], fromBytes(forwarded().forwardStream()))).toString()
    : runStage([bytes], fromBytes(converted().convertStream(context))).join('');
  const read = answerOfStream(to, streamed);
  return [
    objectOf(isSame ? forwarded().checkResult(whole) : converted().convertResult(whole, context)),
    // The law of every format: a stream folds into the whole answer.
    objectOf(throughJson(to.client.renderResult(read, context))),
  ];
}

/** The body that a vendor gets when the client sends an answer back. */
function sentTo(vendor: Vendor, client: WireFormatName, answer: JsonObject): string {
  const body = NEXT[client](answer);
  const [from, to] = [FORMATS[client], FORMATS[vendor.format]];
  const address = client === 'generate-content' ? { address: { model: MODEL, stream: false } } : {};
  const request = from.client.parseRequest(body, { ...address, compatibility: 'full' });
  const options = optionsFor(vendor);
  const { upstreamRequest } =
    client === vendor.format
      ? planForwarding(to.upstream, body, request, options, new Meter())
      : planConversion(from, to, request, options, new Meter());
  return JSON.stringify(upstreamRequest.body);
}

describe('signatures', () => {
  for (const client of WIRE_FORMAT_NAMES) {
    for (const format of WIRE_FORMAT_NAMES) {
      const vendor = { name: 'one', format };

      it(`from ${format} go back to their vendor through a client of ${client}, as it made them`, () => {
        // contract 4.8:19 4.8.1:27
        for (const answer of answersTo(client, vendor)) {
          const sent = sentTo(vendor, client, answer);
          expect(sent.includes(`"${SIGNATURE}"`), sent).to.equal(KEPT[format].includes(client));
        }
      });

      for (const other of WIRE_FORMAT_NAMES) {
        it(`from ${format} reach no other vendor of ${other} through a client of ${client}`, () => {
          // contract 4.8:19
          for (const answer of answersTo(client, vendor)) {
            const sent = sentTo({ name: 'other', format: other }, client, answer);
            expect(sent).to.not.contain(SIGNATURE);
            expect(sent).to.contain('"look"');
          }
        });
      }
    }
  }

  it('of unknown origin, and empty ones, reach no vendor', () => {
    const thinking = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'thinking', thinking: 'Hm.', signature: SIGNATURE },
      { type: 'redacted_thinking', data: SIGNATURE },
    ];
    for (const format of WIRE_FORMAT_NAMES) {
      const sent = sentTo({ name: 'one', format }, 'messages', {
        content: [...thinking, { type: 'text', text: 'Hi' }],
      });
      expect(sent).to.not.contain(SIGNATURE).and.to.not.contain('thinking"');
    }
    const bare = sentTo({ name: 'one', format: 'messages' }, 'messages', { content: thinking });
    expect(bare).to.not.contain('"assistant"');
  });

  it('reach only the vendor of a summary of the conversation, with the summary', () => {
    // contract 4.8.2:73
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: SIGNATURE };
    const { upstream } = FORMATS.responses;
    const options = optionsFor({ name: 'one', format: 'responses' });
    const answer = planForwarding(upstream, {}, renderContext().request, options, new Meter()).checkResult({
      status: 'completed',
      output: [item],
    });
    const input = { role: 'user', content: 'Go on.' };
    for (const [name, sent] of [
      ['one', [input, { type: 'compaction', encrypted_content: SIGNATURE }, { type: 'compaction_trigger' }]],
      ['other', [input, { type: 'compaction_trigger' }]],
    ] as const) {
      const items = listOf(objectOf(answer)['output']);
      const body = { model: MODEL, input: [input, ...items, { type: 'compaction_trigger' }] };
      const request = FORMATS.responses.client.parseRequest(body, { compatibility: 'full' });
      const vendor = optionsFor({ name, format: 'responses' });
      const { upstreamRequest } = planForwarding(upstream, body, request, vendor, new Meter());
      expect(upstreamRequest.body['input'], name).to.deep.equal(sent);
    }
  });

  it('make no id of a call longer than 64 characters', () => {
    for (const client of WIRE_FORMAT_NAMES) {
      for (const answer of answersTo(client, { name: 'one', format: 'generate-content' })) {
        for (const [, id = ''] of JSON.stringify(answer).matchAll(/"(?:id|call_id)":"([^"]*)"/g)) {
          expect(id.length).to.be.at.most(64);
        }
      }
    }
  });
});

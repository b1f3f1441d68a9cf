import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import { type StreamEvent, UNREPORTED_USAGE } from '../../text/canonical.ts';
import { READ_REQUEST as READ_CHAT } from '../../text/chat-completions/request-shape.ts';
import { useOf } from '../../text/fields.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { FORMATS } from '../../text/formats.ts';
import { READ_REQUEST as READ_NATIVE } from '../../text/generate-content/request-shape.ts';
import { READ_REQUEST as READ_MESSAGES } from '../../text/messages/request-shape.ts';
import { READ_REQUEST as READ_RESPONSES } from '../../text/responses/request-shape.ts';
import { planForwarding, type Forwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import type { WireFormat } from '../../text/wire-format.ts';
import { fromBytes, renderContext, streamedTo, textRequest, textResult, throughJson } from './support.ts';
import { casesOf } from '../support/properties.ts';

const { 'chat-completions': chatCompletions } = FORMATS;
const options = { model: 'upstream-model', apiKey: 'secret' };
const events: readonly StreamEvent[] = [
  { type: 'response-start', id: null, model: null },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', text: 'Hellö' },
  { type: 'text-end', id: 't' },
  {
    type: 'usage',
    usage: { ...UNREPORTED_USAGE, inputTotal: 4, cacheRead: 1, outputTotal: 2 },
  },
  { type: 'finish', reason: 'stop' },
];

function plan(format: WireFormat, meter = new Meter(), fields: Parameters<typeof textRequest>[0] = {}): Forwarding {
  return planForwarding(format.upstream, { model: 'm' }, textRequest(fields), options, meter);
}

function streamOf(format: WireFormat): Buffer {
  return Buffer.from(streamedTo(format, events, renderContext({ includeUsage: true })));
}

function inReads(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}

/** The frames that passed until the stage threw, and the error. */
function forwardUntilFailure(text: string): { passed: string; error: unknown } {
  const stage = fromBytes(plan(chatCompletions).forwardStream());
  let passed = '';
  try {
    stage.push(Buffer.from(text), (bytes) => void (passed += Buffer.from(bytes).toString()));
    stage.end(() => {});
  } catch (error) {
    return { passed, error };
  }
  return { passed, error: null };
}

describe('the identity path', () => {
  it('adds no message item to a response whose reasoning used all tokens', () => {
    // contract 4.8.2:40
    const output = [{ id: 'rs_1', type: 'reasoning', summary: [] }];
    const response = {
      id: 'resp_1',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output,
      usage: { input_tokens: 4, output_tokens: 16, output_tokens_details: { reasoning_tokens: 16 } },
    };
    const bytes = Buffer.from(
      [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
        { type: 'response.output_item.done', output_index: 0, item: output[0] },
        { type: 'response.incomplete', response },
      ]
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(''),
    );
    const meter = new Meter();
    const passed = runStage([bytes], fromBytes(plan(FORMATS.responses, meter).forwardStream()));
    expect(Buffer.concat(passed).toString()).to.equal(bytes.toString());
    expect(meter.usage).to.include({ outputTotal: 16 });
  });

  for (const format of WIRE_FORMAT_NAMES.map((name) => FORMATS[name])) {
    it(`passes the bytes of ${format.name} on unchanged, for any split, and measures them`, () => {
      // contract 4.8:35 4.8.2:31
      const bytes = streamOf(format);
      fc.assert(
        fc.property(fc.integer({ min: 1, max: bytes.length }), (size) => {
          const meter = new Meter();
          const stage = fromBytes(plan(format, meter, { includeUsage: true }).forwardStream());
          expect(Buffer.concat(runStage(inReads(bytes, size), stage)).equals(bytes)).to.equal(true);
          expect(meter).to.include({ finished: true, outputLength: 5 });
          expect(meter.usage).to.include({ inputTotal: 4, outputTotal: 2 });
        }),
        { numRuns: casesOf(30) },
      );
    });

    it(`measures a whole answer of ${format.name}`, () => {
      const meter = new Meter();
      plan(format, meter).checkResult(throughJson(format.client.renderResult(textResult(), renderContext())));
      expect(meter).to.include({ finished: true, outputLength: 2 });
    });
  }

  for (const [name, { shape }] of [
    ['chat-completions', READ_CHAT.full],
    ['responses', READ_RESPONSES.specification],
    ['messages', READ_MESSAGES.specification],
    ['generate-content', READ_NATIVE.specification],
  ] as const) {
    it(`forwards the unchanged fields of ${name}, and no field that is null or without effect`, () => {
      // contract 4.8:5 4.8:7 4.8:8 4.8.1:23 4.8.1:24 4.8.2:20 4.8.2:21
      const fieldsOf = (use: 'none' | 'same-format'): string[] =>
        Object.entries(shape).flatMap(([field, read]) => (useOf(read) === use ? [field] : []));
      const sent = Object.fromEntries(
        [...fieldsOf('none'), ...fieldsOf('same-format')].map((field) => [field, { on: 1 }]),
      );
      const { body } = FORMATS[name].upstream.forwardRequest(
        { ...sent, top_p: null, tools: null },
        textRequest(),
        options,
      );
      expect(Object.keys(body)).to.include.members(fieldsOf('same-format')).and.not.include.members(['top_p', 'tools']);
      for (const field of fieldsOf('same-format')) expect(body[field], field).to.deep.include({ on: 1 });
      expect(
        Object.keys(body).filter((field) => fieldsOf('none').includes(field) && body[field] !== false),
      ).to.deep.equal([]);
    });
  }

  it('keeps comments, names and CR LF, which conversion would lose', () => {
    const text = `: hello\r\n\r\nid: 1\r\nretry: 5\r\ndata: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n`;
    const passed = runStage(inReads(Buffer.from(text), 4), fromBytes(plan(chatCompletions).forwardStream()));
    expect(Buffer.concat(passed).toString()).to.equal(text);
  });

  it('passes an event on as soon as it is complete', () => {
    const stage = fromBytes(plan(chatCompletions).forwardStream());
    const passed: string[] = [];
    const emit = (bytes: Uint8Array): void => void passed.push(Buffer.from(bytes).toString());
    stage.push(Buffer.from('data: {}\n'), emit);
    expect(passed).to.deep.equal([]);
    stage.push(Buffer.from('\ndata'), emit);
    expect(passed).to.deep.equal(['data: {}\n\n']);
  });

  it('omits usage that the client did not request, and measures it', () => {
    const meter = new Meter();
    const passed = runStage([streamOf(chatCompletions)], fromBytes(plan(chatCompletions, meter).forwardStream()));
    expect(Buffer.concat(passed).toString()).to.not.contain('"choices":[]');
    expect(meter.usage.inputTotal).to.equal(4);
  });

  it('does not pass an upstream’s error on, but passes on the answer before it', () => {
    const { passed, error } = forwardUntilFailure(
      'data: {"choices":[]}\n\ndata: {"error":{"code":"content_filter","message":"of sk-upstream"}}\n\ndata: [DONE]\n\n',
    );
    expect(error).to.be.instanceOf(ServiceError).with.property('code', 'content_policy_violation');
    expect(passed).to.not.contain('sk-upstream').and.not.contain('DONE');
  });

  it('refuses an answer that is truncated or invalid', () => {
    expect(forwardUntilFailure('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n').error)
      .to.be.instanceOf(ServiceError)
      .with.property('code', 'result_transfer_failed');
    expect(forwardUntilFailure('data: {"choices":[{"delta"\n\n').error)
      .to.be.instanceOf(ServiceError)
      .with.property('code', 'processing_failed');
    expect(() => plan(chatCompletions).checkResult({ error: { code: 'content_filter' } }))
      .to.throw(ServiceError)
      .with.property('code', 'content_policy_violation');
  });

  it('limits the memory for an endless event', () => {
    const stage = fromBytes(plan(chatCompletions).forwardStream());
    const endless = Buffer.alloc(17 * 1024 * 1024, 'x');
    expect(() => stage.push(endless, () => {})).to.throw(ServiceError);
  });
});

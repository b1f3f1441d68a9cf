/** The invariants of every wire format, and factories; each format's tests call them. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import {
  UNREPORTED_USAGE,
  type AnswerPart,
  type StreamEvent,
  type TextRequest,
  type TextResult,
} from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { planConversion } from '../../text/convert.ts';
import { isUnused, mappedFields, type JsonType } from '../../text/fields.ts';
import { splitFrames, type Frame } from '../../text/frames.ts';
import { Meter } from '../../text/meter.ts';
import type { Reader } from '../../text/read.ts';
import { parseServerSentEvents, type ServerSentEvent } from '../../text/sse.ts';
import { chain, runStage, type Stage } from '../../text/stage.ts';
import type { BrokenStream, ParseContext, RenderContext, UpstreamRequest, WireFormat } from '../../text/wire-format.ts';
import { resultOf } from './answers.ts';
import * as arbitrary from './arbitraries.ts';

const encoder = new TextEncoder();

/** A request with one user message; the test may override fields. */
export function textRequest(fields: Partial<TextRequest> = {}): TextRequest {
  const turns = [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }] }] as const;
  return { model: 'texth-4-argon', stream: true, turns, tools: [], sampling: {}, ...fields };
}

export function renderContext(request: Partial<TextRequest> = {}): RenderContext {
  return {
    request: textRequest(request),
    responseId: '0123456789abcdef',
    createdAtSeconds: 1_790_000_000,
    nowSeconds: () => 1_790_000_009,
    estimateInputTokens: () => 6,
  };
}

/** A stream of which a client got seven events before its end. */
export function brokenStream(compatibility: BrokenStream['compatibility'] = 'specification'): BrokenStream {
  return { eventCount: 7, compatibility, context: renderContext() };
}

/** A legal answer of one choice. */
export function textResult(choice: Partial<TextResult['choices'][number]> = {}): TextResult {
  const parts = [{ type: 'text', text: 'Hi' }] as const;
  return {
    id: null,
    model: null,
    choices: [{ parts, finish: { reason: 'stop' }, ...choice }],
    usage: UNREPORTED_USAGE,
  };
}

/** The server-sent events of the text of a stream. */
export function eventsOfText(text: string): ServerSentEvent[] {
  return runStage([encoder.encode(text)], parseServerSentEvents());
}

/** The output that a client of the format receives for legal events. */
export function streamedTo(format: WireFormat, events: readonly StreamEvent[], context = renderContext()): string {
  return runStage(events, format.client.renderStream(context)).join('');
}

/** The answer of an upstream's stream of the format. */
export function answerOfStream(format: WireFormat, text: string): TextResult {
  return resultOf(runStage([encoder.encode(text)], chain(parseServerSentEvents(), format.upstream.parseStream())));
}

/** The parts of the first choice. */
export function partsOf(result: TextResult): readonly AnswerPart[] {
  return result.choices[0]?.parts ?? [];
}

/** The value after a round trip through JSON. */
export function throughJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The properties of a format that the tests of the invariants need. */
export interface FormatLaws {
  /** Folds the events of a rendered stream as the vendor's SDK does, into the body of the whole answer. */
  readonly foldStream: (events: readonly ServerSentEvent[]) => JsonObject;
  /** The parts of an answer that survive a round trip through the format. */
  readonly expressibleResult: (result: TextResult) => TextResult;
  /** The parts of a request that survive a round trip through the format, including its model and stream field. */
  readonly expressibleRequest: (request: TextRequest) => TextRequest;
  /** The parser's input for a built request besides its body; nothing if omitted. */
  readonly addressOf?: (request: UpstreamRequest, original: TextRequest) => ParseContext;
  readonly maximumChoices?: number;
}

/** Declares the tests of the invariants. To be called inside a `describe`. */
export function itKeepsTheLawsOfAFormat(format: WireFormat, laws: FormatLaws): void {
  const events = arbitrary.events(laws.maximumChoices ?? 1);
  const context = renderContext({ includeUsage: true });

  it('folds a rendered stream into the rendered result', () => {
    fc.assert(
      fc.property(events, (sequence) => {
        const folded = laws.foldStream(eventsOfText(streamedTo(format, sequence, context)));
        expect(throughJson(folded)).to.deep.equal(throughJson(format.client.renderResult(collect(sequence), context)));
      }),
    );
  });

  it('reads back the answer that it streams', () => {
    fc.assert(
      fc.property(events, (sequence) => {
        const read = answerOfStream(format, streamedTo(format, sequence, context));
        // A stream can keep an order of parts that the whole answer cannot express, so both sides are reduced.
        const expressible = laws.expressibleResult(collect(sequence));
        expect(withoutOrigin(laws.expressibleResult(read))).to.deep.equal(withoutOrigin(expressible));
      }),
    );
  });

  it('reads back the answer that it renders whole', () => {
    fc.assert(
      fc.property(arbitrary.result(laws.maximumChoices ?? 1), (answer) => {
        const body = throughJson(format.client.renderResult(answer, context));
        const read = resultOf(format.upstream.parseResult(body));
        expect(withoutOrigin(read)).to.deep.equal(withoutOrigin(laws.expressibleResult(answer)));
      }),
    );
  });

  it('reads back the request that it builds', () => {
    fc.assert(
      fc.property(arbitrary.request, (request) => {
        const built = format.upstream.buildRequest(request, { model: request.model, apiKey: 'secret' });
        const address = laws.addressOf?.(built, request) ?? {};
        const { unused: _, ...read } = format.client.parseRequest(throughJson(built.body), address);
        expect(read).to.deep.equal(laws.expressibleRequest(request));
      }),
    );
  });

  it('ends the message of an error with the request id', () => {
    // contract 7.1:6
    const error = new ServiceError('bad_request', '"model" is required');
    const text = JSON.stringify(format.client.renderError(error, 'req_1'));
    expect(text).to.contain('"message":"\\"model\\" is required (request id: req_1)"');
  });

  it('refuses a stream that ends in the middle of the answer', () => {
    const whole = streamedTo(format, [
      ...legalStart,
      { type: 'text-end', id: 'a' },
      { type: 'finish', reason: 'stop' },
    ]);
    const beforeTheEnd = whole.slice(0, whole.indexOf('Hello') + 'Hello'.length);
    const cutText = beforeTheEnd.slice(0, beforeTheEnd.lastIndexOf('\n\n') + 2);
    expect(() => answerOfStream(format, cutText))
      .to.throw(ServiceError)
      .with.property('code', 'result_transfer_failed');
  });
}

const legalStart: readonly StreamEvent[] = [
  { type: 'response-start', id: null, model: null },
  { type: 'text-start', id: 'a' },
  { type: 'text-delta', id: 'a', text: 'First' },
  { type: 'text-delta', id: 'a', text: 'Hello' },
];

/** Removes ids and models, which change between the parties. */
function withoutOrigin(result: TextResult): TextResult {
  return { ...result, id: null, model: null };
}

const ANY_VALUES: Readonly<Record<JsonType, unknown>> = {
  string: 'value',
  number: 5,
  boolean: true,
  object: { any: 'value' },
  array: ['value'],
};

/**
 * Declares a test that the parser treats each top-level field as the shape of a request defines: a mapped field changes
 * the request, an ignored one does not, a refused one is refused by name.
 *
 * @param base a valid body without optional fields
 * @param examples for each mapped field a value (not the base's) that the parser accepts
 */
export function itDecidesEveryField(
  parse: (body: JsonObject) => TextRequest,
  read: { readonly shape: Readonly<Record<string, Reader<unknown>>> },
  base: JsonObject,
  examples: Readonly<Record<string, unknown>>,
): void {
  const mapped = mappedFields(read);
  for (const [field, reader] of Object.entries(read.shape)) {
    if (mapped.has(field)) {
      it(`maps "${field}"`, () => {
        // contract 4.8.1:6 4.8.1:7 4.8.1:8 4.8.1:17 4.8.1:19 4.8.1:20 4.8.2:6 4.8.2:8 4.8.2:9 4.8.2:11 4.8.2:12 4.8.3:7 4.8.3:13 4.8.4:5 4.8.4:6
        expect(parse({ ...base, [field]: examples[field] })).to.not.deep.equal(parse(base));
      });
    } else if (isUnused(reader)) {
      const { type, use } = reader;
      it(`accepts "${field}" of its type, ignores it, and reports it as unused`, () => {
        // contract 4.8:4 4.8:7 4.8.4:10
        for (const [kind, value] of Object.entries(ANY_VALUES)) {
          const body = { ...base, [field]: value };
          if (type !== null && kind !== type) {
            expect(() => parse(body))
              .to.throw(ServiceError, field)
              .with.property('code', 'bad_request');
            continue;
          }
          const { unused, ...request } = parse(body);
          expect(request).to.deep.equal(parse(base));
          const [name = ''] = (use === 'none' ? unused?.always : unused?.converted) ?? [];
          expect(name.split('.').at(-1)).to.equal(field);
        }
        expect(parse({ ...base, [field]: null })).to.deep.equal(parse(base));
      });
    } else {
      it(`refuses "${field}" by name`, () => {
        // contract 4.8.2:18 4.8.3:16 4.8.4:1
        expect(() => parse({ ...base, [field]: { any: 'value' } }))
          .to.throw(ServiceError, field)
          .with.property('code', 'bad_request');
        expect(parse({ ...base, [field]: null })).to.deep.equal(parse(base));
      });
    }
  }
}

/** A stage on the frames of a stream, as a function of its bytes. */
export function fromBytes<Output>(stage: Stage<Frame, Output>): Stage<Uint8Array, Output> {
  return chain(splitFrames(), stage);
}

/** The body that a client of one format receives for an answer of an upstream of another, whole and as a stream. */
export function roundTrip(
  client: WireFormat,
  upstream: WireFormat,
  events: readonly StreamEvent[],
): {
  readonly whole: unknown;
  readonly streamed: string;
} {
  const context = renderContext({ includeUsage: true });
  const plan = () => {
    const meter: Meter = new Meter(() => meter.usage);
    return planConversion(client, upstream, context.request, { model: 'upstream', apiKey: 'secret' }, meter);
  };
  const bytes = encoder.encode(streamedTo(upstream, events, context));
  const whole = upstream.client.renderResult(collect(events), context);
  return {
    whole: throughJson(plan().convertResult(throughJson(whole), context)),
    streamed: runStage([bytes], fromBytes(plan().convertStream(context))).join(''),
  };
}

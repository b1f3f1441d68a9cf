import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { StreamEvent } from '../../text/canonical.ts';
import { chatCompletions } from '../../text/chat-completions/index.ts';
import { planConversion } from '../../text/convert.ts';
import { Meter } from '../../text/meter.ts';
import { streamStage, type Stage } from '../../text/stage.ts';
import type { WireFormat } from '../../text/wire-format.ts';
import { renderContext, roundTrip, streamedTo, textRequest } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const events: readonly StreamEvent[] = [
  { type: 'response-start', id: null, model: null },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', text: 'Hello' },
  { type: 'text-end', id: 't' },
  { type: 'usage', usage: { inputTotal: 4, cacheRead: 1, cacheWrite: null, outputTotal: 2, reasoning: null } },
  { type: 'finish', reason: 'stop' },
];
const bytes = new TextEncoder().encode(streamedTo(chatCompletions, events, renderContext({ includeUsage: true })));

async function* inReads(size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

async function* goodThenBad(): AsyncGenerator<string> {
  yield 'good';
  yield 'bad';
}

describe('conversion', () => {
  it('gives the answer of one format in another, whole and as a stream', () => {
    const { whole, streamed } = roundTrip(chatCompletions, chatCompletions, events);
    expect(whole).to.have.nested.property('choices[0].message.content', 'Hello');
    expect(streamed).to.equal(streamedTo(chatCompletions, events, renderContext({ includeUsage: true })));
  });

  it('measures the answer as the upstream gave it', async () => {
    const meter = new Meter();
    const plan = planConversion(chatCompletions, chatCompletions, textRequest(), options, meter);
    await all(streamStage(inReads(7), plan.convertStream(renderContext())));
    expect(meter).to.include({ finished: true, outputLength: 5 });
    expect(meter.usage).to.include({ inputTotal: 4, cacheRead: 1, outputTotal: 2 });
  });

  it('cuts at stop sequences itself when the client is to be told which one hit and the upstream would not say', () => {
    const request = textRequest({ sampling: { stopSequences: ['END'] } });
    const telling: WireFormat = {
      ...chatCompletions,
      client: { ...chatCompletions.client, reportsStopSequence: true },
    };
    const sentBy = (client: WireFormat): unknown =>
      planConversion(client, chatCompletions, request, options, new Meter()).upstreamRequest.body['stop'];
    expect(sentBy(chatCompletions)).to.deep.equal(['END']);
    expect(sentBy(telling)).to.equal(undefined);
  });
});

describe('stages', () => {
  const failing: Stage<string, string> = {
    push(input, emit) {
      emit(input);
      if (input === 'bad') throw new ServiceError('processing_failed', 'broken');
    },
    end() {},
  };

  it('give out what was made before a failure', async () => {
    const seen: string[] = [];
    const run = async (): Promise<void> => {
      for await (const output of streamStage(goodThenBad(), failing)) seen.push(output);
    };
    expect(await run().catch((error: unknown) => error)).to.be.instanceOf(ServiceError);
    expect(seen).to.deep.equal(['good', 'bad']);
  });

  it('read the source only when pulled, and tell it when the consumer stops', async () => {
    let reads = 0;
    let stopped = false;
    async function* source(): AsyncGenerator<string> {
      try {
        for (reads = 1; reads < 100; reads += 1) yield 'x';
      } finally {
        stopped = true;
      }
    }
    for await (const output of streamStage(source(), failing)) {
      expect(output).to.equal('x');
      break;
    }
    expect(reads).to.equal(1);
    expect(stopped).to.equal(true);
  });
});

/** Upstreams that ignore whether the client wants a stream. */
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import type { TextResult } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { inArray } from '../../../text/generate-content/array-stream.ts';
import { runStage } from '../../../text/stage.ts';
import { usageOf } from '../../../domain/text-tokens.ts';
import { eventsOf, resultOf } from '../../text/answers.ts';
import { answerOfStream, partsOf, renderContext } from '../../text/support.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { textModel, useTestText } from '../../support/text.ts';

const COUNTS = { inputTotal: 21, outputTotal: 7 } as const;
const usage = usageOf((name) => (name === 'inputTotal' || name === 'outputTotal' ? COUNTS[name] : null));
const ANSWER: TextResult = {
  id: 'a1',
  model: 'secret-name',
  choices: [
    {
      parts: [
        { type: 'text', text: 'Grüße, "World"!' },
        { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{"place":"the sea"}' },
      ],
      finish: { reason: 'tool-calls' },
    },
  ],
  usage,
};
const ADDRESSES: Readonly<Record<WireFormatName, RegExp>> = {
  'chat-completions': /\/chat\/completions$/,
  responses: /\/responses$/,
  messages: /\/messages$/,
  'generate-content': /:(?:generateContent|streamGenerateContent\?alt=sse)$/,
};

const modelOf = (format: WireFormatName): string => `textc-deaf-to-${format}`;
const renamedOf = (format: WireFormatName): string => `textc-renamed-${format}`;

function wantsStream({ url = '' }: IncomingMessage, body: string): boolean {
  return body.includes('"stream":true') || url.includes('streamGenerateContent');
}

/** The answer in the other form than the request asks for, or in the same. */
function answerTo(
  request: IncomingMessage,
  body: string,
  isObedient = false,
): { readonly isStream: boolean; readonly text: string } {
  const { url = '' } = request;
  const isStream = wantsStream(request, body) === isObedient;
  const format = WIRE_FORMAT_NAMES.find((name) => ADDRESSES[name].test(url)) ?? 'messages';
  const context = renderContext({ includeUsage: true });
  const { client } = FORMATS[format];
  const text = isStream
    ? runStage(eventsOf(ANSWER), client.renderStream(context)).join('')
    : JSON.stringify(client.renderResult(ANSWER, context));
  return { isStream, text };
}

/** The native stream as a list, which the vendor sends without `alt=sse`. */
function listedAnswer(): string {
  const render = FORMATS['generate-content'].client.renderStream(renderContext());
  return runStage(eventsOf(ANSWER), inArray(render)).join('');
}

describe('an upstream that ignores whether to stream', () => {
  let typeOf: (isStream: boolean) => string | undefined;
  let before = '';
  let isListed = false;
  const scripted = useScriptedUpstream((request, response, body) => {
    const { isStream, text: answer } = isListed ? { isStream: false, text: listedAnswer() } : answerTo(request, body);
    const type = typeOf(isStream);
    if (type !== undefined) response.setHeader('content-type', type);
    response.end(before + answer);
  });
  const text = useTestText(() => ({
    upstreams: [{ name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: scripted.baseUrls }],
    models: WIRE_FORMAT_NAMES.flatMap((format) => [
      textModel(modelOf(format), [{ format, provider: 'scripted' }]),
      textModel(renamedOf(format), [{ format, provider: 'scripted', model: 'secret-name' }]),
    ]),
  }));
  beforeEach(() => {
    typeOf = (isStream) => (isStream ? 'text/event-stream; charset=utf-8' : 'application/json');
    before = '';
    isListed = false;
    text.outcomes.length = 0;
  });

  /** Asserts that a client of the format gets the answer in the form that it wants, and is charged for it. */
  async function expectAnswer(client: WireFormatName, model: string, stream: boolean): Promise<void> {
    const response = await text.ask(client, model, 'Hi', { stream });
    const body = await response.text();
    expect(response.status, body).to.equal(200);
    expect(response.headers.get('content-type')).to.contain(stream ? 'text/event-stream' : 'application/json');
    const answer = stream
      ? answerOfStream(FORMATS[client], body)
      : resultOf(FORMATS[client].upstream.parseResult(JSON.parse(body)));
    const [said, called] = partsOf(answer);
    expect(said).to.deep.equal({ type: 'text', text: 'Grüße, "World"!' });
    expect(called).to.include({ type: 'tool-call', name: 'look', arguments: '{"place":"the sea"}' });
    expect(answer.choices[0]?.finish).to.deep.equal({ reason: 'tool-calls' });
    expect(answer.usage).to.include(COUNTS);
    expect(body).to.contain(model).and.not.contain('secret-name');
    await text.idle();
    const [outcome] = text.outcomes.splice(0);
    expect(outcome).to.include({ status: 'succeeded', errorCode: null });
    expect(outcome?.usage).to.include(COUNTS);
  }

  for (const upstream of WIRE_FORMAT_NAMES) {
    for (const client of WIRE_FORMAT_NAMES) {
      it(`is read by its content type: ${client} over ${upstream}`, async () => {
        // contract 4.8:42
        for (const stream of [false, true]) {
          for (const model of [modelOf(upstream), renamedOf(upstream)]) await expectAnswer(client, model, stream);
        }
      });
    }
  }

  it('is read as JSON without a content type, and after white space', async () => {
    before = '\n \n';
    typeOf = (isStream) => (isStream ? 'text/event-stream' : undefined);
    for (const client of WIRE_FORMAT_NAMES) await expectAnswer(client, modelOf('chat-completions'), true);
  });

  it('is read as a list of stream events, whatever the client’s format', async () => {
    // contract 4.8:42
    isListed = true;
    for (const client of WIRE_FORMAT_NAMES) {
      for (const model of [modelOf('generate-content'), renamedOf('generate-content')]) {
        await expectAnswer(client, model, true);
      }
    }
  });

  it('is joined from several calls', async () => {
    for (const stream of [false, true]) {
      const response = await text.post('/v1/chat/completions', {
        model: modelOf('messages'),
        stream,
        n: 2,
        messages: [{ role: 'user', content: 'Hi' }],
      });
      const body = await response.text();
      const answer = stream
        ? answerOfStream(FORMATS['chat-completions'], body)
        : resultOf(FORMATS['chat-completions'].upstream.parseResult(JSON.parse(body)));
      expect(answer.choices, body).to.have.lengthOf(2);
    }
  });
});

describe('an upstream that only streams', () => {
  const scripted = useScriptedUpstream((request, response, body) => {
    if (!wantsStream(request, body)) return response.writeHead(400).end('{"error":{"message":"enable the stream"}}');
    return response.setHeader('content-type', 'text/event-stream').end(answerTo(request, body, true).text);
  });
  const text = useTestText(() => ({
    upstreams: [{ name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: scripted.baseUrls }],
    models: WIRE_FORMAT_NAMES.map((format) =>
      textModel(modelOf(format), [{ format, provider: 'scripted', streamsOnly: true }]),
    ),
  }));

  for (const upstream of WIRE_FORMAT_NAMES) {
    it(`gives whole answers of ${upstream} to clients of every format`, async () => {
      // contract 4.8:42
      for (const client of WIRE_FORMAT_NAMES) {
        const response = await text.ask(client, modelOf(upstream), 'Hi', { stream: false });
        const body = await response.text();
        expect(response.status, body).to.equal(200);
        const answer = resultOf(FORMATS[client].upstream.parseResult(JSON.parse(body)));
        expect(partsOf(answer)[0]).to.deep.equal({ type: 'text', text: 'Grüße, "World"!' });
        expect(answer.usage).to.include(COUNTS);
      }
    });
  }
});

/** Every format against upstreams of every format, whole and streamed. */
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { TextResult } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { answerOfStream, eventsOfText } from '../../text/support.ts';
import { ASK, modelVia, useTestText } from '../../support/text.ts';
import { resultOf } from '../../text/answers.ts';

/** The field of each format that bounds the output. */
const BUDGET: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': { max_tokens: 20 },
  responses: { max_output_tokens: 20 },
  messages: { max_tokens: 20 },
  'generate-content': { generationConfig: { maxOutputTokens: 20 } },
};

/** The field of each format for stop sequences; responses has none. */
const STOP: Readonly<Partial<Record<WireFormatName, JsonObject>>> = {
  'chat-completions': { stop: 'STOP' },
  messages: { stop_sequences: ['STOP'] },
  'generate-content': { generationConfig: { stopSequences: ['STOP'] } },
};

function textOf({ choices }: TextResult): string {
  return choices.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : ''))).join('');
}

describe('text endpoints', () => {
  const text = useTestText();

  /** The text that a client reads, whole and streamed; neither shows reasoning on the native format. */
  async function answers(
    client: WireFormatName,
    upstream: WireFormatName,
    prompt: string,
    fields: JsonObject,
  ): Promise<readonly TextResult[]> {
    const [whole, stream] = await Promise.all(
      [false, true].map(async (isStream) => {
        const { path, body } = ASK[client](modelVia(upstream), prompt, isStream);
        const response = await text.post(path, { ...body, ...fields });
        return response.text();
      }),
    );
    if (client === 'generate-content') expect(`${whole}${stream}`).to.not.contain('Let');
    return [
      resultOf(FORMATS[client].upstream.parseResult(JSON.parse(whole ?? ''))),
      answerOfStream(FORMATS[client], stream ?? ''),
    ];
  }

  for (const upstream of WIRE_FORMAT_NAMES) {
    it(`answer legacy functions of chat completions from an upstream that speaks ${upstream}`, async () => {
      // contract 4.8.1:16 4.8.1:31
      const question = { role: 'user', content: 'Call look with {"place":"the sea"}' };
      const functions = [{ name: 'look', parameters: { type: 'object', properties: { place: { type: 'string' } } } }];
      const ask = (body: JsonObject): Promise<Response> =>
        text.post('/v1/chat/completions', { model: modelVia(upstream), functions, messages: [question], ...body });
      const whole = Object(await (await ask({})).json());
      expect(whole.choices[0]).to.include({ finish_reason: 'function_call' });
      const { message } = whole.choices[0];
      expect(message).to.not.have.property('tool_calls');
      expect(message.function_call.name).to.equal('look');
      expect(JSON.parse(message.function_call.arguments)).to.deep.equal({ place: 'the sea' });

      const stream = eventsOfText(await (await ask({ stream: true })).text());
      const choices = stream
        .filter(({ data }) => data !== '[DONE]')
        .map(({ data }) => Object(JSON.parse(data)).choices[0]);
      const pieces = choices.flatMap(({ delta }) => (delta.function_call === undefined ? [] : [delta.function_call]));
      expect(pieces[0].name).to.equal('look');
      expect(JSON.parse(pieces.map((piece) => piece.arguments).join(''))).to.deep.equal({ place: 'the sea' });
      expect(choices.at(-1)).to.include({ finish_reason: 'function_call' });

      const result = { role: 'function', name: 'look', content: 'blue' };
      const answer = Object(await (await ask({ messages: [question, message, result] })).json());
      expect(answer.choices[0].message.content).to.contain('look => ').and.contain('blue');
    });
  }

  for (const client of WIRE_FORMAT_NAMES) {
    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`answer ${client} from an upstream that speaks ${upstream}, whole and as a stream`, async () => {
        // contract 1:2 1:3 4.8:1 4.8:36 4.8.1:4 4.8.2:5 4.8.3:6
        text.outcomes.length = 0;
        const prompt = 'Say exactly: Grüße, "World"!\n[sim:prompt=21,cached=5,reasoning=2]';
        const response = await text.ask(client, modelVia(upstream), prompt);
        expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
        const answer = resultOf(FORMATS[client].upstream.parseResult(await response.json()));
        const stream = await text.ask(client, modelVia(upstream), prompt, { stream: true });
        expect(stream.headers.get('content-type')).to.equal('text/event-stream; charset=utf-8');
        const streamedAnswer = answerOfStream(FORMATS[client], await stream.text());
        for (const { choices, usage } of [answer, streamedAnswer]) {
          const texts = choices[0]?.parts.map((part) => (part.type === 'text' ? part.text : ''));
          expect(texts?.join('')).to.equal(prompt.slice('Say exactly: '.length));
          expect(choices[0]?.finish).to.deep.equal({ reason: 'stop' });
          expect(usage).to.include({ inputTotal: 21, cacheRead: 5 });
        }
        expect(streamedAnswer.usage).to.deep.equal(answer.usage);
        await text.idle();
        for (const outcome of text.outcomes.splice(0)) {
          expect(outcome).to.deep.include({
            status: 'succeeded',
            errorCode: null,
            upstream: { provider: 'simulator', format: upstream, model: modelVia(upstream) },
          });
          expect(outcome.usage).to.include({ inputTotal: 21, cacheRead: 5, outputTotal: answer.usage.outputTotal });
        }
      });

      it(`answer ${client} with nothing but the finish reason when reasoning used the token limit of ${upstream}`, async () => {
        // contract 4.8:9 4.8:11 4.8.1:32 4.8.3:21
        for (const answer of await answers(client, upstream, 'Hi [sim:reasoning=50]', BUDGET[client])) {
          expect(textOf(answer)).to.equal('');
          expect(answer.choices[0]?.finish.reason).to.equal('length');
          expect(answer.usage.outputTotal).to.equal(20);
        }
      });

      const stop = STOP[client];
      if (stop === undefined) continue;
      it(`answer ${client} up to a stop sequence, which messages names, from ${upstream}`, async () => {
        // contract 4.8:16 4.8.1:9 4.8.3:8
        for (const answer of await answers(client, upstream, 'Say exactly: one STOP two', stop)) {
          expect(textOf(answer)).to.equal('one ');
          const named = { reason: 'stop-sequence', stopSequence: 'STOP' };
          expect(answer.choices[0]?.finish).to.deep.equal(client === 'messages' ? named : { reason: 'stop' });
        }
      });
    }
  }
});

/** Images of models that make them: of the native format, and of OpenRouter's form of chat completions. */
import { expect } from 'chai';
import { type JsonObject, objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { MODEL, NEXT } from './next-request.ts';
import { eventsOfText, fromBytes, renderContext } from './support.ts';

const OPTIONS = { model: 'up', apiKey: 'secret', compatibility: 'full' } as const;
const DATA = 'iVBORw0KGgoAAAANSUhEUg==';
const URL = `data:image/png;base64,${DATA}`;

/** An image after a text, as upstreams send it: whole, and as the events of a stream. */
const UPSTREAMS: Readonly<Partial<Record<WireFormatName, { whole: JsonObject; events: readonly JsonObject[] }>>> = {
  'generate-content': {
    whole: nativeAnswer([{ text: 'Here.' }, { inlineData: { mimeType: 'image/png', data: DATA } }], 'STOP'),
    events: [
      nativeAnswer([{ text: 'Here.' }]),
      nativeAnswer([{ thought: true, inlineData: { mimeType: 'image/png', data: 'draft' } }]),
      nativeAnswer([{ inlineData: { mimeType: 'image/png', data: DATA } }], 'STOP'),
    ],
  },
  'chat-completions': {
    whole: { choices: [{ message: { content: 'Here.', ...chatImage() }, finish_reason: 'stop' }] },
    events: [
      { choices: [{ index: 0, delta: { role: 'assistant', content: 'Here.' } }] },
      { choices: [{ index: 0, delta: { content: '', ...chatImage() } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ],
  },
};

function nativeAnswer(parts: readonly JsonObject[], finishReason?: string): JsonObject {
  return { candidates: [{ index: 0, content: { role: 'model', parts }, finishReason }] };
}

function chatImage(): JsonObject {
  return { images: [{ type: 'image_url', index: 0, image_url: { url: URL } }] };
}

const SHOWN: Readonly<Record<WireFormatName, string>> = {
  'chat-completions': JSON.stringify(chatImage().images),
  responses: `"type":"image_generation_call","status":"completed","result":"${DATA}"`,
  messages: JSON.stringify({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } }),
  'generate-content': JSON.stringify({ inlineData: { mimeType: 'image/png', data: DATA } }),
};

function planned(client: WireFormatName, upstream: WireFormatName, meter = new Meter()) {
  const { request } = renderContext();
  return planConversion(FORMATS[client], FORMATS[upstream], request, OPTIONS, meter);
}

/** The body for an upstream of a request in which the client sends the answer back. */
function sentOn(client: WireFormatName, upstream: WireFormatName, answer: JsonObject): string {
  const address = client === 'generate-content' ? { address: { model: MODEL, stream: false } } : {};
  const [from, to] = [FORMATS[client], FORMATS[upstream]];
  const request = from.client.parseRequest(NEXT[client](answer), { ...address, compatibility: 'full' });
  return JSON.stringify(planConversion(from, to, request, OPTIONS, new Meter()).upstreamRequest.body);
}

describe('an image in an answer', () => {
  for (const client of WIRE_FORMAT_NAMES) {
    for (const [upstream, answer] of [
      ['generate-content', UPSTREAMS['generate-content']],
      ['chat-completions', UPSTREAMS['chat-completions']],
    ] as const) {
      it(`reaches a client of ${client} from an upstream of ${upstream}, whole and in a stream`, () => {
        // contract 4.8:73
        if (answer === undefined) throw new Error('every upstream has an answer');
        const whole = JSON.stringify(planned(client, upstream).convertResult(answer.whole, renderContext()));
        expect(whole).to.contain(SHOWN[client]).and.to.contain('Here.');
        const bytes = Buffer.from(answer.events.map((event) => encodeEvent(JSON.stringify(event))).join(''));
        const streamed = runStage([bytes], fromBytes(planned(client, upstream).convertStream(renderContext())));
        expect(streamed.join('')).to.contain(SHOWN[client]).and.to.not.contain('draft');
      });
    }

    it(`reaches a native model again when a client of ${client} sends it back, and others as a note`, () => {
      // contract 4.8:73
      const answer = objectOf(
        planned(client, 'generate-content').convertResult(UPSTREAMS['generate-content']?.whole, renderContext()),
      );
      expect(sentOn(client, 'generate-content', answer)).to.contain(
        JSON.stringify({
          inlineData: { mimeType: 'image/png', data: DATA },
          thoughtSignature: 'skip_thought_signature_validator',
        }),
      );
      for (const other of ['chat-completions', 'responses', 'messages'] as const) {
        expect(sentOn(client, other, answer))
          .to.contain('[image]')
          .and.to.not.contain(DATA);
      }
    });
  }

  it('makes an answer without text complete', () => {
    const alone = nativeAnswer([{ inlineData: { mimeType: 'image/png', data: DATA } }], 'STOP');
    const message = objectOf(planned('messages', 'generate-content').convertResult(alone, renderContext()));
    expect(message['content']).to.have.lengthOf(1);
    const response = objectOf(planned('responses', 'generate-content').convertResult(alone, renderContext()));
    expect(response['output']).to.have.lengthOf(1);
  });

  it('counts as output if the upstream reports no usage', () => {
    // contract 4.8:73
    const meter = new Meter();
    planned('messages', 'generate-content', meter).convertResult(
      nativeAnswer([{ inlineData: { mimeType: 'image/png', data: DATA } }], 'STOP'),
      renderContext(),
    );
    expect(meter.countSeenTokens()).to.equal(1290);
  });

  it('arrives as a text with its link if the upstream sends a link', () => {
    const url = 'https://example.com/a.png';
    const linked = {
      choices: [{ message: { content: null, images: [{ image_url: { url } }] }, finish_reason: 'stop' }],
    };
    const message = planned('messages', 'chat-completions').convertResult(linked, renderContext());
    expect(JSON.stringify(message)).to.contain(`![image](${url})`);
  });

  it('has announced events in a stream of responses, with one numbering', () => {
    const bytes = Buffer.from(
      (UPSTREAMS['generate-content']?.events ?? []).map((event) => encodeEvent(JSON.stringify(event))).join(''),
    );
    const stage = fromBytes(planned('responses', 'generate-content').convertStream(renderContext()));
    const events = eventsOfText(runStage([bytes], stage).join('')).map(({ data }) => objectOf(JSON.parse(data)));
    expect(events.map((event) => event['sequence_number'])).to.deep.equal([...events.keys()]);
    expect(events.map(({ type }) => type).slice(-5)).to.deep.equal([
      'response.output_item.added',
      'response.image_generation_call.in_progress',
      'response.image_generation_call.completed',
      'response.output_item.done',
      'response.completed',
    ]);
  });
});

describe('settings of images', () => {
  it('reach native models in a native request', () => {
    // contract 4.8.4:21
    const generationConfig = { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } };
    const body = { contents: [{ parts: [{ text: 'A cat' }] }], generationConfig };
    const { client, upstream } = FORMATS['generate-content'];
    const address = { model: MODEL, stream: false };
    const request = client.parseRequest(body, { address, compatibility: 'full' });
    const { upstreamRequest } = planForwarding(upstream, body, request, OPTIONS, new Meter());
    expect(upstreamRequest.body['generationConfig']).to.deep.equal(generationConfig);
    const text = client.parseRequest(body, { address });
    expect(
      planForwarding(upstream, body, text, { ...OPTIONS, compatibility: 'specification' }, new Meter()).upstreamRequest
        .body['generationConfig'],
    ).to.deep.equal({});
  });

  it('reach chat-completions models in a chat completion', () => {
    // contract 4.8.1:47 4.8.1:23
    const settings = { modalities: ['image', 'text'], image_config: { aspect_ratio: '16:9' } };
    const body = { model: MODEL, messages: [{ role: 'user', content: 'A cat' }], ...settings };
    const { client, upstream } = FORMATS['chat-completions'];
    const request = client.parseRequest(body, { compatibility: 'full' });
    expect(planForwarding(upstream, body, request, OPTIONS, new Meter()).upstreamRequest.body).to.deep.include(
      settings,
    );
  });
});

import { expect } from 'chai';
import { assert, constantFrom, integer, property, tuple } from 'fast-check';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { boundInput, maxTokenCount } from '../../../services/text/bound-input.ts';
import { soldTextModel } from '../../support/catalogue.ts';
import type { MediaKind, TextModel } from '../../../catalogue/types.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { FilePart, ImagePart, InputPart, Source, TextRequest } from '../../../text/canonical.ts';
import { FORMATS } from '../../../text/formats.ts';
import { renderMedia } from '../../../text/generate-content/media.ts';
import { textRequest } from '../../text/support.ts';
import { casesOf } from '../../support/properties.ts';

/** First and last characters of the alphabets of random text. */
const ALPHABETS = [
  'az',
  'AZ',
  '09',
  '!/',
  '\t\r',
  'Az',
  '!~',
  'À\u024f',
  'Ͱ\u03ff',
  'Ая',
  'את',
  'ؠي',
  'अह',
  'กฮ',
  'ぁゖ',
  '一\u9fff',
  '가\ud7a3',
  '\u1000\u2fff',
] as const;

const OPTIONS = { model: 'any', apiKey: 'sk-any' };
const WORDS = 'Of all the things that a gateway has to count, tokens are the ones it can least be sure of. '.repeat(50);

describe('the maximum of tokens of a text', () => {
  it('is no less than current vocabularies make of random characters of one alphabet', () => {
    const alphabet = constantFrom(...ALPHABETS);
    const seed = integer({ min: 1, max: 2 ** 31 - 2 });
    assert(
      property(tuple(alphabet, seed), ([range, start]) => {
        const text = randomText(range, start, 600);
        const most = maxTokenCount(text) * 1.1;
        expect(encodeO200k(text).length, range).to.be.at.most(most);
        expect(encodeCl100k(text).length, range).to.be.at.most(most);
      }),
      { numRuns: casesOf(60) },
    );
  });

  it('is about two and a half times the tokens of plain English', () => {
    expect(maxTokenCount(WORDS)).to.be.within(2 * encodeO200k(WORDS).length, 3 * encodeO200k(WORDS).length);
  });

  it('is not counted beyond the needed number', () => {
    expect(maxTokenCount('1'.repeat(1_000), 10)).to.equal(10);
  });
});

describe('the maximum of tokens of an input', () => {
  const model = soldTextModel('texth-3.8-flash');
  const link = (url: string, mediaType?: string): Source => ({ kind: 'url', url, ...(mediaType && { mediaType }) });
  const file = (source: Source): FilePart => ({ type: 'file', source });
  const image = (source: Source): ImagePart => ({ type: 'image', source });

  function mostOf(parts: readonly InputPart[], request: Partial<TextRequest> = {}): number {
    return mostOfAll(textRequest({ turns: [{ role: 'user', parts }], ...request }), model);
  }

  const CASES: readonly [string, ImagePart | FilePart, MediaKind][] = [
    ['a link to a video', file(link('https://example.com/long', 'video/mp4')), 'video'],
    ['a link to a file that nobody names', file(link('https://example.com/what')), 'video'],
    [
      'a link to a video site, whatever it is called',
      image(link('https://www.youtube.com/watch?v=1', 'image/png')),
      'video',
    ],
    ['an image whose link leads to a video', image(link('https://example.com/a.mp4')), 'video'],
    ['a link to an image', image(link('https://example.com/a')), 'image'],
    [
      'a link to a video site by another address',
      image(link('https://m.YouTube.com.:443/watch', 'image/png')),
      'video',
    ],
    ['a file of a type that may be a video', file(link('https://example.com/a', 'application/mp4')), 'video'],
    ['sound', file({ kind: 'base64', mediaType: 'audio/wav', data: 'AAAA' }), 'audio'],
    ['a short video', file({ kind: 'base64', mediaType: 'video/mp4', data: 'AAAA' }), 'video'],
    ['a document', file({ kind: 'base64', mediaType: 'application/pdf', data: 'AAAA' }), 'document'],
  ];
  for (const [name, part, kind] of CASES) {
    it(`covers the most expensive ${kind} for ${name}`, () => {
      expect(mostOf([part]) - mostOf([])).to.be.within(model.mediaTokens[kind], model.mediaTokens[kind] + 100);
    });
  }

  it('the maximum of an input is the largest for a video', () => {
    const { video, ...others } = model.mediaTokens;
    expect(Math.max(...Object.values(others))).to.be.lessThan(video);
  });

  it('counts tools and their results', () => {
    const content = [image(link('https://example.com/a.png'))];
    const turns = [{ role: 'tool', parts: [{ type: 'tool-result', callId: 'a', content }] }] as const;
    expect(mostOf([], { turns })).to.be.greaterThan(model.mediaTokens.image);
    expect(mostOf([], { tools: [{ name: 'look', description: WORDS }] })).to.be.greaterThan(maxTokenCount(WORDS));
  });

  it('counts forwarded text, whether or not Genway reads it', () => {
    const bodies: readonly JsonObject[] = [
      { messages: [{ role: 'assistant', content: 'Hi', reasoning_content: 'a', reasoning: WORDS }] },
      { messages: [{ role: 'user', content: [{ type: 'document', title: 'a', context: WORDS }] }] },
      { tools: [{ name: 'look', input_examples: [{ [WORDS]: true }] }] },
    ];
    for (const body of bodies) {
      expect(boundInput(textRequest(), body, model).maxInputTokens).to.be.greaterThan(maxTokenCount(WORDS));
    }
    expect(boundInput(textRequest(), { metadata: { words: WORDS } }, model).maxInputTokens).to.be.lessThan(100);
  });

  it('counts no media data as text, also within a data URL', () => {
    const data = 'QUJD'.repeat(10_000);
    const url = `data:image/png;base64,${data}`;
    const turns = [{ role: 'user', parts: [image({ kind: 'base64', mediaType: 'image/png', data })] }] as const;
    for (const body of [{ source: { data } }, { image_url: { url } }]) {
      const most = boundInput(textRequest({ turns }), body, model).maxInputTokens;
      expect(most).to.be.within(model.mediaTokens.image, model.mediaTokens.image + 100);
      expect(boundInput(textRequest({ turns }), { ...body, text: data }, model).maxInputTokens).to.be.greaterThan(
        data.length / 2,
      );
    }
  });

  it('counts schemas as they are sent where references are not resolved', () => {
    const parameters = {
      $defs: { long: { type: 'object', description: WORDS } },
      properties: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`p${index}`, { $ref: '#/$defs/long' }])),
    };
    const tools = [{ name: 'look', parameters }];
    const sent = JSON.stringify(
      FORMATS['generate-content'].upstream.buildRequest(textRequest({ tools }), OPTIONS).body,
    );
    expect(mostOf([], { tools })).to.be.greaterThan(encodeO200k(sent).length);
  });

  it('never exceeds the context', () => {
    const videos = Array.from({ length: 5 }, () => file(link('https://example.com/long.mp4')));
    expect(mostOf(videos)).to.equal(2_097_152);
    const text = [{ type: 'text', text: '漢'.repeat(1_000_000) }] as const;
    const small = soldTextModel('texte-3');
    expect(mostOfAll(textRequest({ turns: [{ role: 'user', parts: text }] }), small)).to.equal(256_000);
  });

  it('holds for images, because they are sent as images', () => {
    expect(renderMedia(image(link('https://example.com/what')))).to.deep.equal({
      fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/what' },
    });
  });
});

/** The input of a request whose body holds nothing else. */
function mostOfAll(request: TextRequest, model: TextModel): number {
  return boundInput(request, { turns: request.turns, tools: request.tools }, model).maxInputTokens;
}

/** Random text from a seeded generator, so that a seed reproduces it. */
function randomText(range: string, seed: number, length: number): string {
  const first = range.charCodeAt(0);
  const last = range.charCodeAt(1);
  let state = seed;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(first + (state % (last - first + 1)));
  }).join('');
}

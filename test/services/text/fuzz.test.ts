/** Text endpoints answer or refuse any input, without a 500 and without silence. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { ASK, modelVia, useTestText } from '../../support/text.ts';
import { casesOf } from '../../support/properties.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';

const REFUSALS = [400, 401, 402, 403, 404, 413, 429];

/** Field names of all formats, so that the random fields often are valid. */
const FIELDS =
  'model messages input contents role content parts text type stream tools tool_choice stop max_tokens temperature n name ' +
  'system instructions generationConfig systemInstruction functionDeclarations functionCall tool_calls tool_call_id id ' +
  'arguments input_schema parameters output call_id reasoning effort stream_options image_url url source data mimeType';
const WORDS =
  'user assistant system tool model text function function_call function_call_output message tool_use tool_result auto ' +
  'thinking reasoning image_url base64 item_reference input_text output_text any none required data:image/png;base64,AA==';

const field = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...FIELDS.split(' ')) }, fc.string());
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...WORDS.split(' ')),
    fc.string({ unit: 'binary' }),
    fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, -1, 1, 2 ** 31, 1e308)),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(field, tie('value'), { maxKeys: 6 }),
  ),
})).value;

describe('text endpoints with invalid input', () => {
  const text = useTestText();

  /** Asserts a timely answer that is no server error. */
  async function expectAnswer(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    const response = await text.post(path, body, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
    const answer = await response.text();
    expect(response.status, answer).to.be.oneOf([200, ...REFUSALS]);
    if (response.status !== 200)
      expect(JSON.parse(answer)).to.have.nested.property('error.message').that.is.a('string');
  }

  for (const format of WIRE_FORMAT_NAMES) {
    for (const stream of [false, true]) {
      const { path, body } = ASK[format](modelVia('chat-completions'), 'Hi', stream);

      it(`answer requests of ${format} with any fields replaced, ${stream ? 'streaming' : 'whole'}`, async () => {
        const mutated = fc.dictionary(field, json, { maxKeys: 4 }).map((fields) => ({ ...body, ...fields }));
        await fc.assert(
          fc.asyncProperty(mutated, (value) => expectAnswer(path, value)),
          { numRuns: casesOf(60) },
        );
      });
    }

    it(`answer requests of ${format} whose conversation is anything, from upstreams of each format`, async () => {
      const conversation = {
        'chat-completions': 'messages',
        responses: 'input',
        messages: 'messages',
        'generate-content': 'contents',
      };
      const cases = fc.tuple(fc.constantFrom(...WIRE_FORMAT_NAMES), fc.array(json, { maxLength: 4 }));
      await fc.assert(
        fc.asyncProperty(cases, ([upstream, value]) => {
          const { path, body } = ASK[format](modelVia(upstream), 'Hi', false);
          return expectAnswer(path, { ...body, [conversation[format]]: value });
        }),
        { numRuns: casesOf(40) },
      );
    });

    it(`answer bodies of ${format} that are any JSON, or any bytes`, async () => {
      const { path } = ASK[format](modelVia('messages'), 'Hi', false);
      const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
      await fc.assert(
        fc.asyncProperty(fc.oneof(json, bytes), (value) => expectAnswer(path, value ?? 'null')),
        { numRuns: casesOf(40) },
      );
    });
  }

  it('answer requests for embeddings of any value, with any fields', async () => {
    const names = fc.constantFrom('input', 'encoding_format', 'dimensions', 'user', 'input_type');
    const inputs = fc.oneof(json, fc.array(fc.array(fc.nat())), fc.array(fc.string({ unit: 'binary' })));
    const fields = fc.dictionary(fc.oneof(names, field), json, { maxKeys: 3 });
    await fc.assert(
      fc.asyncProperty(inputs, fields, (input, others) =>
        expectAnswer('/v1/embeddings', { model: 'textm-embed', input, ...others }),
      ),
      { numRuns: casesOf(100) },
    );
  });

  for (const [format, path] of [
    ['messages', '/v1/messages/count_tokens'],
    ['responses', '/v1/responses/input_tokens'],
  ] as const) {
    it(`answer counts of ${format} with any fields replaced, whichever side counts`, async () => {
      const cases = fc.tuple(fc.constantFrom(...WIRE_FORMAT_NAMES), fc.dictionary(field, json, { maxKeys: 4 }));
      await fc.assert(
        fc.asyncProperty(cases, ([upstream, fields]) =>
          expectAnswer(path, { ...ASK[format](modelVia(upstream), 'Hi', false).body, ...fields }),
        ),
        { numRuns: casesOf(60) },
      );
    });
  }

  it('answer any path below the paths of the native format', async () => {
    const { body } = ASK['generate-content'](modelVia('messages'), 'Hi', false);
    const segment = fc.string({ unit: 'binary', maxLength: 30 }).map(encodeURIComponent);
    const method = fc.constantFrom(
      'generateContent',
      'streamGenerateContent',
      'countTokens',
      'embedContent',
      '',
      ':generateContent',
    );
    await fc.assert(
      fc.asyncProperty(segment, method, async (model, name) => {
        const response = await text.post(`/v1beta/models/${model}:${name}`, body);
        await response.text();
        expect(response.status).to.be.oneOf([200, 400, 404]);
      }),
      { numRuns: casesOf(40) },
    );
  });

  it('answer any value of the headers that they read', async () => {
    const { path, body } = ASK.messages(modelVia('messages'), 'Hi', false);
    const name = fc.constantFrom(
      'authorization',
      'x-api-key',
      'msgfmt-version',
      'content-type',
      'user-agent',
      'x-forwarded-for',
    );
    const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, value), (headers) => expectAnswer(path, body, headers)),
      { numRuns: casesOf(40) },
    );
  });
});

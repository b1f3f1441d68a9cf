/** Forms of requests of the vendors' newer and older SDKs, on models with full compatibility, over every upstream format. */
import { expect } from 'chai';
import OpenAI from 'openai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { textModel, useTestText } from '../../support/text.ts';

const fullVia = (format: WireFormatName): string => `full-via-${format}`;
const renamedVia = (format: WireFormatName): string => `full-renamed-${format}`;
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

describe('models with full compatibility', () => {
  const text = useTestText({
    models: WIRE_FORMAT_NAMES.flatMap((format) => [
      textModel(fullVia(format), [{ format }], { compatibility: 'full' }),
      textModel(renamedVia(format), [{ format, model: 'secret-name' }], { compatibility: 'full' }),
    ]),
  });
  const client = () => new OpenAI({ apiKey: text.apiKey, baseURL: `${text.baseUrl}/v1` });

  describe('on the chat-completions format', () => {
    const grammar = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } } as const;
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'custom', custom: { name: 'apply_patch', description: 'Patches files.', format: grammar } },
      { type: 'function', function: { name: 'look', parameters: SCHEMA } },
    ];
    const prompt = 'Call apply_patch with {"input":"*** Begin\\n"} and look with {"city":"Oslo"}';
    const expected = [
      { type: 'custom', custom: { name: 'apply_patch', input: '*** Begin\n' } },
      { type: 'function', function: { name: 'look', arguments: '{"city":"Oslo"}' } },
    ];

    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`call tools that take free text, and accept their results, over ${upstream}`, async () => {
        // contract 4.8.1:12
        const model = fullVia(upstream);
        const asked = { role: 'user', content: prompt } as const;
        const { choices } = await client().chat.completions.create({ model, messages: [asked], tools });
        const [choice] = choices;
        if (!choice) throw new Error('there is an answer');
        expect(choice.finish_reason).to.equal('tool_calls');
        expect(choice.message.tool_calls).to.containSubset(expected);
        const results = (choice.message.tool_calls ?? []).map(({ id }) => {
          return { role: 'tool', tool_call_id: id, content: 'done' } as const;
        });
        const messages = [asked, choice.message, ...results];
        const second = await client().chat.completions.create({ model, messages, tools });
        expect(second.choices[0]?.message.content).to.contain('apply_patch => done');
      });

      it(`stream calls of tools that take free text over ${upstream}`, async () => {
        // contract 4.8.1:12
        const body = { model: fullVia(upstream), messages: [{ role: 'user', content: prompt }], tools, stream: true };
        const answer = await (await text.post('/v1/chat/completions', body)).text();
        const pieces = [...answer.matchAll(/"custom":(\{[^}]*\})/g)].map(([, piece = '']) => Object(JSON.parse(piece)));
        expect(pieces.map(({ input }) => input).join('')).to.equal('*** Begin\n');
        expect(pieces[0]?.name).to.equal('apply_patch');
      });
    }

    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`return an object for json_object over ${upstream}`, async () => {
        // contract 4.8.1:17
        const { choices } = await client().chat.completions.create({
          model: fullVia(upstream),
          messages: [{ role: 'user', content: 'Describe a city in JSON.' }],
          response_format: { type: 'json_object' },
        });
        expect(JSON.parse(choices[0]?.message.content ?? '')).to.be.an('object');
      });
    }

    const named = { type: 'function', function: { name: 'look' } };
    const both = [named, { type: 'custom', custom: { name: 'apply_patch' } }];
    for (const [what, choice, offered] of [
      ['one tool', { mode: 'required', tools: [named] }, ['look']],
      ['all tools', { mode: 'auto', tools: both }, ['apply_patch', 'look']],
    ] as const) {
      it(`offer only the allowed tools: ${what}`, async () => {
        // contract 4.8.1:14
        const body = {
          model: fullVia('chat-completions'),
          messages: [{ role: 'user', content: 'Hi' }],
          tools,
          tool_choice: { type: 'allowed_tools', allowed_tools: choice },
        };
        const { status } = await text.post('/v1/chat/completions', body);
        const [sent] = await text.seen(1);
        expect([status, sent?.body['tool_choice']]).to.deep.equal([200, choice.mode]);
        const functions = [sent?.body['tools']].flat().map((tool) => Object(tool).function.name);
        expect(functions).to.deep.equal(offered);
      });
    }

    it('need full compatibility for these tools and choices', async () => {
      // contract 4.8.1:12 4.8.1:14
      const messages = [{ role: 'user', content: 'Hi' }];
      const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named] } };
      for (const fields of [{ tools: tools.slice(0, 1) }, { tools: tools.slice(1), tool_choice: allowed }]) {
        const { status } = await text.post('/v1/chat/completions', { model: 'textc-M3', messages, ...fields });
        expect(status).to.equal(400);
      }
    });
  });

  describe('on the messages format', () => {
    const format = { type: 'json_schema', schema: SCHEMA };
    const document = (content: unknown) => ({ type: 'document', title: 'Notes', source: { type: 'content', content } });
    const ask = async (model: string, content: unknown, fields: object = {}) => {
      const body = { model, max_tokens: 500, messages: [{ role: 'user', content }], ...fields };
      const response = await text.post('/v1/messages', body);
      const answer = await response.text();
      expect(response.status, answer).to.equal(200);
      return answer;
    };

    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`read output_format as output_config.format over ${upstream}`, async () => {
        // contract 4.8.3:12
        expect(await ask(fullVia(upstream), 'Name a city.', { output_format: format })).to.match(/\{\\"city\\":/);
        const [sent] = await text.seen(1);
        expect(sent?.body).not.to.have.property('output_format');
      });

      it(`read a document of blocks over ${upstream}`, async () => {
        // contract 4.8.3:19
        const say = { type: 'text', text: 'Say exactly: lighthouse' };
        const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
        const blocks = [
          { type: 'image', source },
          { type: 'text', text: 'a lighthouse' },
        ];
        for (const content of ['a lighthouse', blocks]) {
          expect(await ask(fullVia(upstream), [document(content), say])).to.contain('lighthouse');
          expect(JSON.stringify((await text.seen(1))[0]?.body)).to.contain('a lighthouse');
        }
      });
    }
  });

  describe('on the native format', () => {
    const ask = async (model: string, generationConfig: object, stream: boolean): Promise<string> => {
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      const contents = [{ role: 'user', parts: [{ text: 'Which one?' }] }];
      const response = await text.post(`/v1beta/models/${model}:${method}`, { contents, generationConfig });
      return response.text();
    };
    const responseSchema = { type: 'STRING', enum: ['woodwind', 'brass'], nullable: true };

    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`answer text/x.enum with one of the texts over ${upstream}`, async () => {
        // contract 4.8.4:19
        for (const model of [fullVia(upstream), renamedVia(upstream)]) {
          for (const stream of [false, true]) {
            const answer = await ask(model, { responseMimeType: 'text/x.enum', responseSchema }, stream);
            const texts = [...answer.matchAll(/"text":"([^"]*)"/g)].map(([, piece = '']) => piece);
            expect(texts.join(''), answer).to.equal('woodwind');
          }
        }
      });
    }

    it('refuse text/x.enum without texts', async () => {
      for (const schema of [{}, { type: 'STRING' }, { enum: [] }, { enum: [5] }, { enum: [null] }]) {
        const config = { responseMimeType: 'text/x.enum', responseSchema: schema };
        expect(await ask(fullVia('messages'), config, false)).to.contain('must have \\"enum\\"');
      }
    });
  });
});

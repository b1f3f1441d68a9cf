/** The vendors' SDKs against the gateway, on models whose upstream speaks their format and on others. */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { eventually, modelVia, useTestText } from '../../support/text.ts';
import { createDrivers, type SdkDriver } from './sdk-drivers.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const FAULTS = ['drop_after=4', 'fail_after=4,fail=processing_failed', 'drop_after=9'];
const SIGNED_REASONING = /"type":"thinking","thinking":"Let me[^}]*","signature":"[^"]/;
const SDKS = ['openai, chat completions', 'openai, responses', 'anthropic', 'google genai'];

describe('the SDK', () => {
  let drivers: ReadonlyMap<string, SdkDriver>;

  const text = useTestText({ settings: { readOnMs: 100 } });
  before(async () => {
    drivers = new Map(createDrivers(text.baseUrl, text.apiKey).map((driver) => [driver.name, driver]));
  });

  function driverOf(name: string): SdkDriver {
    const driver = drivers.get(name);
    if (driver === undefined) throw new Error(`there is no driver ${name}`);
    return driver;
  }

  for (const stream of [false, true]) {
    it(`anthropic ${stream ? 'streams' : 'waits for'} what its tool runner needs, though no thread is stored`, async () => {
      // contract 4.8.3:17
      const client = new Anthropic({ apiKey: text.apiKey, baseURL: text.baseUrl, maxRetries: 0 });
      const inputSchema = { type: 'object', properties: { place: { type: 'string' } } } as const;
      const run = ({ place }: { place?: string }): string => `rain in ${place}`;
      const tools = [betaTool({ name: 'look', description: 'Looks.', inputSchema, run })];
      const content = 'Call look with {"place":"Oslo"}';
      const messages = [{ role: 'user' as const, content }];
      const runner = client.beta.messages.toolRunner({ model: 'texti-k3', max_tokens: 1_000, messages, tools, stream });
      const { content: answer } = await runner.runUntilDone();
      expect(answer.at(-1)).to.deep.include({ type: 'text', text: 'look => rain in Oslo' });
    });
  }

  for (const name of SDKS) {
    describe(name, () => {
      for (const upstream of WIRE_FORMAT_NAMES) {
        const model = modelVia(upstream);

        describe(`on a model whose upstream speaks ${upstream}`, () => {
          for (const stream of [false, true]) {
            const way = stream ? 'streams' : 'waits for';

            it(`${way} an answer, character for character`, async () => {
              // contract 2:5 4.8:34 4.8.1:30 4.8.1:31 4.8.1:34
              const said = 'Grüße! "quoted" \\ 漢字 🎉\nand a second line';
              expect(await driverOf(name).ask(model, `Say exactly: ${said}`, { stream })).to.equal(said);
            });

            it(`${way} two calls at once, and sends their results back in another order`, async () => {
              // contract 4.8:34 4.8.1:11
              const prompt =
                '[sim:reasoning=2] Call look with {"place":"the sea"} and wait with {"place":"here","n":[1,{"a":null}]}';
              const { calls, answer } = await driverOf(name).useTools(
                model,
                prompt,
                stream,
                (call) => `done ${call.name}`,
              );
              expect(calls.map((call) => [call.name, call.input])).to.deep.equal([
                ['look', { place: 'the sea' }],
                ['wait', { place: 'here', n: [1, { a: null }] }],
              ]);
              expect(answer).to.match(/^look => .*done look.*\nwait => .*done wait/);
              // This upstream needs its signed reasoning back.
              if (name !== 'anthropic' || upstream !== 'messages') return;
              expect(JSON.stringify((await text.seen(1))[0]?.body)).to.match(SIGNED_REASONING);
            });

            it(`${way} two calls of one tool, distinguished by more than its name`, async () => {
              // contract 4.8.3:9
              const prompt = 'Call look with {"place":"left"} and look with {"place":"right"}';
              const { answer } = await driverOf(name).useTools(model, prompt, stream, ({ input }) =>
                JSON.stringify(input),
              );
              const [first = '', second = ''] = answer.split('\n');
              expect(first).to.match(/^look => .*left/);
              expect(second).to.match(/^look => .*right/);
            });

            it(`${way} a call without arguments`, async () => {
              const { calls } = await driverOf(name).useTools(model, 'Call look with {}', stream, () => 'nothing');
              expect(calls.map((call) => call.input)).to.deep.equal([{}]);
            });
          }

          it('sends images', async () => {
            // contract 4.8:29 4.8:34
            await driverOf(name).showImage(model, 'What is this?', PIXEL);
            expect(JSON.stringify((await text.seen(1))[0]?.body)).to.contain(PIXEL);
          });

          it('throws errors with their status, code and request id, streaming or not', async () => {
            // contract 1:14
            for (const stream of [false, true]) {
              const error = await rejectionOf(
                driverOf(name).ask(model, '[sim:fail=content_policy_violation]', { stream }),
              );
              expect(error).to.have.property('status', 400);
              expect(error.message).to.contain('request id: req_');
              expect(JSON.stringify(error) + error.message).to.contain('content_policy_violation');
              // Google's SDK has no field for it.
              if (name !== 'google genai') expect(error).to.have.property('requestID').that.matches(/^req_/);
            }
          });

          for (const fault of FAULTS) {
            it(`throws the error in the middle of a stream: ${fault}`, async () => {
              const error = await rejectionOf(driverOf(name).ask(model, `[sim:tokens=9,${fault}]`, { stream: true }));
              // The native format has no frame for the error.
              if (name !== 'google genai') expect(error.message).to.contain('request id: req_');
            });
          }

          it('gives up before the first byte, and Genway ends the upstream call after a while', async () => {
            const leaving = new AbortController();
            const prompt = `Nothing for ${name} [sim:delay_ms=60000]`;
            const asked = rejectionOf(driverOf(name).ask(model, prompt, { signal: leaving.signal }));
            const seen = async () => (await text.seen(1)).find(({ body }) => JSON.stringify(body).includes(prompt));
            await eventually(async () => (await seen()) !== undefined);
            leaving.abort();
            await asked;
            await eventually(async () => (await seen())?.aborted === true);
          });

          it('leaves in the middle of a stream, and Genway ends the upstream call after a while', async () => {
            await driverOf(name).leave(model, '[sim:tokens=400,reasoning=0,chunk_ms=20]');
            await eventually(async () => (await text.seen(1))[0]?.aborted === true);
          });
        });
      }

      it('throws the refusals of the access check', async () => {
        const error = await rejectionOf(driverOf(name).ask('nothing', 'Hi'));
        expect(error).to.have.property('status', 404);
        expect(error.message).to.contain('There is no text model');
      });
    });
  }
});

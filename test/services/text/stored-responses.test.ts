/** Stored responses: requests that continue them or refer to their items. */
import { expect } from 'chai';
import OpenAI, { APIError } from 'openai';
import { RESPONSES } from '../../../domain/policy.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { CONTENT_SWEEPS, eraseContent } from '../../../db/queries/content.ts';
import { SWEEPS } from '../../../db/sweeps.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { createAccount } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { textModel, useTestText } from '../../support/text.ts';

const full = (format: WireFormatName): string => `textc-full-${format}`;
const MODELS = WIRE_FORMAT_NAMES.map((format) => textModel(full(format), [{ format }], { compatibility: 'full' }));
const SPECIFIED = 'textg-6-sol';
const TOOL = {
  type: 'function' as const,
  name: 'look',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  strict: false,
};

describe('a stored response', () => {
  const text = useTestText({ models: MODELS });
  let client: OpenAI;
  const clientOf = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${text.baseUrl}/v1`, maxRetries: 0 });
  before(() => {
    client = clientOf(text.apiKey);
  });

  type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;

  async function create(body: Body, stream = false): Promise<OpenAI.Responses.Response> {
    return stream ? client.responses.stream({ ...body, stream: true }).finalResponse() : client.responses.create(body);
  }

  /** The texts of the prompt that the upstream got last. */
  async function lastPrompt(): Promise<string> {
    const [request] = await text.seen(1);
    return JSON.stringify(request?.body);
  }

  const rows = (): Promise<readonly JsonObject[]> => text.database('stored_responses');

  for (const format of WIRE_FORMAT_NAMES) {
    for (const stream of [false, true]) {
      const model = full(format);
      const way = `over ${format}, ${stream ? 'as a stream' : 'whole'}`;

      it(`continues with its whole conversation ${way}`, async () => {
        // contract 4.8.2:33
        const first = await create({ model, input: 'My name is Ada. [sim:say=Hello_Ada]' }, stream);
        expect(first).to.have.property('store', true);
        const second = await create(
          { model, input: 'And then? [sim:say=Then_that]', previous_response_id: first.id },
          stream,
        );
        await create({ model, input: [{ role: 'user', content: 'Last?' }], previous_response_id: second.id }, stream);
        const prompt = await lastPrompt();
        const parts = ['My name is Ada', 'Hello Ada', 'And then?', 'Then that', 'Last?'];
        const places = parts.map((part) => prompt.indexOf(part));
        expect(places).to.deep.equal(places.toSorted((a, b) => a - b));
        expect(Math.min(...places)).to.be.greaterThan(-1);
        expect(prompt).not.to.include('previous_response_id');
      });

      it(`runs a tool loop that sends references to its items ${way}`, async () => {
        // contract 4.8.2:34
        const question = { role: 'user' as const, content: 'Call look with {"place":"sea"}' };
        const { output } = await create({ model, tools: [TOOL], input: [question] }, stream);
        const call = output.find((item) => item.type === 'function_call');
        expect(call).to.include({ name: 'look' });
        const references = output.map((item) => ({ type: 'item_reference' as const, id: item.id ?? '' }));
        const result = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'calm' };
        const answer = await create({ model, tools: [TOOL], input: [question, ...references, result] }, stream);
        expect(answer.output_text).to.include('look => calm');
      });
    }
  }

  it('is found by another process at once, also when its end was the last thing that the client read', async () => {
    // contract 4.8.2:33
    for (let round = 0; round < 20; round += 1) {
      const { id } = await create({ model: full('messages'), input: `Round ${round}` }, round % 2 === 0);
      expect(await text.database('stored_responses').where({ response_id: id })).to.have.length(1);
    }
  });

  it('is read and deleted by the methods of the SDK, and by no other account', async () => {
    // contract 4.8.2:35
    const created = await create({ model: full('chat-completions'), input: 'Hello', store: true });
    expect(created).to.include({ previous_response_id: null });
    const { output_text: said, ...response } = created;
    expect(await client.responses.retrieve(created.id)).to.deep.equal({ ...response, output_text: said });
    const other = await createAccount(text.database, { fundedUsd: 10 });
    const foreign = clientOf(await text.createKey({}, other.id));
    for (const call of [
      () => foreign.responses.retrieve(created.id),
      () => foreign.responses.delete(created.id),
      () => foreign.responses.create({ model: full('messages'), input: 'Hi', previous_response_id: created.id }),
      () => client.responses.retrieve('resp_unknown'),
    ]) {
      expect(await rejectionOf(call())).to.be.instanceOf(APIError);
    }
    await client.responses.delete(created.id);
    expect(await rejectionOf(client.responses.retrieve(created.id))).to.have.property('status', 404);
    expect(await rejectionOf(client.responses.delete(created.id))).to.have.property('status', 404);
  });

  it('is not made with "store": false, on models as specified, or of other formats', async () => {
    // contract 4.8.2:36 4.8.2:70
    await text.database('stored_responses').delete();
    const { id } = await create({ model: full('messages'), input: 'Hello', store: false });
    await create({ model: SPECIFIED, input: 'Hello' });
    await text.ask('chat-completions', full('messages'), 'Hello');
    expect(await rows()).to.deep.equal([]);
    for (const [model, code] of [
      [full('messages'), 'previous_response_not_found'],
      [SPECIFIED, 'bad_request'],
    ] as const) {
      const error = await rejectionOf(create({ model, input: 'Hi', previous_response_id: id }));
      expect(error).to.include({ status: 400, code });
      expect(String(error)).to.include('previous_response_id').and.to.include('whole conversation in "input"');
    }
  });

  it('is not made for an account that has turned storage off, whose stored responses are found no more', async () => {
    // contract 4.8.2:37
    const account = await createAccount(text.database, { fundedUsd: 10 });
    const apiKey = await text.createKey({}, account.id);
    const own = clientOf(apiKey);
    const body = { model: full('messages'), input: 'Hello' };
    const { id } = await own.responses.create(body);
    await text.database('accounts').where({ id: account.id }).update({ response_minutes: 0 });
    expect(await rejectionOf(own.responses.retrieve(id))).to.have.property('status', 404);
    const late = clientOf(await text.createKey({}, account.id));
    await late.responses.create(body);
    expect(await text.database('stored_responses').where({ account_id: account.id })).to.have.length(1);
    expect(await rejectionOf(late.responses.create({ ...body, previous_response_id: id }))).to.have.property(
      'status',
      400,
    );
  });

  it('expires, is kept for longer by its use, and is swept', async () => {
    // contract 4.8.2:38
    const model = full('messages');
    const first = await create({ model, input: 'One' });
    const second = await create({ model, input: 'Two', previous_response_id: first.id });
    const soon = new Date(Date.now() + 60_000);
    await text.database('stored_responses').update({ expires_at: soon });
    await create({ model, input: 'Three', previous_response_id: second.id });
    const kept = await text.database('stored_responses').whereIn('response_id', [first.id, second.id]);
    for (const { expires_at: at } of kept) expect(at.getTime()).to.be.greaterThan(soon.getTime());
    await text
      .database('stored_responses')
      .where({ response_id: first.id })
      .update({ expires_at: new Date(0) });
    const error = await rejectionOf(create({ model, input: 'Four', previous_response_id: second.id }));
    expect(error).to.have.property('status', 400);
    expect(await SWEEPS['stored responses']?.(text.database, 100)).to.equal(1);
    expect(await text.database('stored_responses').where({ response_id: first.id })).to.deep.equal([]);
  });

  it('is erased with the content of its account: found no more at once, and then swept', async () => {
    // contract 4.11:10
    const account = await createAccount(text.database, { fundedUsd: 10 });
    const own = clientOf(await text.createKey({}, account.id));
    const { id } = await own.responses.create({ model: full('messages'), input: 'Hello' });
    await text.database.transaction((transaction) => eraseContent(transaction, account.id));
    expect(await rejectionOf(own.responses.retrieve(id))).to.have.property('status', 404);
    await CONTENT_SWEEPS['stored responses of accounts'](text.database, 100);
    expect(await text.database('stored_responses').where({ account_id: account.id })).to.deep.equal([]);
    const { id: later } = await own.responses.create({ model: full('messages'), input: 'Hello' });
    expect(await own.responses.retrieve(later)).to.include({ id: later });
  });

  it('is encrypted', async () => {
    const { id } = await create({ model: full('messages'), input: 'zebrafish' });
    const [row] = await text.database('stored_responses').where({ response_id: id });
    expect(JSON.stringify({ ...row, encrypted_content: row.encrypted_content.toString('latin1') })).not.to.include(
      'zebrafish',
    );
  });

  it('is missing with a usual error for any id that a client may send', async () => {
    for (const id of ['', '\0', '\ud800', 'x'.repeat(10_000), 5, {}, ['resp_1']]) {
      const body = { model: full('messages'), input: 'Hi', previous_response_id: id };
      const { status } = await text.post('/v1/responses', body);
      expect(status, JSON.stringify(id).slice(0, 50)).to.equal(400);
      const reference = { type: 'item_reference', id };
      const answer = await text.post('/v1/responses', { ...body, previous_response_id: null, input: [reference] });
      expect(answer.status, JSON.stringify(id).slice(0, 50)).to.equal(400);
    }
  });

  it('counts with its conversation in the number of input tokens', async () => {
    const model = full('responses');
    const { id } = await create({ model, input: 'one two three four five six seven eight nine ten' });
    const count = async (body: object): Promise<number> => {
      const response = await text.post('/v1/responses/input_tokens', { model, input: 'Hi', ...body });
      return Object(await response.json()).input_tokens;
    };
    expect(await count({ previous_response_id: id })).to.be.greaterThan(await count({}));
  });

  it('is not made of more than 4 MiB, and the answer is the same', async () => {
    // contract 4.8.2:36
    const account = await createAccount(text.database, { fundedUsd: 1_000 });
    const own = clientOf(await text.createKey({}, account.id));
    const image = `data:image/png;base64,${'A'.repeat(RESPONSES.maxBytes)}`;
    const content = [{ type: 'input_image' as const, image_url: image, detail: 'auto' as const }];
    const { status } = await own.responses.create({ model: full('messages'), input: [{ role: 'user', content }] });
    expect(status).to.equal('completed');
    expect(await text.database('stored_responses').where({ account_id: account.id })).to.deep.equal([]);
  });
});

describe('a response of an upstream that chooses its ids', () => {
  const answers: (readonly object[])[] = [];
  const scripted = useScriptedUpstream((_request, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.end((answers.shift() ?? []).map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  const MODEL = 'textc-chosen-ids';
  const text = useTestText(() => ({
    upstreams: [{ name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: scripted.baseUrls }],
    models: [textModel(MODEL, [{ format: 'responses', provider: 'scripted' }], { compatibility: 'full' })],
  }));

  /** The events of a stream; a relay leaves the output out of its end. */
  function streamOf(words: string, output: boolean): readonly object[] {
    const item = { id: 'msg_0', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words }] };
    const response = { id: 'resp_0', object: 'response', output: [] };
    const usage = { input_tokens: 5, output_tokens: 5 };
    return [
      { type: 'response.created', response },
      { type: 'response.output_item.done', output_index: 0, item },
      {
        response: { ...response, status: 'completed', usage, output: output ? [item] : [] },
        type: 'response.completed',
      },
    ];
  }

  async function ask(body: object): Promise<{ status: number; body: string }> {
    const response = await text.post('/v1/responses', { model: MODEL, stream: true, input: 'Hi', ...body });
    return { status: response.status, body: await response.text() };
  }

  it('has the items of its stream if the end has none', async () => {
    answers.push(streamOf('from an item', false));
    expect((await ask({})).status).to.equal(200);
    const response = await fetch(`${text.baseUrl}/v1/responses/resp_0`, {
      headers: { authorization: `Bearer ${text.apiKey}` },
    });
    expect(await response.text()).to.include('from an item');
  });

  it('is never mixed up with another response of the same id', async () => {
    // contract 4.8.2:39
    answers.push(streamOf('another conversation', true), streamOf('not reached', true));
    expect((await ask({})).status).to.equal(200);
    for (const body of [{ previous_response_id: 'resp_0' }, { input: [{ type: 'item_reference', id: 'msg_0' }] }]) {
      expect((await ask(body)).status).to.equal(400);
    }
  });
});

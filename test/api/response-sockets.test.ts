/** Responses over real WebSockets, with a real database and the simulator as upstream: contract 4.8.2. */
import { expect } from 'chai';
import { useTestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { openRealtime, type RealtimeEvent, refusalOfRealtime, type TestSession } from '../support/realtime.ts';

const MODEL = 'demo-chat';

function said(text: string): object {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

function textOf(event: RealtimeEvent): string {
  const output: readonly { content?: readonly { text?: string }[] }[] = Object(event['response']).output;
  return output.flatMap(({ content = [] }) => content.map(({ text = '' }) => text)).join('');
}

function idOf(event: RealtimeEvent): string {
  return String(Object(event['response']).id);
}

describe('responses over a WebSocket', () => {
  const app = useTestApp({ simulatesText: true });
  const url = (): string => `${app.baseUrl}/v1/responses`;
  let apiKey: string;
  let accountId: string;
  let keyId: string;
  before(async () => {
    ({ apiKey, accountId, keyId } = await app.createAccount({ fundedUsd: 100 }));
  });
  const opened: TestSession[] = [];
  const open = async (bearer = apiKey, base = url()): Promise<TestSession> => {
    const session = await openRealtime(base, { bearer });
    opened.push(session);
    return session;
  };
  afterEach(() => {
    for (const session of opened.splice(0)) session.close();
  });
  const create = (session: TestSession, body: object): void =>
    session.send({ type: 'response.create', model: MODEL, store: false, ...body });
  const rowsOf = (account: string, count: number) =>
    eventually(async () => {
      const rows = await app
        .database<Readonly<Record<string, string>>>('text_requests')
        .where({ account_id: account })
        .orderBy('id');
      return rows.length === count ? rows : undefined;
    });

  it('have the events of the stream, one message each, and are charged like requests', async () => {
    // contract 4.8.2:41 4.8.2:42
    const session = await open();
    create(session, { input: [said('[sim:say=Good_morning,prompt=100,tokens=10]')] });
    const done = await session.next('response.completed');
    expect(textOf(done)).to.equal('Good morning');
    expect(session.events[0]?.type).to.equal('response.created');
    const deltas = session.events.filter(({ type }) => type === 'response.output_text.delta');
    expect(deltas.map(({ delta }) => delta).join('')).to.equal('Good morning');
    const [row] = await rowsOf(accountId, 1);
    expect(row).to.include({ format: 'responses', streamed: true, outcome: 'succeeded', input_tokens: '100' });
    // 100 × 0.10 + 10 × 0.40 USD per million tokens.
    expect(row?.['charge']).to.equal(String(14_000_000));
  });

  it('run one at a time, in the order of their requests, also on the address of text', async () => {
    // contract 4.8.2:43
    const { apiKey: bearer } = await app.createAccount({ fundedUsd: 100 });
    const session = await open(bearer, `${await app.startText()}/v1/responses`);
    create(session, { input: [said('[sim:say=one_two_three,chunk_ms=30]')] });
    create(session, { input: [said('[sim:say=four]')] });
    const ends = [await session.next('response.completed'), await session.next('response.completed')];
    expect(ends.map(textOf)).to.deep.equal(['one two three', 'four']);
    const types = session.events.map(({ type }) => type);
    expect(types.lastIndexOf('response.created')).to.be.above(types.indexOf('response.completed'));
  });

  it('continue the latest response of the connection, which may be a prepared conversation', async () => {
    // contract 4.8.2:44 4.8.2:45
    const { apiKey: bearer, accountId: account } = await app.createAccount({ fundedUsd: 100 });
    const session = await open(bearer);
    create(session, { input: [said('I am Ada.')], generate: false });
    const prepared = await session.next('response.completed');
    expect(prepared['response']).to.deep.include({ status: 'completed', output: [] });
    create(session, { input: [said('[sim:say=Hello]')], previous_response_id: idOf(prepared) });
    const first = await session.next('response.completed');
    create(session, { input: [said('[sim:say=Goodbye]')], previous_response_id: idOf(first) });
    await session.next('response.completed');
    const seen: { data: readonly { body: { messages: readonly { role: string }[] } }[] } = Object(
      await (await fetch(`${app.simulatorUrl}/_sim/requests?limit=1`)).json(),
    );
    const { messages = [] } = seen.data[0]?.body ?? {};
    expect(messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
    expect(JSON.stringify(messages[0])).to.contain('I am Ada.').and.to.contain('Hello');
    // The prepared conversation costs nothing.
    await rowsOf(account, 2);
    create(session, { input: [said('Hi')], previous_response_id: idOf(prepared) });
    expect(await session.next('error')).to.containSubset({
      status: 400,
      error: { code: 'previous_response_not_found' },
    });
  });

  it('are refused as requests are, each with its status, and the connection goes on', async () => {
    // contract 4.8.2:46
    const session = await open();
    const refused = async (message: object | string): Promise<unknown> => {
      if (typeof message === 'string') session.socket.send(message);
      else session.send(message);
      const { status, error, headers } = await session.next('error');
      return [status, Object(error).code, typeof Object(headers)['x-request-id']];
    };
    expect(await refused('{')).to.deep.equal([400, 'bad_request', 'undefined']);
    expect(await refused('[]')).to.deep.equal([400, 'bad_request', 'undefined']);
    expect(await refused({ type: 'response.cancel' })).to.deep.equal([400, 'bad_request', 'undefined']);
    const create = { type: 'response.create', model: MODEL, input: 'Hi' };
    expect(await refused({ ...create, temperature: 9 })).to.deep.equal([400, 'bad_request', 'string']);
    expect(await refused({ ...create, model: 'unknown' })).to.deep.equal([404, 'not_found', 'string']);
    const failing = { ...create, input: 'Hi [sim:fail=content_policy_violation]' };
    expect(await refused(failing)).to.deep.equal([400, 'content_policy_violation', 'string']);
    session.send({ ...create, input: '[sim:drop_after=2] one two three four' });
    expect(await session.next('response.failed')).to.containSubset({ response: { status: 'failed' } });
    session.send({ ...create, input: '[sim:say=Still_here]' });
    expect(textOf(await session.next('response.completed'))).to.equal('Still here');
  });

  it('check the key at each request', async () => {
    // contract 4.8.2:42
    const other = await app.createAccount({ fundedUsd: 100 });
    const session = await open(other.apiKey);
    create(session, { input: '[sim:say=Hello]' });
    await session.next('response.completed');
    await app.database('api_keys').where({ id: other.keyId }).update({ deleted_at: new Date() });
    const refusal = await eventually(async () => {
      create(session, { input: '[sim:say=Hello]' });
      const seen = session.events.length;
      await eventually(() => session.events.slice(seen).find(({ type }) => /^error$|completed$/.test(type)));
      return session.events.find(({ type }) => type === 'error');
    });
    expect(refusal).to.containSubset({ status: 401, error: { code: 'invalid_api_key' } });
  });

  it('are given up like requests when their client leaves', async () => {
    // contract 4.8.2:42
    const { apiKey: bearer, accountId: account } = await app.createAccount({ fundedUsd: 100 });
    const session = await open(bearer);
    create(session, { input: `[sim:chunk_ms=50] ${'word '.repeat(60)}` });
    await session.next('response.output_text.delta');
    session.socket.terminate();
    const [row] = await rowsOf(account, 1);
    expect(row).to.include({ outcome: 'disconnected' });
    expect(BigInt(row?.['charge'] ?? 0) > 0n).to.equal(true);
  });

  it('need a WebSocket, a key and a place for the connection', async () => {
    // contract 4.8.2:41 4.8.2:47
    const plain = await fetch(url(), { headers: { authorization: `Bearer ${apiKey}` } });
    expect([plain.status, plain.headers.get('upgrade')]).to.deep.equal([426, 'websocket']);
    expect((await refusalOfRealtime(url(), { bearer: 'sk-unknown' })).status).to.equal(401);
    const { apiKey: bearer } = await app.createAccount({ fundedUsd: 1 });
    const sessions = await Promise.all(Array.from({ length: 50 }, () => open(bearer)));
    expect((await refusalOfRealtime(url(), { bearer })).status).to.equal(503);
    sessions[0]?.close();
    await sessions[0]?.closed;
    await eventually(() => open(bearer).catch(() => undefined));
  });

  it('refuse messages that are too long by closing the connection', async () => {
    // contract 4.8.2:47
    const session = await open();
    session.socket.send(Buffer.alloc(16 * 2 ** 20, ' '));
    expect((await session.closed).code).to.equal(1009);
    expect(keyId).to.match(/^key_/);
  });
});

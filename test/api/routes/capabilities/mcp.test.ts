import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

const UNSTORABLE = '"idempotency_key" must not contain NUL characters or unpaired surrogates';

describe('the MCP endpoint', () => {
  const app = useTestApp();
  let caller: TestCaller;
  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const send = (body: unknown) =>
    call<ErrorBody>(`${app.baseUrl}/mcp`, {
      key: caller.apiKey,
      body,
      headers: { accept: 'application/json, text/event-stream' },
    });

  const use = async (name: string, given: object) => {
    const { body } = await call<{ result: CallToolResult }>(`${app.baseUrl}/mcp`, {
      key: caller.apiKey,
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
      headers: { accept: 'application/json, text/event-stream' },
    });
    const [text] = body.result.content;
    return { text: text?.type === 'text' ? text.text : '', structured: body.result.structuredContent };
  };

  it('takes one message in each request, since each request counts once for the limit of the key', async () => {
    // contract 4.15:6
    const { status, body } = await send([message, message]);
    expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
  });

  it('returns results as text and as structured content, and names what a search without a hit compared', async () => {
    // contract 4.15:6
    const found = await use('search', { query: 'vidone', limit: 1 });
    expect(found.structured).to.deep.equal({ data: JSON.parse(found.text) });
    expect(found.structured?.['data']).to.have.length(1);
    const inspected = await use('inspect', { capability_id: 'vidone-3.0' });
    expect(inspected.structured).to.deep.equal(JSON.parse(inspected.text));
    const none = await use('search', { query: 'zzzz' });
    expect(none.structured).to.deep.equal({ data: [] });
    expect(none.text).to.include('the ids, families, kinds and summaries');
  });

  it('refuses an idempotency_key that cannot be stored, as the call over REST does', async () => {
    // contract 4.15:3 4.15:6
    for (const idempotency_key of ['\ud800', 'a\udc00', '\0']) {
      const run = { capability_id: 'vidone-3.0', inputs: { prompt: 'A lighthouse' }, idempotency_key };
      const { status, body } = await call<ErrorBody>(`${app.baseUrl}/v1/capabilities/run`, {
        key: caller.apiKey,
        body: run,
      });
      expect([status, body.error.code, body.error.message]).to.deep.equal([400, 'bad_request', UNSTORABLE]);
      const { text } = await use('run', run);
      expect(text).to.equal(`bad_request: ${UNSTORABLE}`);
    }
  });

  it('keeps nothing of a request while its connection serves further ones', async () => {
    const warnings: string[] = [];
    const warn = ({ name }: Error) => void warnings.push(name);
    process.on('warning', warn);
    for (let sent = 0; sent < 30; sent += 1) expect((await send(message)).status).to.equal(200);
    process.off('warning', warn);
    expect(warnings).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import type { TestCaller } from '../../../support/factories.ts';
import { call } from '../../../support/stack.ts';

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

  it('takes one message in each request, since each request counts once for the limit of the key', async () => {
    // contract 4.15:6
    const { status, body } = await send([message, message]);
    expect([status, body.error.code]).to.deep.equal([400, 'bad_request']);
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

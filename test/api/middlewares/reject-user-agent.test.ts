import { expect } from 'chai';
import { useTestApp } from '../../support/app.ts';

describe('a rejected user agent', () => {
  let apiKey: string;

  const app = useTestApp({ settings: { rejectedUserAgents: ['Python-urllib', 'BadBot/'] } });
  before(async () => {
    ({ apiKey } = await app.createAccount());
  });

  const listModels = (userAgent: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${app.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${apiKey}`, 'user-agent': userAgent, ...headers },
    });

  for (const userAgent of ['Python-urllib/3.12', 'python-URLLIB/3.12', 'Mozilla/5.0 (compatible; badbot/2.0)']) {
    it(`is 403 with a plain body: ${userAgent}`, async () => {
      // contract 5:27
      const response = await listModels(userAgent);
      expect(response.status).to.equal(403);
      expect(response.headers.get('content-type')).to.match(/^text\/plain/);
      expect(await response.text()).to.equal('error code: 1010');
    });
  }

  it('is rejected before its key and path are checked', async () => {
    // contract 5:27
    const response = await fetch(`${app.baseUrl}/nowhere`, { headers: { 'user-agent': 'BadBot/1' } });
    expect([response.status, await response.text()]).to.deep.equal([403, 'error code: 1010']);
  });

  for (const userAgent of ['my-service/1.0', 'curl/8.5.0', 'BadBot', '']) {
    it(`the user agent "${userAgent}" is not rejected`, async () => {
      expect((await listModels(userAgent)).status).to.equal(200);
    });
  }
});

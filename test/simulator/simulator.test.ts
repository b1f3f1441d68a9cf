import { expect } from 'chai';
import { createSimulator, type Simulator } from '../../simulator/simulator.ts';
import { rejectionOf } from '../support/rejection.ts';

describe('the simulator', () => {
  let simulator: Simulator;
  let baseUrl: string;

  beforeEach(async () => {
    simulator = createSimulator();
    baseUrl = await simulator.listen(0, '127.0.0.1');
  });

  afterEach(() => simulator.close());

  const post = (path: string, body: string): Promise<Response> => fetch(baseUrl + path, { method: 'POST', body });

  const latestRequests = async (limit: string): Promise<Record<string, unknown>[]> => {
    const response = await fetch(`${baseUrl}/_sim/requests?limit=${limit}`);
    return ((await response.json()) as { data: Record<string, unknown>[] }).data;
  };

  it('reports that it is healthy', async () => {
    const response = await fetch(`${baseUrl}/_sim/health`);
    expect([response.status, await response.json()]).to.deep.equal([200, { status: 'ok' }]);
  });

  it('answers an unknown path with 404', async () => {
    const response = await post('/v2/nothing', '{}');
    expect(response.status).to.equal(404);
    expect(await response.json()).to.have.nested.property('error.code', 'not_found');
  });

  it('answers a path with broken percent-encoding with 400', async () => {
    const response = await fetch(`${baseUrl}/v1/jobs/%E0%A4%A`, { headers: { authorization: 'Bearer any' } });
    expect(response.status).to.equal(400);
  });

  it('refuses to listen on a port that is in use', async () => {
    const second = createSimulator();
    const error = await rejectionOf(second.listen(Number(new URL(baseUrl).port), '127.0.0.1'));
    expect(error).to.have.property('code', 'EADDRINUSE');
  });

  it('closes while an answer is pending', async () => {
    const other = createSimulator();
    const url = await other.listen(0, '127.0.0.1');
    const request = new Request(`${url}/v1/jobs`, {
      method: 'POST',
      headers: { authorization: 'Bearer any' },
      body: new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }),
      duplex: 'half',
    });
    const pending = rejectionOf(fetch(request));
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
    await other.close();
    expect(await pending).to.be.instanceOf(TypeError);
  });

  describe('the log of requests', () => {
    it('shows method, path with query, headers and body, newest first', async () => {
      await post('/first?a=1', '{"n":1}');
      await fetch(`${baseUrl}/second`, { headers: { 'x-test': 'yes' } });
      const [second, first] = await latestRequests('2');
      expect(first).to.deep.include({ method: 'POST', path: '/first?a=1', body: { n: 1 } });
      expect(second).to.deep.include({ method: 'GET', path: '/second', body: null });
      expect(second?.['headers']).to.include({ 'x-test': 'yes' });
    });

    it('shows a body that is not JSON as text', async () => {
      await post('/text', 'plain');
      expect((await latestRequests('1'))[0]).to.include({ body: 'plain' });
    });

    it('omits the requests for the log itself', async () => {
      await fetch(`${baseUrl}/_sim/health`);
      expect(await latestRequests('10')).to.deep.equal([]);
    });

    it('keeps the start of a long body, and only the latest requests', async () => {
      for (let n = 0; n < 40; n++) await (await post(`/long/${n}`, 'x'.repeat(2 * 2 ** 20))).body?.cancel();
      const latest = await latestRequests('40');
      expect(latest.length).to.be.within(10, 32);
      expect(latest[0]).to.include({ path: '/long/39' });
      expect(latest[0]?.['body']).to.have.length(2 ** 20);
    });

    it('refuses an invalid limit', async () => {
      for (const limit of ['0', '-1', 'all', '']) {
        const response = await fetch(`${baseUrl}/_sim/requests?limit=${limit}`);
        expect(response.status, limit).to.equal(400);
      }
    });
  });
});

import { expect } from 'chai';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../../simulator/simulator.ts';

const ORDER = {
  kind: 'video',
  model: 'studio-video',
  prompt: 'A secret plan',
  duration_seconds: 2,
  aspect_ratio: '4:3',
  resolution: '720p',
};

interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

describe('the simulated job protocol', () => {
  let simulator: Simulator | undefined;
  let baseUrl: string;

  const start = async (options: SimulatorOptions = {}): Promise<void> => {
    simulator = createSimulator({ renderMs: 0, ...options });
    baseUrl = await simulator.listen(0, '127.0.0.1');
  };

  afterEach(async () => {
    await simulator?.close();
    simulator = undefined;
  });

  const call = async (
    method: string,
    path: string,
    init: { key?: string; body?: unknown; token?: string } = {},
  ): Promise<Reply> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${init.token ?? 'any'}`,
        ...(init.key === undefined ? {} : { 'idempotency-key': init.key }),
      },
      body: init.body === undefined ? null : typeof init.body === 'string' ? init.body : JSON.stringify(init.body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };

  const submit = (key: string, order: object = {}): Promise<Reply> =>
    call('POST', '/v1/jobs', { key, body: { ...ORDER, ...order } });

  const listed = async (path: string): Promise<Record<string, unknown>[]> => {
    const { body } = await call('GET', path);
    return body['data'] as Record<string, unknown>[];
  };

  it('answers a new key with 201 and a known one with 200 and the same job', async () => {
    await start();
    const first = await submit('task_1');
    const second = await submit('task_1', { prompt: 'Something else [sim:reject=bad_request]' });
    expect([first.status, second.status]).to.deep.equal([201, 200]);
    expect(second.body['id']).to.equal(first.body['id']);
  });

  it('counts the submissions of a job and shows its order without the prompt', async () => {
    await start();
    await submit('task_1', { images: ['https://example.com/a.png'] });
    await submit('task_1');
    const [job, ...others] = await listed('/_sim/jobs?key=task_1');
    expect(others).to.deep.equal([]);
    expect(job).to.include({ key: 'task_1', status: 'succeeded', submissions: 2 });
    expect(job?.['summary']).to.deep.equal({
      model: 'studio-video',
      kind: 'video',
      width: 960,
      height: 720,
      duration_seconds: 2,
      images: 1,
      reference_videos: 0,
      reference_audios: 0,
    });
    expect(Date.parse(String(job?.['ended_at']))).to.be.at.least(Date.parse(String(job?.['created_at'])));
    expect(JSON.stringify(job)).not.to.contain('secret plan');
  });

  it('reports no end time of a running job', async () => {
    await start();
    await submit('task_1', { prompt: '[sim:stuck]' });
    expect((await listed('/_sim/jobs?key=task_1'))[0]).to.include({ status: 'running', ended_at: null });
  });

  it('lists all jobs newest first, and none for an unknown key', async () => {
    await start();
    for (const key of ['task_1', 'task_2', 'task_3']) await submit(key);
    const keys = (await listed('/_sim/jobs?limit=2')).map((job) => job['key']);
    expect(keys).to.deep.equal(['task_3', 'task_2']);
    expect(await listed('/_sim/jobs?key=task_4')).to.deep.equal([]);
  });

  it('drops the oldest jobs above its limit', async () => {
    await start({ maxJobs: 2 });
    const first = await submit('task_1');
    for (const key of ['task_2', 'task_3']) await submit(key);
    expect((await listed('/_sim/jobs')).map((job) => job['key'])).to.deep.equal(['task_3', 'task_2']);
    expect((await call('GET', `/v1/jobs/${String(first.body['id'])}`)).status).to.equal(404);
  });

  it('gives every aspect ratio the named length of the short edge', async () => {
    await start();
    const sizes: unknown[] = [];
    for (const aspect_ratio of ['16:9', '9:16', '1:1', '4:3', '3:4']) {
      await submit(`task_${aspect_ratio}`, { aspect_ratio, resolution: '1080p' });
      const [job] = await listed(`/_sim/jobs?key=task_${aspect_ratio}`);
      const summary = job?.['summary'] as Record<string, unknown> | undefined;
      sizes.push([summary?.['width'], summary?.['height']]);
    }
    expect(sizes).to.deep.equal([
      [1920, 1080],
      [1080, 1920],
      [1080, 1080],
      [1440, 1080],
      [1080, 1440],
    ]);
  });

  for (const [what, order] of [
    ['kind', { kind: 'audio' }],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: 7 }],
    ['duration_seconds', { duration_seconds: '5' }],
    ['duration_seconds', { duration_seconds: 31 }],
    ['aspect_ratio', { aspect_ratio: '2:1' }],
    ['resolution', { resolution: 'toString' }],
    ['images', { images: 'https://example.com/a.png' }],
    ['callback_url', { callback_url: 'nowhere' }],
    ['width', { kind: 'image' }],
    ['height', { kind: 'image', width: 3840, height: 3840 }],
  ] as const) {
    it(`refuses ${JSON.stringify(order)}, naming the field`, async () => {
      await start();
      const { status, body } = await submit('task_1', order);
      expect(status).to.equal(422);
      expect(body['error']).to.have.property('code', 'bad_request');
      expect(body['error']).to.have.property('message').that.contains(`"${what}"`);
    });
  }

  it('refuses a submission without a usable key or body', async () => {
    await start();
    expect((await call('POST', '/v1/jobs', { body: ORDER })).status).to.equal(422);
    expect((await call('POST', '/v1/jobs', { key: 'k'.repeat(256), body: ORDER })).status).to.equal(422);
    expect((await call('POST', '/v1/jobs', { key: 'task_1', body: '{' })).status).to.equal(400);
    expect((await call('POST', '/v1/jobs', { key: 'task_1', body: [] })).status).to.equal(422);
  });

  it('refuses a wrong credential on every call', async () => {
    await start({ apiKey: 'right' });
    for (const [method, path] of [
      ['POST', '/v1/jobs'],
      ['GET', '/v1/jobs?key=task_1'],
      ['GET', '/v1/jobs/job_1'],
      ['POST', '/v1/jobs/job_1/cancel'],
      ['GET', '/v1/jobs/job_1/results/0'],
    ] as const) {
      expect((await call(method, path, { token: 'wrong' })).status, `${method} ${path}`).to.equal(401);
    }
  });

  it('serves no file of a job that has not succeeded', async () => {
    await start();
    const { body } = await submit('task_1', { prompt: '[sim:stuck]' });
    expect((await call('GET', `/v1/jobs/${String(body['id'])}/results/0`)).status).to.equal(404);
  });
});

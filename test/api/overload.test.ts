import { expect } from 'chai';
import { createOverload, type Overload } from '../../api/overload.ts';
import { Admission, type Importance } from '../../domain/admission.ts';
import { listen, type RunningServer } from '../../api/http-server.ts';
import { createMetrics } from '../../telemetry/metrics.ts';

const PAID = { id: 'acc_paid', toppedUpAt: new Date() };
const FREE = { id: 'acc_free', toppedUpAt: null };
const AT_ONCE = 20;

class TestAdmission extends Admission {
  takesPaidOnly = false;

  override takes(importance: Importance, customer: string): boolean {
    const isTaken = super.takes(importance, customer);
    return this.takesPaidOnly ? !importance.startsWith('free ') : isTaken;
  }
}

describe('an overloaded process', () => {
  const metrics = createMetrics();
  // Requests have waited too long, and continue to: the process accepts one in each window.
  const admission = new TestAdmission(1);
  let overload: Overload;
  let reports = 0;
  let server: RunningServer;

  before(async () => {
    admission.endWindow(1_000);
    overload = createOverload(metrics, {
      admission,
      wait: { read: () => 1_000, stop: () => {} },
      onRefusal: () => void (reports += 1),
    });
    const handler = overload.guard(async (request, response) => {
      const account = { 'Bearer paid': PAID, 'Bearer free': FREE }[request.headers.authorization ?? ''];
      if (account) overload.learn(request, account);
      response.end('done');
    });
    server = await listen(handler, '127.0.0.1', 0);
  });
  after(async () => {
    overload.stop();
    await server.stop(0);
  });

  async function ask(path: string, key: string, method = 'POST'): Promise<Response> {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers,
      ...(method === 'POST' && { body: '{}' }),
    });
    await response.clone().text();
    return response;
  }

  /** Keeps up the load until one of its requests is refused, and returns the refusal. */
  async function refusalOf(path: string, key: string, method?: string): Promise<Response> {
    for (;;) {
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(path, key, method)));
      const refusal = answers.find(({ status }) => status === 503);
      if (refusal) return refusal;
    }
  }

  it('answers 503 with Retry-After, in an envelope for clients of every format', async () => {
    const refusal = await refusalOf('/v1/chat/completions', 'free');
    expect(refusal.headers.get('retry-after')).to.equal('2');
    expect(reports, 'batches wait').to.be.above(0);
    const requestId = refusal.headers.get('x-request-id');
    expect(await refusal.json()).to.deep.equal({
      type: 'error',
      error: {
        code: 'processing_unavailable',
        message: 'The service is overloaded. Try again in 2 seconds.',
        retryable: true,
        request_id: requestId,
        retry_after_seconds: 2,
        type: 'svc_error',
        param: null,
      },
    });
  });

  it('answers probes and operators regardless', async () => {
    await refusalOf('/v1/tasks', 'free', 'GET');
    for (const path of ['/healthz', '/readyz', '/admin/v1/accounts', '/v1/provider-callbacks/fal/task_1'])
      expect((await ask(path, 'free', 'GET')).status, path).to.equal(200);
  });

  it('counts the requests that it refuses by importance', async () => {
    await refusalOf('/v1/tasks?limit=2', 'free', 'GET');
    expect(await metrics.render()).to.match(/genway_requests_shed_total\{importance="free list"\} [1-9]/);
  });

  it('accepts requests of paying accounts while it refuses requests of others', async () => {
    // After its first answer, the process knows the credential.
    while ((await ask('/v1/videos', 'paid')).status !== 200);
    admission.takesPaidOnly = true;
    expect((await ask('/v1/videos', 'paid')).status).to.equal(200);
    for (const key of ['free', 'stranger']) expect((await ask('/v1/videos', key)).status, key).to.equal(503);
  });
});

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { isId } from '../../domain/ids.ts';
import { openTracing } from '../../telemetry/open-tracing.ts';
import { NO_TRACING } from '../../telemetry/tracing.ts';
import { call, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '../support/trace-collector.ts';
import { PATIENCE_MS } from '../support/eventually.ts';

const ROOT = join(import.meta.dirname, '../..');
const CLIENT_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN = '00f067aa0ba902b7';
const SECRET_WORDS = 'the-prompt-that-nobody-may-read';

describe('telemetry/tracing', () => {
  let collector: TraceCollector;
  let stack: TestStack;
  let apiKey: string;

  before(async () => {
    collector = await startTraceCollector();
    stack = await startTestStack({
      processes: ['api', 'text', 'worker'],
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector',
      },
    });
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey } = await stack.createAccount());
  });
  after(async () => {
    await stack.stop();
    await collector.close();
  });

  async function spanWhere(what: string, matches: (span: CollectedSpan) => boolean): Promise<CollectedSpan> {
    let found: CollectedSpan | undefined;
    await waitUntil(
      async () => {
        found = collector.spans.find(matches);
        if (!found) throw new Error(`no span yet: ${what}`);
      },
      { timeoutMs: PATIENCE_MS },
    );
    if (!found) throw new Error(`no span: ${what}`);
    return found;
  }

  it('joins a request, the workflow that it starts and the call of the provider in the trace of the client', async () => {
    const { body } = await call<{ data: { id: string } }>(`${stack.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      headers: { traceparent: `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01` },
      body: { model: 'vidone-3.0', prompt: SECRET_WORDS },
    });
    await taskWhenFinal(stack, apiKey, body.data.id);
    const ofTrace = (name: string) => spanWhere(name, (span) => span.name === name && span.traceId === CLIENT_TRACE);
    const workflow = await ofTrace('mediaTask');
    const [request, start, dispatch, submission] = await Promise.all([
      ofTrace('POST'),
      ofTrace('start mediaTask'),
      ofTrace('dispatch'),
      ofTrace('POST simulator'),
    ]);
    expect(request).to.include({ service: 'genway-api', parentSpanId: CLIENT_SPAN });
    expect(request.attributes).to.include({
      'http.route': '/v1/videos/tasks',
      'http.response.status_code': '201',
      'genway.task_id': body.data.id,
    });
    expect(start).to.include({ service: 'genway-api', parentSpanId: request.spanId });
    expect(workflow).to.include({ service: 'genway-worker', parentSpanId: start.spanId });
    expect(workflow.attributes['temporal.workflow_id']).to.equal(body.data.id);
    expect(dispatch).to.include({ service: 'genway-worker', parentSpanId: workflow.spanId });
    expect(submission).to.include({ service: 'genway-worker', parentSpanId: dispatch.spanId });
    await ofTrace('settle');
  });

  it('the trace is sent to the provider with every request', async () => {
    const { body } = await call<{ data: { path: string; headers: Record<string, string> }[] }>(
      `${stack.simulatorUrl}/_sim/requests?limit=100`,
    );
    const jobs = body.data.filter(({ path }) => path.startsWith('/v1/jobs'));
    expect(jobs).to.not.have.length(0);
    for (const { path, headers } of jobs) {
      expect(headers['traceparent'], path).to.match(new RegExp(`^00-${CLIENT_TRACE}-[0-9a-f]{16}-01$`));
    }
  });

  it('covers text as well', async () => {
    const answer = await call(`${stack.baseUrl}/v1/chat/completions`, {
      key: apiKey,
      body: { model: 'textd-v2.5', messages: [{ role: 'user', content: SECRET_WORDS }], max_tokens: 100 },
    });
    expect(answer.status).to.equal(200);
    const request = await spanWhere('text', ({ attributes }) => attributes['http.route'] === '/v1/chat/completions');
    const upstream = await spanWhere('upstream', ({ parentSpanId }) => parentSpanId === request.spanId);
    expect(upstream).to.include({ name: 'POST simulator', traceId: request.traceId });
    const metrics = await fetch(`${stack.baseUrl}/metrics`, {
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    expect(await metrics.text()).to.include(
      'genway_text_upstream_response_seconds_count{upstream="simulator",outcome="200"} 1',
    );
  });

  it('names the failure of a step in one word', async () => {
    const { id } = await createTask(stack, apiKey, `${SECRET_WORDS} [sim:reject=bad_request]`);
    await taskWhenFinal(stack, apiKey, id);
    const dispatch = await spanWhere(
      'the refused step',
      ({ name, attributes }) => name === 'dispatch' && attributes['temporal.workflow_id'] === id,
    );
    expect(dispatch.attributes['error.type']).to.equal('bad_request');
  });

  it('contains neither texts of clients nor any key', () => {
    expect(collector.received()).to.not.include(SECRET_WORDS);
    expect(collector.received()).to.not.include(apiKey);
    expect(collector.received()).to.not.include(stack.adminToken);
    for (const { attributes } of collector.spans) {
      expect(isId('request', attributes['genway.request_id'] ?? '')).to.equal('http.route' in attributes);
    }
  });

  it('reaches the collector with its required headers', () => {
    for (const request of collector.headers) {
      expect(request).to.include({ path: '/v1/traces', authorization: 'Bearer collector' });
    }
  });
});

async function sourcesIn(folder: string): Promise<{ file: string; text: string }[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true });
  const files = names.filter((name) => name.endsWith('.ts')).map((name) => join(folder, name));
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })));
}

describe('tracing without a collector', () => {
  it('tracing without a collector is off and changes nothing', async () => {
    const tracing = await openTracing('api', { endpoint: undefined, ratio: 1 });
    expect(tracing).to.equal(NO_TRACING);
    const handler = async (): Promise<void> => {};
    expect(tracing.serve(handler)).to.equal(handler);
  });

  it('loads nothing of OpenTelemetry, which only one file imports, when it is switched off', async () => {
    const folders = ['activities', 'api', 'bin', 'domain', 'providers', 'services', 'telemetry', 'workflows'];
    const files = (await Promise.all(folders.map(sourcesIn))).flat();
    const importers = files.filter(({ text }) => /from '@opentelemetry\/|from '.*\/open-telemetry\.ts'/.test(text));
    expect(importers.map(({ file }) => file)).to.deep.equal(['telemetry/open-telemetry.ts']);
  });
});

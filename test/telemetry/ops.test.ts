import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { TASK_QUEUES } from '../../domain/task-queues.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { call, startTestStack, type TestStack } from '../support/stack.ts';
import { createTask, taskWhenFinal } from '../support/tasks.ts';
import { document } from '../support/openapi.ts';
import { PATIENCE_MS } from '../support/eventually.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

const root = join(import.meta.dirname, '../..');

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

const rules: readonly Rule[] = parse(read('deploy/helm/genway/files/alerts.yaml')).groups.flatMap(
  ({ rules }: { rules: Rule[] }) => rules,
);
const panels: readonly { targets: { expr: string }[] }[] = JSON.parse(
  read('deploy/helm/genway/files/grafana-dashboard.json'),
).panels;
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
];

/** The metrics in an expression. A histogram is read by its parts. */
function metricsIn(expression: string): string[] {
  const withoutTexts = expression.replaceAll(/"[^"]*"/g, '""');
  return (withoutTexts.match(/\b(genway|temporal|nodejs|process)_\w+/g) ?? []).map((name) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );
}

/** The labels that an expression selects or groups by, of each of our metrics. */
function labelsIn(expression: string): { readonly metric: string; readonly labels: readonly string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/, */));
  return [...expression.matchAll(/\b(genway_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', selector = '']) => ({
    metric: name.replace(/_(bucket|sum|count)$/, ''),
    labels: [...grouped, ...[...selector.matchAll(/(\w+) *(?:=~|!~|!=|=)/g)].map(([, label = '']) => label)],
  }));
}

/** The labels that Prometheus adds to every metric, and to histograms. */
const LABELS_OF_PROMETHEUS = ['le', 'job', 'instance'];

describe('the monitoring of Genway', () => {
  let stack: TestStack;
  let workerUrl: string;

  before(async () => {
    const workerPort = await findFreePort();
    workerUrl = `http://127.0.0.1:${workerPort}`;
    stack = await startTestStack({ processes: ['worker'], env: { GENWAY_WORKER_PORT: String(workerPort) } });
    await Promise.all([stack.api.start(), stack.worker.start()]);
  });
  after(() => stack.stop());

  async function scrape(url: string): Promise<string> {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${stack.adminToken}` } });
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
    return answer.text();
  }

  it('finds every metric that alerts and dashboard name on the api and worker processes', async () => {
    const { apiKey } = await stack.createAccount();
    await taskWhenFinal(stack, apiKey, (await createTask(stack, apiKey, 'x')).id);
    // A workflow that the workers do not know, as a worker with the wrong code meets it.
    const unknown = await stack.temporal.workflow.start('unknown', {
      workflowId: 'unknown',
      taskQueue: TASK_QUEUES.media,
    });
    const named = new Set(expressions.flatMap(metricsIn));
    expect(named.size).to.be.greaterThan(15);
    await waitUntil(
      async () => {
        const scraped = `${await scrape(stack.baseUrl)}\n${await scrape(workerUrl)}`;
        const known = new Set([...scraped.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name));
        expect([...named].filter((name) => !known.has(name))).to.deep.equal([]);
      },
      { timeoutMs: PATIENCE_MS },
    );
    await unknown.terminate();
  });

  it('uses only labels that each metric has', () => {
    const metrics = createMetrics();
    const known = new Map(
      metrics.registry
        .getMetricsAsArray()
        .map((metric) => [
          metric.name,
          'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [],
        ]),
    );
    const asked = expressions.flatMap(labelsIn).filter(({ metric }) => known.has(metric));
    expect(asked.length).to.be.greaterThan(15);
    for (const { metric, labels } of asked) {
      expect([...(known.get(metric) ?? []), ...LABELS_OF_PROMETHEUS], metric).to.include.members([...labels]);
    }
  });

  it('selects the routes of all calls that generate text', () => {
    const selectors = expressions.flatMap((expression) => [...expression.matchAll(/route=~"([^"]*)"/g)]);
    expect(selectors).to.have.lengthOf(4);
    for (const [, selector = ''] of selectors) {
      expect(Object.keys(document.paths).filter((path) => new RegExp(`^(?:${selector})$`).test(path))).to.have.members([
        '/v1/chat/completions',
        '/v1/messages',
        '/v1/responses',
        '/v1beta/models/{model}:generateContent',
        '/v1beta/models/{model}:streamGenerateContent',
      ]);
    }
  });

  it('counts the outcome of a task on the worker', async () => {
    await waitUntil(
      async () =>
        expect(await scrape(workerUrl)).to.include(
          'genway_tasks_ended_total{model="vidone-3.0",outcome="succeeded"} 1',
        ),
      { timeoutMs: PATIENCE_MS },
    );
  });

  it('shows the worker’s readiness', async () => {
    const { status, body } = await call(`${workerUrl}/readyz`);
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ status: 'ready', database: 'ok', temporal: 'ok' });
  });

  it('links each alert to a section of a document', () => {
    const anchorsOf = (file: string): readonly string[] =>
      (read(file).match(/^#+ .+$/gm) ?? []).map((heading) =>
        heading
          .replace(/^#+ /, '')
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      );
    for (const { alert, annotations } of rules) {
      const [file = '', anchor] = annotations.runbook.split('#');
      expect(anchorsOf(file), alert).to.include(anchor);
    }
  });
});

import { METRICS_CONTENT_TYPE } from '../../../telemetry/metrics.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { text } from '../../../domain/json-schema.ts';

export const metricsEndpoints = endpoints('Service', {
  /** For Prometheus, which sends the token: clients on a public address must not read it. */
  getMetrics: endpoint({
    request: 'GET /metrics',
    access: 'metrics',
    summary: 'Get the metrics of the process',
    answers: { 200: { description: 'Prometheus metrics', content: { 'text/plain': { schema: text() } } } },
    handle: ({ context }, { metrics }) => {
      context.set('Content-Type', METRICS_CONTENT_TYPE);
      return metrics.render();
    },
  }),
});

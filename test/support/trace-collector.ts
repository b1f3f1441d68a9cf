/** A collector of traces: takes OTLP as JSON over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp) and keeps the spans. */
import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { serveLocally } from '../../lab/stack/local-server.ts';

export interface CollectedSpan {
  /** The process that sent the span. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface TraceCollector {
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** Everything that was received, verbatim. */
  received(): string;
  /** The headers of every request. */
  readonly headers: readonly Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly Attribute[];
      }[];
    }[];
  }[];
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const headers: Readonly<Record<string, unknown>>[] = [];
  let received = '';
  async function collect(request: IncomingMessage): Promise<void> {
    const text = await readText(request);
    headers.push({ ...request.headers, path: request.url });
    received += text;
    spans.push(...spansIn(JSON.parse(text)));
  }
  const server = await serveLocally((request, response) => {
    void collect(request).then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  return { endpoint: server.url, spans, headers, received: () => received, close: () => server.close() };
}

function spansIn({ resourceSpans }: Export): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, attributes }) => ({
        service: attributesOf(resource.attributes)['service.name'] ?? '',
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: attributesOf(attributes),
      })),
    ),
  );
}

function attributesOf(attributes: readonly Attribute[]): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}

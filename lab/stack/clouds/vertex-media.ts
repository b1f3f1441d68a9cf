/**
 * Vertex AI and Cloud Storage on this machine, for media: they check the token of each request, and let the simulator of the
 * vendor answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer as readBytes } from 'node:stream/consumers';
import { serveLocally } from '../local-server.ts';
import { createTokenServices, type TokenServices } from './token-services.ts';

const PROJECT = '/v1/projects/project-1/locations/us-central1';

export interface VertexMedia extends Pick<TokenServices, 'issued'> {
  /** The upstream in a file of upstreams, with tokens of a service account. */
  readonly upstream: object;
  /** The private key and the tokens so far, which only the token service and Vertex AI may receive. */
  secrets(): readonly string[];
  /** The paths of requests with a valid token. */
  readonly served: readonly string[];
  /** The paths of the others. */
  readonly refused: readonly string[];
  stop(): Promise<void>;
}

/** @param vendor the address of the simulated vendor, and the key that it expects */
export async function startVertexMedia(
  vendor: () => { readonly url: string; readonly key: string },
): Promise<VertexMedia> {
  const services = await createTokenServices();
  const served: string[] = [];
  const refused: string[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    if (url === '/tokens/google') return services.handle(url, request, response);
    const body = await readBytes(request);
    const isKnown = url.startsWith(PROJECT) || url.startsWith('/storage/v1/');
    if (!isKnown || !services.isValid((headers.authorization ?? '').replace('Bearer ', ''))) {
      refused.push(url);
      const error = {
        code: 401,
        status: 'UNAUTHENTICATED',
        message: 'Request had invalid authentication credentials.',
      };
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      return;
    }
    served.push(url);
    const { url: vendorUrl, key } = vendor();
    const answer = await fetch(`${vendorUrl}${url.replace(PROJECT, '')}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': headers['content-type'] ?? '' },
      ...(method !== 'GET' && { body }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const bytes of answer.body ?? []) response.write(bytes);
    response.end();
  }

  const server = await serveLocally((request, response) => {
    // The simulator breaks connections on request, as vendors do.
    serve(request, response).catch(() => response.destroy());
  });
  const account = services.serviceAccount();
  return {
    upstream: {
      name: 'vertex',
      protocol: 'vertex',
      base_url: `${server.url}${PROJECT}`,
      storage_url: server.url,
      auth: { google: { credentials: JSON.stringify(account), token_url: `${server.url}/tokens/google` } },
    },
    secrets: () => [...account.private_key.split('\n').slice(1, -2), ...services.tokens()],
    served,
    refused,
    issued: services.issued,
    stop: () => server.close(),
  };
}

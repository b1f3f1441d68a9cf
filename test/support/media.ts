/** Factories of what media upstreams are sent and answer. */
import { createServer, type RequestListener } from 'node:http';
import { newId } from '../../domain/ids.ts';
import type { RenderRequest } from '../../providers/media-provider.ts';

/** A complete video request; each call has a task id of its own. */
export function videoRequest(overrides: Partial<RenderRequest> = {}): RenderRequest {
  return {
    taskId: newId('task'),
    kind: 'video',
    model: 'studio-video',
    prompt: 'A lighthouse at dusk',
    durationSeconds: 2,
    aspectRatio: '16:9',
    resolution: '720p',
    ...overrides,
  };
}

/** A complete image request; each call has a task id of its own. */
export function imageRequest(overrides: Partial<RenderRequest> = {}): RenderRequest {
  return {
    taskId: newId('task'),
    kind: 'image',
    model: 'studio-image',
    prompt: 'A lighthouse, isolated',
    width: 1024,
    height: 640,
    background: 'auto',
    ...overrides,
  };
}

export interface TestServer {
  readonly url: string;
  close(): Promise<void>;
}

/** A bare HTTP server on a free port of 127.0.0.1. */
export async function startServer(listener: RequestListener): Promise<TestServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not on TCP');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Repeats `look` until it finds something; gives up after a generous while. */
export async function eventually<Found>(look: () => Promise<Found | undefined> | Found | undefined): Promise<Found> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  throw new Error('it never happened');
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { serveLocally } from '../../lab/stack/local-server.ts';
import { baseUrlsAt, type TextUpstreamSettings } from '../../providers/text/settings.ts';
import { useStarted } from './started.ts';

type BaseUrls = TextUpstreamSettings['baseUrls'];

/** The addresses of an upstream that refuses connections. */
export const REFUSING: BaseUrls = baseUrlsAt('http://127.0.0.1:9');

/**
 * A text upstream of every format for the tests of the current suite.
 *
 * @param answer called when a whole request has arrived
 */
export function useScriptedUpstream(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => unknown,
): { readonly baseUrls: BaseUrls } {
  return useStarted(async () => {
    const server = await serveLocally((request, response) => {
      // Genway may close the connection before the end.
      void readText(request).then(
        (body) => answer(request, response, body),
        () => response.destroy(),
      );
    });
    return { baseUrls: baseUrlsAt(server.url), stop: () => server.close() };
  });
}

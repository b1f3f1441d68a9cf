/** The API description, and pages for reading and trying the API. */
import { createReadStream } from 'node:fs';
import { createRequire } from 'node:module';
import { posix } from 'node:path';
import type Router from '@koa/router';
import { ServiceError } from '../../../domain/errors.ts';
import { ANY_OBJECT } from '../../../domain/json-schema.ts';
import { json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import type { ApiServices } from '../../services.ts';
import type { Context, RequestState } from '../../state.ts';
import type { DescriptionPart } from '../../openapi/parts.ts';
import { EXAMPLE_PICTURE, EXAMPLE_SPEECH } from './example-files.ts';
import { CONTENT_SECURITY_POLICY, DESCRIPTION_PATH, PAGE_STYLE, pageOf, scriptOf } from './page.ts';
import { DOCS_PATH, EXAMPLE_PICTURE_PATH, EXAMPLE_SPEECH_PATH, REFERENCE_PATH } from '../../docs-address.ts';

const ONE_DAY = 'public, max-age=86400';

/** The assets of the pages; nothing else of Swagger UI is served. */
const ASSETS: ReadonlyMap<
  string,
  { readonly type: string; readonly content: string | Buffer | { readonly module: string } }
> = new Map([
  ['client.js', { type: 'text/javascript', content: scriptOf('client') }],
  ['administration.js', { type: 'text/javascript', content: scriptOf('administration') }],
  ['page.css', { type: 'text/css', content: PAGE_STYLE }],
  ['swagger-ui-bundle.js', { type: 'text/javascript', content: { module: 'swagger-ui-dist/swagger-ui-bundle.js' } }],
  ['swagger-ui.css', { type: 'text/css', content: { module: 'swagger-ui-dist/swagger-ui.css' } }],
  ['favicon-32x32.png', { type: 'image/png', content: { module: 'swagger-ui-dist/favicon-32x32.png' } }],
  [posix.basename(EXAMPLE_PICTURE_PATH), { type: 'image/png', content: EXAMPLE_PICTURE }],
  [posix.basename(EXAMPLE_SPEECH_PATH), { type: 'audio/wav', content: EXAMPLE_SPEECH }],
]);

const { resolve } = createRequire(import.meta.url);

export const docsEndpoints = endpoints('Service', {
  getDescription: endpoint({
    request: `GET ${DESCRIPTION_PATH}`,
    access: 'open',
    summary: 'Get the API description',
    answers: { 200: { description: 'An OpenAPI 3.1 document', content: json(ANY_OBJECT) } },
    handle: ({ context }, { http: { descriptions } }) => {
      // Tools in browsers may read it from any origin.
      context.set('Access-Control-Allow-Origin', '*');
      context.type = 'application/json';
      return descriptions.whole();
    },
  }),
});

/** The pages for people and their assets, which are not part of the API that they describe. */
export function docsPages(router: Router<RequestState>, services: ApiServices): void {
  router.get(REFERENCE_PATH, showPage('client', services));
  router.get(`${DOCS_PATH}/administration`, showPage('administration', services));

  for (const part of ['client', 'administration'] as const) {
    router.get(`${DOCS_PATH}/${part}.json`, (context) => {
      context.type = 'application/json';
      // The name of the service stands in place of that of the software.
      const name = JSON.stringify(services.site.name).slice(1, -1);
      context.body = services.http.descriptions.parts[part]().replaceAll('Genway', () => name);
    });
  }

  router.get(`${DOCS_PATH}/:asset`, (context) => {
    const asset = ASSETS.get(context.params['asset'] ?? '');
    if (asset === undefined) throw new ServiceError('not_found', `There is no GET ${context.path}. Check the path.`);
    context.set('Cache-Control', ONE_DAY);
    context.set('X-Content-Type-Options', 'nosniff');
    context.type = asset.type;
    const { content } = asset;
    context.body =
      typeof content === 'object' && 'module' in content ? createReadStream(resolve(content.module)) : content;
  });
}

function showPage(part: DescriptionPart, services: ApiServices): (context: Context) => void {
  return (context) => {
    context.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    context.set('X-Content-Type-Options', 'nosniff');
    context.type = 'text/html';
    context.body = pageOf(part, services.site.name);
  };
}

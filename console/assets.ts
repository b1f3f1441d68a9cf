/** Serves the files that pages load. Reads and compresses each file once; its digest is the entity tag. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Router } from '@koa/router';
import type { ApiServices } from '../api/services.ts';
import type { RequestState } from '../api/state.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Site } from '../catalogue/site.ts';
import { iconOf, LOGO_PATH, MARK_PATH, styleSheetOf } from './html/site.tsx';

const require = createRequire(import.meta.url);
const folder = join(import.meta.dirname, 'assets');

const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  'console.css': { file: join(folder, 'console.css'), type: 'text/css; charset=utf-8' },
  'console.js': { file: join(folder, 'console.js'), type: 'text/javascript; charset=utf-8' },
  'realtime.js': { file: join(folder, 'realtime.js'), type: 'text/javascript; charset=utf-8' },
  'microphone.js': { file: join(folder, 'microphone.js'), type: 'text/javascript; charset=utf-8' },
  'voice.js': { file: join(folder, 'voice.js'), type: 'text/javascript; charset=utf-8' },
  'icon.svg': { file: join(folder, 'icon.svg'), type: 'image/svg+xml' },
  'inter.woff2': {
    file: require.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
    type: 'font/woff2',
  },
  'htmx.js': { file: require.resolve('htmx.org/dist/htmx.min.js'), type: 'text/javascript; charset=utf-8' },
};

/** Adds the files of the operator's site: its pictures, and the style sheet of its color. */
export function siteAssets(router: Router<RequestState>, services: Pick<ApiServices, 'site'>): void {
  const serve = (path: string, contentOf: (site: Site, name: string) => SiteFile | null | undefined): void => {
    router.get(path, (context) => {
      const file = contentOf(services.site, context.params['name'] ?? '');
      if (!file) throw new ServiceError('not_found', 'The site has no such file.');
      context.state.endpoint = { path: '/console/assets/{name}', tag: 'Service' };
      // A picture in SVG that a browser opens by itself may not run scripts.
      context.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
      context.set({ 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff' });
      context.type = file.type;
      context.body = file.content;
    });
  };
  serve(LOGO_PATH, ({ logo }) => logo);
  serve(MARK_PATH, iconOf);
  serve('/console/assets/results/:name', ({ pictures }, model) => pictures.get(model));
  serve('/console/assets/site.css', ({ color }) =>
    color === null ? null : { type: 'text/css', content: styleSheetOf(color) },
  );
}

interface SiteFile {
  readonly type: string;
  readonly content: string | Buffer;
}

export function assets(router: Router<RequestState>): void {
  for (const [name, { file, type }] of Object.entries(FILES)) {
    const content = readFileSync(file);
    // Fonts are compressed already.
    const compressed = type === 'font/woff2' ? null : gzipSync(content, { level: 9 });
    // Weak, because the compressed and the uncompressed form have the same tag.
    const tag = `W/"${createHash('sha256').update(content).digest('base64url')}"`;
    router.get(`/console/assets/${name}`, (context) => {
      context.state.endpoint = { path: '/console/assets/{name}', tag: 'Service' };
      context.vary('Accept-Encoding');
      context.set({ ETag: tag, 'Cache-Control': 'public, max-age=300', 'X-Content-Type-Options': 'nosniff' });
      context.type = type;
      context.status = 200;
      const isCompressed = compressed !== null && context.acceptsEncodings('gzip', 'identity') === 'gzip';
      if (isCompressed) context.set('Content-Encoding', 'gzip');
      if (context.fresh) context.status = 304;
      else context.body = isCompressed ? compressed : content;
    });
  }
}

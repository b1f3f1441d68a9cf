/** Serves the files that pages load. Reads and compresses each file once; its digest is the entity tag. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Router } from '@koa/router';
import type { RequestState } from '../api/state.ts';

const require = createRequire(import.meta.url);
const folder = join(import.meta.dirname, 'assets');

const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  'console.css': { file: join(folder, 'console.css'), type: 'text/css; charset=utf-8' },
  'console.js': { file: join(folder, 'console.js'), type: 'text/javascript; charset=utf-8' },
  'icon.svg': { file: join(folder, 'icon.svg'), type: 'image/svg+xml' },
  'inter.woff2': {
    file: require.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
    type: 'font/woff2',
  },
  'htmx.js': { file: require.resolve('htmx.org/dist/htmx.min.js'), type: 'text/javascript; charset=utf-8' },
};

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

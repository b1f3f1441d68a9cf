/** Serves the files of `createLocalStorage`, as a web server would: RFC 9110, sections 13 and 14. */
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Context, Middleware } from 'koa';
import { methodNotAllowed, ServiceError } from '../domain/errors.ts';
import { contentTypeOfKey } from './file-type.ts';
import { CACHE_CONTROL, isStorageKey, PRIVATE_PREFIX } from './keys.ts';

interface ServeLocalFilesOptions {
  /** The folder of `createLocalStorage`. */
  readonly directory: string;
  /** The start of paths, such as `/files/`; the next middleware handles other paths. */
  readonly prefix: string;
}

/** Error codes of opening a file that does not exist, or whose name is too long for the disk. */
const MISSING_CODES: readonly string[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'];

/** First and last byte, inclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const METHODS = 'GET, HEAD';

/**
 * A browser that opens a link shows the file in a page without scripts and without an origin. The player of such a page
 * loads its own address again, and only with the headers of {@link CROSS_ORIGIN}.
 */
const CONTENT_SECURITY_POLICY = "default-src 'none'; media-src 'self'; sandbox";

/**
 * Pages of all origins may read and show files, since anyone with a link may: https://fetch.spec.whatwg.org/#http-cors-protocol
 * and https://fetch.spec.whatwg.org/#cross-origin-resource-policy-header
 */
const CROSS_ORIGIN = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Disposition, Content-Range, ETag',
  'Cross-Origin-Resource-Policy': 'cross-origin',
};
/** The answer to a preflight, which browsers send for ranges and revalidation. */
const PREFLIGHT = {
  'Access-Control-Allow-Methods': METHODS,
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
};

/**
 * A Koa middleware for GET and HEAD of stored files, with revalidation, and with ranges, which video players need. Other
 * methods are 405, a missing file is 404 `not_found`, and a range beyond the file is 416. Pages of all origins can read
 * the answers: contract 2.2.
 */
export function serveLocalFiles({ directory, prefix }: ServeLocalFilesOptions): Middleware {
  return async (context, next) => {
    const { method, path } = context;
    if (!path.startsWith(prefix)) {
      await next();
      return;
    }
    context.set(CROSS_ORIGIN);
    if (method === 'OPTIONS') answerOptions(context);
    else if (method === 'GET' || method === 'HEAD') await serve(context, directory, path.slice(prefix.length));
    else throw methodNotAllowed(method, path, METHODS);
  };
}

function answerOptions(context: Context): void {
  context.set({ Allow: METHODS, ...PREFLIGHT });
  context.status = 204;
}

async function serve(context: Context, directory: string, key: string): Promise<void> {
  const isPublic = isStorageKey(key) && !key.startsWith(PRIVATE_PREFIX);
  const file = isPublic ? await openFile(join(directory, key)) : null;
  if (file === null) throw new ServiceError('not_found', 'There is no file at this address.');
  try {
    await answerWith(context, file, key);
  } finally {
    // A body closes the file itself, at its end or when the client disconnects.
    if (context.body === undefined || context.body === null) await file.close();
  }
}

async function answerWith(context: Context, file: FileHandle, key: string): Promise<void> {
  const { size, mtimeMs } = await file.stat();
  const etag = `"${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}"`;
  const isKnown = isUnchanged(context.get('If-None-Match'), etag);
  const range = isKnown ? null : requestedRange(context, etag, size);
  if (range === 'unsatisfiable') throw rangeNotSatisfiable(size);
  context.set({
    'Accept-Ranges': 'bytes',
    'Cache-Control': CACHE_CONTROL,
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    ETag: etag,
    'X-Content-Type-Options': 'nosniff',
  });
  if (isKnown) {
    context.status = 304;
    return;
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  context.status = range === null ? 200 : 206;
  if (range !== null) context.set('Content-Range', `bytes ${start}-${end}/${size}`);
  const contentType = contentTypeOfKey(key);
  const disposition = contentType === 'application/octet-stream' ? 'attachment' : 'inline';
  context.set('Content-Type', contentType);
  context.set('Content-Disposition', `${disposition}; filename="${basename(key)}"`);
  if (context.method === 'GET') context.body = file.createReadStream({ start, end: Math.max(start, end) });
  context.length = end - start + 1;
}

function rangeNotSatisfiable(size: number): ServiceError {
  return new ServiceError(
    'bad_request',
    `The file has ${size} bytes: ask for a range within them, or leave "Range" out.`,
    {
      status: 416,
      headers: { 'Content-Range': `bytes */${size}` },
    },
  );
}

/** Returns null if the file does not exist. */
async function openFile(path: string): Promise<FileHandle | null> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (file === null || (await file.stat()).isFile()) return file;
  await file.close();
  return null;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && MISSING_CODES.includes(String(error.code));
}

/** `If-None-Match` compares weakly: RFC 9110, section 13.1.2. */
function isUnchanged(ifNoneMatch: string, etag: string): boolean {
  const known = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.includes(etag) || known.includes('*');
}

/** The requested range; null (the whole file) if there is none, several or an invalid one, or the file has changed. */
function requestedRange(context: Context, etag: string, size: number): ByteRange | 'unsatisfiable' | null {
  const parts = /^bytes=(\d*)-(\d*)$/i.exec(context.get('Range').trim());
  const ifRange = context.get('If-Range');
  if (context.method !== 'GET' || parts === null || (ifRange !== '' && ifRange !== etag)) return null;
  const [, first = '', last = ''] = parts;
  if (first === '' && last === '') return null;
  if (first === '') {
    return last === '0' || size === 0 ? 'unsatisfiable' : { start: Math.max(size - Number(last), 0), end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return null;
  return start >= size ? 'unsatisfiable' : { start, end };
}

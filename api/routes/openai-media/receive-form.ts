/** Reads a form with fields and pictures (RFC 7578), and stores each picture while it arrives. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { badRequest } from '../../../domain/errors.ts';
import { detectFileType, FILE_TYPE_BYTES } from '../../../storage/file-type.ts';
import { peek } from '../../../storage/peek.ts';
import { ObjectTooLargeError } from '../../../storage/storage.ts';
import type { ArrivingFile } from '../../../services/tasks/uploads.ts';
import { boundedBody, createParser, toRefusal, tooLarge } from '../../receive-upload.ts';

const LIMITS = { files: 17, fieldSize: 64 * 1024, fieldNameSize: 100 };

export interface ReceivedForm {
  /** A part named `a[b]` is the field `b` of the object `a`. */
  readonly fields: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  /** By the names of their parts, without `[]`. */
  readonly files: readonly StoredFile[];
}

export interface StoredFile {
  readonly name: string;
  readonly url: string;
  /** The digest of the content, as text. */
  readonly digest: string;
}

/**
 * @param store stores a file and returns its link
 * @throws ServiceError `bad_request` for a malformed form or a file that is not a picture; 413 for one that is too
 *   large
 */
export async function receiveForm(
  request: IncomingMessage,
  store: (file: ArrivingFile) => Promise<string>,
): Promise<ReceivedForm> {
  const parser = createParser(request, LIMITS);
  const fields = new Map<string, string>();
  const storing: Promise<StoredFile>[] = [];
  parser.on('field', (name, value, { valueTruncated }) => {
    if (valueTruncated) parser.destroy(badRequest(`"${partNameOf(name)}" is too long`));
    else fields.set(name, value);
  });
  parser.on('file', (name, content, { filename = null }) => {
    content.on('error', () => {});
    const stored = storePicture(partNameOf(name), content, filename, store);
    stored.catch((error: unknown) => void parser.destroy(error instanceof Error ? error : undefined));
    storing.push(stored);
  });
  parser.on('error', () => {});
  const body = Readable.from(boundedBody(request));
  body.on('error', (error) => parser.destroy(error)).pipe(parser);
  try {
    await finished(parser, { readable: false }).catch(toRefusal);
    return { fields: nested(fields), files: await Promise.all(storing) };
  } finally {
    body.destroy();
    parser.destroy();
    await Promise.allSettled(storing);
  }
}

function nested(parts: ReadonlyMap<string, string>): ReceivedForm['fields'] {
  const fields = new Map<string, string | Record<string, string>>();
  for (const [name, value] of parts) {
    const [, outer = name, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    const object = fields.get(outer);
    fields.set(outer, inner === undefined ? value : { ...(typeof object === 'object' && object), [inner]: value });
  }
  return Object.fromEntries(fields);
}

function partNameOf(name: string | undefined): string {
  return (name ?? '').replace(/\[\d*\]$/, '');
}

async function storePicture(
  name: string,
  content: Readable,
  filename: string | null,
  store: (file: ArrivingFile) => Promise<string>,
): Promise<StoredFile> {
  const { head, body } = await peek(content, FILE_TYPE_BYTES);
  const type = detectFileType(head);
  if (type === null || !type.mimeType.startsWith('image/')) {
    throw badRequest(`"${name}" must be a PNG, JPEG or WebP picture`);
  }
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const file = { type, filename, body: hashed(), announcedBytes: null };
  const url = await store(file).catch((error: unknown) => {
    throw error instanceof ObjectTooLargeError ? tooLarge(type.maxBytes) : error;
  });
  return { name, url, digest: hash.digest('hex') };
}

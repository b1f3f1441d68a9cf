/**
 * Reads the one file of a multipart form (RFC 7578) and streams it into storage, without holding it in memory. The
 * purpose of the file may arrive before or after the file.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import busboy from 'busboy';
import { badRequest, ServiceError } from '../domain/errors.ts';
import type { FilePurpose } from '../domain/file-purpose.ts';
import { BATCHES, UPLOADS } from '../domain/policy.ts';
import { detectFileType, FILE_EXTENSIONS, FILE_TYPE_BYTES } from '../storage/file-type.ts';
import type { RequestBody } from './endpoint/body.ts';
import { component, object, optional, text } from '../domain/json-schema.ts';
import { type HeldBytes, receiving } from './receiving.ts';
import { peek } from '../storage/peek.ts';
import { ObjectTooLargeError } from '../storage/storage.ts';
import { checkBatchInput } from '../services/batches/check-input.ts';
import { JSON_LINES } from '../services/batches/stored-file.ts';
import type { ArrivingFile } from '../services/tasks/uploads.ts';

/** The name of the part that holds the file. */
const FILE_PART = 'file';
/** Limits everything but the file: boundaries, part headers, and small extra fields that some clients send. */
const MAX_BYTES_AROUND_FILE = 2 ** 20;
const MAX_FORM_BYTES = UPLOADS.maxVideoBytes + MAX_BYTES_AROUND_FILE;
/** The most bytes of a form that only a batch may send, until its file is recognised. */
const MAX_BYTES_BEFORE_TYPE = 4 * 2 ** 20;
const MAX_BATCH_FORM_BYTES = BATCHES.maxBytes + MAX_BYTES_AROUND_FILE;
const BYTES_PER_MB = 2 ** 20;

const NO_FILE = 'Send the file as the part "file" of a form, with a filename.';
const ONE_FILE_ONLY = 'Send one file per request, as the part "file".';
const BATCH_WITHOUT_LINES = 'A file with the purpose "batch" must be JSON Lines: one request a line.';

/** Stores a request's file and returns the result of `store`. */
type ReceiveUpload = <Stored>(store: (file: ArrivingFile) => Promise<Stored>) => Promise<Stored>;

/** A form with one file, which is stored while it is read. */
export const uploadBody: RequestBody<ReceiveUpload> = {
  description: {
    required: true,
    content: {
      'multipart/form-data': {
        // Without a name, generators name it like the parameters of the call.
        schema: component(
          'UploadForm',
          object({
            file: text('The file, with a filename', { format: 'binary' }),
            purpose: optional(text('`batch` for the input of a batch. Any other purpose is ignored')),
          }),
        ),
      },
    },
  },
  read: async (request) => (store) => receiveUpload(request, store),
};

/**
 * Streams the file of a form to `store`. Its type is detected from its content; the only other field that counts is
 * `purpose`. The stream ends only when the whole form has arrived and is well formed, and fails otherwise, so that an
 * upload that stops or is refused stores nothing.
 *
 * @returns the result of `store`
 * @throws ServiceError 400 `bad_request` when the form is not one file of a known type, or a line of a batch is wrong;
 *   413 when the file is too large
 */
async function receiveUpload<Stored>(
  request: IncomingMessage,
  store: (file: ArrivingFile) => Promise<Stored>,
): Promise<Stored> {
  const announced = request.headers['content-length'];
  const announcedBytes = announced === undefined ? null : Number(announced);
  if ((announcedBytes ?? 0) > MAX_BATCH_FORM_BYTES) throw tooLarge(BATCHES.maxBytes);
  const form = openForm(request, announcedBytes);
  const held = receiving.hold((error) => form.refuse(error));
  try {
    const { content, filename } = await form.file;
    const { head, body } = await peek(untilFormEnds(content, form.ended), FILE_TYPE_BYTES);
    if (head.byteLength === 0) throw badRequest('The file is empty.');
    const { type, ...rest } = readContent(form, head, body, held);
    return await store({ type, filename, announcedBytes, ...rest }).catch((error: unknown) => {
      throw error instanceof ObjectTooLargeError ? tooLarge(type.maxBytes) : error;
    });
  } finally {
    held.release();
    form.close();
  }
}

/** Recognises a file by its purpose and by its first bytes. @throws ServiceError `bad_request` or 413 */
function readContent(
  form: Form,
  head: Uint8Array,
  body: AsyncIterable<Uint8Array>,
  held: HeldBytes,
): Pick<ArrivingFile, 'type' | 'body' | 'lines'> {
  const type = detectFileType(head);
  if (type !== null) {
    form.setMaxFileBytes(UPLOADS.maxVideoBytes);
    return { type, body: followedBy(body, () => form.purpose() === BATCH && badRequest(BATCH_WITHOUT_LINES)) };
  }
  if (form.purpose() !== BATCH && !LINES_PATTERN.test(decoder.decode(head))) throw wrongType();
  form.setMaxFileBytes(BATCHES.maxBytes);
  const { body: checked, lines } = checkBatchInput(body, (bytes) => held.resize(bytes));
  return { type: JSON_LINES, lines, body: followedBy(checked, () => form.purpose() !== BATCH && wrongType()) };
}

/** The purpose of the input of a batch. */
const BATCH: FilePurpose = 'batch';
/** The start of a line with an object. The decoder skips a byte order mark. */
const LINES_PATTERN = /^\s*\{/;
const decoder = new TextDecoder();

function wrongType(): ServiceError {
  return badRequest(
    `The file must be of one of these types: ${FILE_EXTENSIONS}; or JSON Lines, with the field "purpose" and the value "${BATCH}".`,
  );
}

/** The same body, which fails at its end if `findFault` finds a fault. */
async function* followedBy(
  body: AsyncIterable<Uint8Array>,
  findFault: () => ServiceError | false,
): AsyncGenerator<Uint8Array> {
  yield* body;
  const fault = findFault();
  if (fault !== false) throw fault;
}

interface FilePart {
  readonly content: Readable;
  readonly filename: string | null;
}

interface Form {
  /** Rejects like `ended`, or when the form ends without a file. */
  readonly file: Promise<FilePart>;
  /** Resolves when a well-formed form has been read completely; rejects with the ServiceError for a bad one. */
  readonly ended: Promise<void>;
  /** The field `purpose`, if it has arrived. */
  purpose(): string | null;
  /** Sets the size beyond which the file is refused. @throws ServiceError 413 if more bytes are announced */
  setMaxFileBytes(maxBytes: number): void;
  /** Fails the form. */
  refuse(error: ServiceError): void;
  /** Stops reading the request, at any point. */
  close(): void;
}

function openForm(request: IncomingMessage, announcedBytes: number | null): Form {
  const parser = createParser(request);
  let purpose: string | null = null;
  const part = new Promise<FilePart>((resolve) => {
    let files = 0;
    parser.on('file', (name: string | undefined, content, { filename = null }) => {
      // The reader of the content handles its failure.
      content.on('error', () => {});
      files += 1;
      if (name !== FILE_PART || files > 1) parser.destroy(badRequest(ONE_FILE_ONLY));
      else resolve({ content, filename });
    });
    parser.on('field', (name: string | undefined, value) => {
      if (name === FILE_PART) parser.destroy(badRequest(NO_FILE));
      if (name === 'purpose') purpose = value;
    });
  });
  // The parser may report several errors, even after the first was handled.
  parser.on('error', () => {});
  const ended = finished(parser, { readable: false }).catch(toRefusal);
  const file = Promise.race([part, ended.then(() => Promise.reject(badRequest(NO_FILE)))]);
  for (const promise of [ended, file]) promise.catch(() => {});

  const limit = {
    bytes: (announcedBytes ?? 0) > MAX_FORM_BYTES ? MAX_BYTES_BEFORE_TYPE : MAX_FORM_BYTES,
    fileBytes: UPLOADS.maxVideoBytes,
  };
  const body = Readable.from(boundedBody(request, limit));
  body.on('error', (error) => parser.destroy(error)).pipe(parser);
  return {
    file,
    ended,
    purpose: () => purpose,
    setMaxFileBytes: (bytes) => {
      limit.fileBytes = bytes;
      limit.bytes = bytes + MAX_BYTES_AROUND_FILE;
      if ((announcedBytes ?? 0) > limit.bytes) throw tooLarge(bytes);
    },
    refuse: (error) => void parser.destroy(error),
    close: () => {
      body.destroy();
      parser.destroy();
    },
  };
}

/** No form of the API has as many fields beside its files. */
const MAX_FIELDS = 40;

/**
 * @returns a parser that fails when the form has more parts than its limits
 * @throws ServiceError `bad_request` for anything but a multipart form
 */
export function createParser({ headers }: IncomingMessage, limits: busboy.Limits = {}): busboy.Busboy {
  if (/^multipart\/form-data\s*;/i.test(headers['content-type'] ?? '')) {
    try {
      const parser = busboy({ headers, defParamCharset: 'utf8', limits: { fields: MAX_FIELDS, ...limits } });
      for (const limit of ['filesLimit', 'fieldsLimit'] as const) {
        parser.on(limit, () => void parser.destroy(badRequest('The form has too many parts.')));
      }
      return parser;
    } catch {
      // Without a boundary.
    }
  }
  throw badRequest('Send a form with "Content-Type: multipart/form-data; boundary=…".');
}

interface BodyLimit {
  /** The limit of the whole body. */
  readonly bytes: number;
  /** The limit of its file, which the error names. */
  readonly fileBytes: number;
}

/**
 * A body's bytes, within limits of pace and size. Leaves the request open, so that it can still be answered.
 *
 * @param limit may change while the body arrives
 */
export async function* boundedBody(
  request: IncomingMessage,
  limit: BodyLimit = { bytes: MAX_FORM_BYTES, fileBytes: UPLOADS.maxVideoBytes },
): AsyncGenerator<Buffer> {
  const pace = receiving.watch(request);
  const chunks: AsyncIterator<unknown> = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value: chunk } = await Promise.race([chunks.next(), pace.tooSlow]);
      if (done === true) return;
      if (!Buffer.isBuffer(chunk)) throw new TypeError('a request without an encoding yields buffers');
      bytes += chunk.byteLength;
      if (bytes > limit.bytes) throw tooLarge(limit.fileBytes);
      yield chunk;
    }
  } finally {
    pace.stop();
  }
}

export function toRefusal(error: unknown): never {
  if (error instanceof ServiceError) throw error;
  throw badRequest('The form is malformed, or ended before it was complete.');
}

/** The file's bytes; the stream ends only when the surrounding form has ended well. */
async function* untilFormEnds(content: Readable, ended: Promise<void>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of content) yield chunk;
  } catch {
    // The content fails together with its form, and the form's error has the cause.
  }
  await ended;
}

export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'read_request_body_failed',
    `The file is larger than ${maxBytes / BYTES_PER_MB} MB, the limit for its type. Make it smaller.`,
  );
}

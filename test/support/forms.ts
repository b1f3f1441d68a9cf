/** Multipart forms (RFC 7578) as bytes, valid and invalid. */

const MIB = 2 ** 20;

export const BOUNDARY = 'a-boundary-of-this-test';

export interface FormPart {
  readonly name?: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content: Uint8Array | string;
}

/** The bytes of a well-formed form. */
export function formOf(...parts: readonly FormPart[]): Buffer {
  return Buffer.concat([...parts.map(partOf), endOfForm()]);
}

export function partOf({ name = 'file', filename, type, content }: FormPart): Buffer {
  const file = filename === undefined ? '' : `; filename="${filename}"`;
  const contentType = type === undefined ? '' : `\r\nContent-Type: ${type}`;
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}${contentType}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')]);
}

export function endOfForm(): Buffer {
  return Buffer.from(`--${BOUNDARY}--\r\n`);
}

/** A form with a file of this many bytes, produced while it is sent. */
export function longForm(head: Buffer, bytes: number): ReadableStream {
  return streamedForm(piecesOf(head, bytes), []);
}

function* piecesOf(head: Buffer, bytes: number): Generator<Buffer> {
  yield head;
  const zeros = Buffer.alloc(MIB);
  for (let left = bytes - head.byteLength; left > 0; left -= MIB) yield zeros.subarray(0, Math.min(left, MIB));
}

/** A form with these fields and a file of these pieces, which are made while the form is sent. */
export function streamedForm(pieces: Iterator<Buffer>, fields: readonly FormPart[]): ReadableStream {
  const lineEnd = Buffer.from('\r\n');
  const head = partOf({ filename: 'large', content: '' }).subarray(0, -lineEnd.byteLength);
  return new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.concat([...fields.map(partOf), head])),
    pull: (controller) => {
      const { done, value } = pieces.next();
      controller.enqueue(done ? Buffer.concat([lineEnd, endOfForm()]) : value);
      if (done) controller.close();
    },
  });
}

export const FORM_HEADERS = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } as const;

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
  const [start, end] = splitForm(head);
  const zeros = Buffer.alloc(MIB);
  let left = bytes - head.byteLength;
  return new ReadableStream({
    start: (controller) => controller.enqueue(start),
    pull: (controller) => {
      controller.enqueue(left > 0 ? zeros.subarray(0, Math.min(left, MIB)) : end);
      if (left <= 0) controller.close();
      left -= MIB;
    },
  });
}

/** The parts of a form before and after the content of the file. */
function splitForm(head: Buffer): [Buffer, Buffer] {
  const form = formOf({ filename: 'large', content: head });
  const end = form.indexOf(head) + head.byteLength;
  return [form.subarray(0, end), form.subarray(end)];
}

export const FORM_HEADERS = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } as const;

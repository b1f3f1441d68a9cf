/** Multipart forms (RFC 7578) as bytes, valid and invalid. */

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

export const FORM_HEADERS = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } as const;

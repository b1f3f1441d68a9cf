/** `multipart/form-data` bodies: RFC 7578. */
import { randomBytes } from 'node:crypto';

export type FormPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly filename: string; readonly contentType: string; readonly bytes: Uint8Array };

export function encodeForm(parts: readonly FormPart[]): { readonly contentType: string; readonly bytes: Uint8Array } {
  const boundary = `genway-${randomBytes(16).toString('hex')}`;
  const pieces = parts.flatMap((part) => [
    Buffer.from(`--${boundary}\r\n${headOf(part)}\r\n\r\n`),
    'value' in part ? Buffer.from(part.value) : part.bytes,
    Buffer.from('\r\n'),
  ]);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  };
}

function headOf(part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${quoted(part.name)}"`;
  if ('value' in part) return disposition;
  return `${disposition}; filename="${quoted(part.filename)}"\r\nContent-Type: ${part.contentType}`;
}

function quoted(text: string): string {
  return text.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

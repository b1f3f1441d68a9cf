/** Bodies of uploads. */
import type { Call } from './http.ts';

/** A path (in Node), a file or its bytes, or a stream of bytes. */
export type Uploadable = string | Blob | Uint8Array | AsyncIterable<Uint8Array>;

/** The fields of a form. A list has a part for each item. */
export type FormFields = Readonly<Record<string, unknown>>;

/** @param fields come before the file, so that a refusal needs no file */
export async function uploadOf(
  file: Uploadable,
  givenName?: string,
  fields: FormFields = {},
): Promise<Pick<Call, 'form' | 'canRepeatForm'>> {
  const name = givenName ?? nameOf(file);
  if (typeof file === 'string' || file instanceof Blob || file instanceof Uint8Array) {
    const blob = await blobOf(file);
    const form = new FormData();
    for (const [field, value] of valuesOf(fields)) form.append(field, value);
    form.append('file', blob, name);
    return { form: () => ({ body: form }), canRepeatForm: true };
  }
  const boundary = `genway-${crypto.randomUUID()}`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  return { form: () => ({ body: streamOf(partsOf(file, name, boundary, fields)), contentType }), canRepeatForm: false };
}

async function blobOf(file: string | Blob | Uint8Array): Promise<Blob> {
  if (file instanceof Blob) return file;
  if (file instanceof Uint8Array) return new Blob([new Uint8Array(file)]);
  const [{ constants, openAsBlob }, { access }] = await Promise.all([import('node:fs'), import('node:fs/promises')]);
  // Unlike openAsBlob, names the path of a file that is missing or may not be read.
  await access(file, constants.R_OK);
  return openAsBlob(file);
}

function nameOf(file: Uploadable): string {
  if (typeof file === 'string') return file.split(/[/\\]/).at(-1) ?? 'file';
  return file instanceof File ? file.name : 'file';
}

function valuesOf(fields: FormFields): [name: string, value: string][] {
  return Object.entries(fields).flatMap(([name, value]): [string, string][] => {
    if (Array.isArray(value)) return value.map((item) => [`${name}[]`, textOf(item)]);
    return value === undefined || value === null ? [] : [[name, textOf(value)]];
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function* partsOf(
  file: AsyncIterable<Uint8Array>,
  name: string,
  boundary: string,
  fields: FormFields,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const [field, value] of valuesOf(fields)) {
    yield encoder.encode(`--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`);
  }
  const quoted = name.replaceAll(/["\r\n\\]/g, '_');
  yield encoder.encode(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted}"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  yield* file;
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}

function streamOf(parts: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await parts.return(undefined)),
  });
}

/** Reads `multipart/form-data` bodies of requests to simulated vendors. */
import busboy from 'busboy';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { SimulatorRequest } from '../router.ts';
import { invalid } from './simulate-vendor.ts';

export interface FormFile {
  readonly filename: string | undefined;
  readonly mimeType: string;
  readonly bytes: Buffer;
}

export interface Form {
  readonly fields: Readonly<Record<string, string>>;
  /** By part name; a name may occur more than once. */
  readonly files: Readonly<Record<string, readonly FormFile[]>>;
}

/** @throws VendorFault if it is not a form */
export async function readForm(request: SimulatorRequest): Promise<Form> {
  const fields: Record<string, string> = {};
  const files: Record<string, FormFile[]> = {};
  try {
    const parser = busboy({ headers: request.headers });
    parser.on('field', (name, value) => void (fields[name] = value));
    parser.on('file', (name, stream, { filename, mimeType }) => {
      const chunks: Buffer[] = [];
      const list = (files[name] ??= []);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => list.push({ filename, mimeType, bytes: Buffer.concat(chunks) }));
    });
    await pipeline(Readable.from([request.body]), parser);
  } catch {
    throw invalid('body', 'The body must be multipart/form-data.');
  }
  return { fields, files };
}

/** Reads a form with fields and one file of audio (RFC 7578), and writes the file to disk while it arrives. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { badRequest } from '../domain/errors.ts';
import { type JsonObject, listOf, objectOf } from '../domain/json.ts';
import { VOICE } from '../domain/policy.ts';
import { readAudioDuration } from '../storage/audio-duration.ts';
import { readAudioType } from '../storage/audio-type.ts';
import { spool, type SpooledFile } from '../storage/spool.ts';
import type { AudioFile } from '../text/canonical.ts';
import { boundedBody, createParser, toRefusal, tooLarge } from './receive-upload.ts';

const MAX_FIELD_LENGTH = 64 * 1024;
/** A reference of 10 s may be a WAV file in Base64. */
const MAX_REFERENCE_LENGTH = 3 * 2 ** 20;
const MAX_REFERENCES = 4;
const LIMITS = {
  files: 1,
  fieldSize: MAX_REFERENCE_LENGTH,
  fieldNameSize: 100,
  fileSize: VOICE.maxFileBytes,
};

export interface ReceivedAudio {
  /** Numbers, booleans and lists as such, like fields of JSON. */
  readonly fields: JsonObject;
  /** Absent if the form has no file. */
  readonly audio: AudioFile | undefined;
  /** Removes the file. */
  readonly dispose: () => Promise<void>;
}

/**
 * @param owner the account, which shares the room on disk with others
 * @param mayContinue is called with the model as soon as it arrives, and may throw to refuse the rest
 * @throws ServiceError `bad_request` for a malformed form; 413 for a file that is too large
 */
export async function receiveAudio(
  request: IncomingMessage,
  owner: string,
  mayContinue: (model: string) => Promise<void>,
): Promise<ReceivedAudio> {
  if (Number(request.headers['content-length'] ?? 0) > VOICE.maxFileBytes * 1.02) throw tooLarge(VOICE.maxFileBytes);
  const parser = createParser(request, LIMITS);
  const fields = new Map<string, unknown>();
  const checks: Promise<void>[] = [];
  let spooling: Promise<{ readonly file: SpooledFile; readonly head: FileHead }> | undefined;
  const refuse = (error: unknown): void => void parser.destroy(error instanceof Error ? error : undefined);
  parser.on('field', (name: string | undefined, value, { valueTruncated }) => {
    try {
      addField(fields, name ?? '', value, valueTruncated);
    } catch (error) {
      return refuse(error);
    }
    if (name !== 'model') return;
    const check = mayContinue(value);
    check.catch(refuse);
    checks.push(check);
  });
  parser.on('file', (name: string | undefined, content, { filename, mimeType }) => {
    content.on('error', () => {});
    if (name !== 'file') return refuse(badRequest('Send one file per request, as the part "file".'));
    content.on('limit', () => refuse(tooLarge(VOICE.maxFileBytes)));
    spooling = spool(content, { owner, extension: extensionOf(filename) }).then((file) => ({
      file,
      head: { filename, mimeType },
    }));
    spooling.catch(refuse);
  });
  parser.on('error', () => {});
  const body = Readable.from(boundedBody(request));
  body.on('error', refuse).pipe(parser);
  try {
    await finished(parser, { readable: false }).catch(toRefusal);
    await Promise.all(checks);
    const spooled = await spooling;
    if (spooled === undefined) return { fields: Object.fromEntries(fields), audio: undefined, dispose: async () => {} };
    const { file, head } = spooled;
    if (file.bytes === 0) throw badRequest('The file is empty.');
    const audio = {
      filename: head.filename ?? 'audio',
      contentType: (await readAudioType(file.path)) ?? head.mimeType,
      bytes: file.bytes,
      seconds: await readAudioDuration(file.path),
      read: () => file.read(),
    };
    return { fields: Object.fromEntries(fields), audio, dispose: () => file.remove() };
  } catch (error) {
    await spooling?.then(
      ({ file }) => file.remove(),
      () => {},
    );
    throw error;
  } finally {
    body.destroy();
    parser.destroy();
  }
}

interface FileHead {
  readonly filename: string | undefined;
  readonly mimeType: string;
}

const REFERENCES = 'known_speaker_references';
/** Fields with a part for each item, with or without `[]`. */
const LISTS: ReadonlySet<string> = new Set(['timestamp_granularities', 'include', 'known_speaker_names', REFERENCES]);
/** Fields with a part for each field inside, such as `chunking_strategy[type]`. */
const OBJECTS: ReadonlySet<string> = new Set(['chunking_strategy']);

/** The extension, such as `.wav`, tells the reader of durations the format. An unusual name has none. */
function extensionOf(filename: string | undefined): string {
  return /\.[a-z0-9]{1,5}$/i.exec(filename ?? '')?.[0].toLowerCase() ?? '';
}

/** Adds a part without a file. @throws ServiceError `bad_request` */
function addField(fields: Map<string, unknown>, name: string, value: string, isTruncated: boolean): void {
  const [, field = name, key = null] = /^(.*)\[(\w*)\]$/.exec(name) ?? [];
  const maxLength = field === REFERENCES ? MAX_REFERENCE_LENGTH : MAX_FIELD_LENGTH;
  if (name === '' || isTruncated || value.length > maxLength) throw badRequest(`"${name}" is too long`);
  if (name === 'file') throw badRequest('Send the file as the part "file" of a form, with a filename.');
  // Forms of browsers and tools have a part for each field, also without a value.
  if (value === '' && field !== 'model') return;
  if (LISTS.has(field)) {
    const list = [...listOf(fields.get(field)), value];
    if (field === REFERENCES && list.length > MAX_REFERENCES) {
      throw badRequest(`"${field}" accepts at most ${MAX_REFERENCES} items`);
    }
    fields.set(field, list);
  } else if (key !== null && OBJECTS.has(field)) fields.set(field, { ...objectOf(fields.get(field)), [key]: value });
  else fields.set(name, valueOf(name, value));
}

/** Forms have only texts. */
function valueOf(name: string, text: string): unknown {
  if (name === 'stream' && (text === 'true' || text === 'false')) return text === 'true';
  if (name === 'temperature' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text);
  return text;
}

/** Readers of the fields of requests: a field of another type counts as absent. */
import { isObject, listOf, objectOf, stringOf } from '../../domain/json.ts';

const MEDIA_FIELDS = [
  'image_url',
  'file',
  'file_data',
  'file_id',
  'file_url',
  'input_audio',
  'source',
  'inlineData',
  'inline_data',
  'fileData',
] as const;

/** Reads a message's content: a string, or a list of strings and of parts with a `text` or with some kind of file. */
export function readContent(content: unknown): {
  readonly text: string;
  readonly mediaCount: number;
  readonly audioCount: number;
} {
  if (typeof content === 'string') return { text: content, mediaCount: 0, audioCount: 0 };
  const parts = listOf(content);
  return {
    text: parts.flatMap(textOfPart).join('\n'),
    mediaCount: parts.filter((part) => isObject(part) && MEDIA_FIELDS.some((field) => part[field] !== undefined))
      .length,
    audioCount: parts.filter(isAudio).length,
  };
}

function isAudio(part: unknown): boolean {
  const { input_audio: audio, inlineData, inline_data: data = inlineData } = objectOf(part);
  const { mimeType, mime_type: type = mimeType } = objectOf(data);
  return audio !== undefined || stringOf(type).startsWith('audio/');
}

function textOfPart(part: unknown): string[] {
  const text = isObject(part) ? part['text'] : part;
  return typeof text === 'string' ? [text] : [];
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A list of strings, or a single one. */
export function stringsOf(value: unknown): readonly string[] {
  const list: readonly unknown[] = typeof value === 'string' ? [value] : listOf(value);
  return list.filter((item) => typeof item === 'string');
}

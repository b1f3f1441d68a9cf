/** The readers of tools that have the same fields in several formats. */
import type { Tool } from './canonical.ts';
import { object } from './fields.ts';
import { freeTextTool } from './free-text-tools.ts';
import { compact, optional, readBoolean, readName, readObject, readString } from './read.ts';
import { JSON_SCHEMA } from './settings.ts';

export const FUNCTION_FIELDS = {
  name: readName,
  description: optional(readString),
  parameters: optional(JSON_SCHEMA),
  strict: optional(readBoolean),
};

export const readFunction = object(FUNCTION_FIELDS, (tool): Tool => compact(tool));

/** Reads a tool that takes free text. */
export const readCustomTool = object(
  { name: readName, description: optional(readString), format: optional(readObject) },
  freeTextTool,
);

/** Tools that take free text instead of JSON. Upstreams get functions with one argument, which is the text. */
import type { JsonObject } from '../domain/json.ts';
import type { Tool } from './canonical.ts';
import { objectOfText } from './json/parse.ts';
import { compact } from './read.ts';

const INPUT = 'input';

export interface FreeTextTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** The form of the text, such as a grammar. */
  readonly format?: JsonObject | undefined;
}

/** The function that stands for a tool that takes free text. */
export function freeTextTool({ name, description, format }: FreeTextTool): Tool {
  const form = format && `The form of "${INPUT}": ${JSON.stringify(format)}`;
  return compact({
    name,
    description: [description, form].filter((text) => text !== undefined).join('\n\n') || undefined,
    parameters: { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] },
    isFreeText: true,
  });
}

/** The arguments of a function for the text of a tool that takes free text. */
export function argumentsOfText(text: string): string {
  return JSON.stringify({ [INPUT]: text });
}

/**
 * The text for a tool that takes free text. Some models know the tool, such as `apply_patch`, and give its text a name of their own; arguments
 * that are not of the expected form are the text themselves.
 */
export function textOfArguments(text: string): string {
  const given = objectOfText(text) ?? {};
  const [only, ...others] = Object.values(given);
  const input = given[INPUT] ?? (others.length === 0 ? only : undefined);
  return typeof input === 'string' ? input : text;
}

/** Whether the client's tool with this name takes free text. */
export function takesFreeText(tools: readonly Tool[], name: string): boolean {
  return tools.find((tool) => tool.name === name)?.isFreeText === true;
}

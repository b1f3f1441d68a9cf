/**
 * Tools of the messages format that the client itself runs, and whose description the vendor's models know by the type
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview). Other models get them as functions.
 */
import type { Tool } from '../canonical.ts';

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer' } as const;

const FILE_COMMANDS = {
  path: { ...TEXT, description: 'The file or directory' },
  file_text: { ...TEXT, description: 'For create: the whole text' },
  old_str: { ...TEXT, description: 'For str_replace: the text to replace, which must occur once' },
  new_str: { ...TEXT, description: 'For str_replace: the new text' },
  insert_line: { ...COUNT, description: 'For insert: the line after which to insert' },
  view_range: { type: 'array', items: COUNT, description: 'For view: the first and last line' },
} as const;

const CLIENT_TOOLS: Readonly<Record<string, Pick<Tool, 'description' | 'parameters'>>> = {
  bash: {
    description: 'Runs a command in a bash session that keeps its state.',
    parameters: {
      type: 'object',
      properties: { command: TEXT, restart: { type: 'boolean', description: 'Starts a new session instead' } },
    },
  },
  text_editor: {
    description: 'Views, creates and edits files.',
    parameters: {
      type: 'object',
      properties: {
        command: { ...TEXT, enum: ['view', 'create', 'str_replace', 'insert'] },
        ...FILE_COMMANDS,
        insert_text: TEXT,
      },
      required: ['command', 'path'],
    },
  },
  memory: {
    description: 'Keeps notes in files below /memories, which last from one conversation to the next.',
    parameters: {
      type: 'object',
      properties: {
        command: { ...TEXT, enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
        ...FILE_COMMANDS,
        insert_text: TEXT,
        old_path: { ...TEXT, description: 'For rename' },
        new_path: { ...TEXT, description: 'For rename' },
      },
      required: ['command'],
    },
  },
};

/** The types of these tools end with the day of their version. */
export const CLIENT_TOOL_TYPE = /^(bash|text_editor|memory)_\d{8}$/;

/** The tool of a type as a function; undefined for any other type. */
export function clientToolOf(type: string): Pick<Tool, 'description' | 'parameters'> | undefined {
  const kind = CLIENT_TOOL_TYPE.exec(type)?.[1];
  return kind === undefined ? undefined : CLIENT_TOOLS[kind];
}

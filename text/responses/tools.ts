/**
 * The tools of a responses request. With full compatibility, tools in a namespace and tools that take free text become
 * functions, and their calls become calls of the client's own tools again.
 */
import { badRequest } from '../../domain/errors.ts';
import { isObject } from '../../domain/json.ts';
import type { Tool, ToolChoice, UnusedFields } from '../canonical.ts';
import { fields, type Fields, object, typed } from '../fields.ts';
import {
  arrayOf,
  compact,
  described,
  mapped,
  named,
  oneOf,
  optional,
  readBoolean,
  readName,
  readObject,
  readString,
  type Reader,
  textOr,
} from '../read.ts';
import { JSON_SCHEMA } from '../settings.ts';
import { arrayOf as arrayOfAnything } from '../upstream-errors.ts';

/** Tools that the vendor runs. Agents send them unasked, so they are left out of the request instead of refused. */
const LEFT_OUT = ['web_search', 'web_search_preview', 'image_generation'];

const functionFields = {
  name: readName,
  description: optional(readString),
  parameters: optional(JSON_SCHEMA),
  strict: optional(readBoolean),
};
const functionTool = object(functionFields, (tool): Tool => compact(tool));

/** The argument that is the text for a tool that takes free text. */
const INPUT = 'input';

const customTool = object(
  { name: readName, description: optional(readString), format: optional(readObject) },
  ({ name, description, format }): Tool => {
    const form = format && `The form of "${INPUT}": ${JSON.stringify(format)}`;
    return compact({
      name,
      description: [description, form].filter((text) => text !== undefined).join('\n\n') || undefined,
      parameters: { type: 'object', properties: { [INPUT]: { type: 'string' } }, required: [INPUT] },
      isFreeText: true,
    });
  },
);

const namespaceTool = object(
  {
    name: readName,
    description: optional(readString),
    tools: arrayOf(typed<Tool>({ function: functionTool, custom: customTool })),
  },
  ({ name: namespace, tools }): Tool[] =>
    tools.map((tool) => ({
      ...tool,
      name: flatName(namespace, tool.name),
      inNamespace: { namespace, name: tool.name },
    })),
);

const leftOutTool = object({}, (): Tool[] => []);

const toolOfFull = named(
  'ResponsesTool',
  typed<Tool[]>({
    function: mapped(functionTool, (tool) => [tool]),
    custom: mapped(customTool, (tool) => [tool]),
    namespace: namespaceTool,
    ...Object.fromEntries(LEFT_OUT.map((type) => [type, leftOutTool])),
  }),
);

const toolOfSpecification = mapped(fields({ type: oneOf(['function']), ...functionFields }), (tool): Tool[] => {
  requireFunction(tool, 'tool', 'send tools');
  const { type: _, ...definition } = tool.all();
  return [compact(definition)];
});

/** There are no hosted tools. */
function requireFunction(object: Fields<{ type: 'function' }>, what: string, advice: string): void {
  const type = object.getAs('type', readString);
  if (type === 'function') return;
  throw badRequest(
    `"${object.path}": the ${what} "${type}" is not supported; ${advice} of the type "function"` +
      ' (or ask the operator for a model with "compatibility: full")',
  );
}

function toolsOf(tool: Reader<Tool[]>): Reader<Tool[] | undefined> {
  return optional(mapped(described(arrayOf(tool), 'Tools that the client runs'), (tools) => tools.flat()));
}

export const TOOLS = { full: toolsOf(toolOfFull), specification: toolsOf(toolOfSpecification) };

/** Whether an upstream of the same format gets a tool of a client: the vendor would charge for its own. */
export function isForwardedTool(tool: unknown): boolean {
  return !isObject(tool) || !LEFT_OUT.some((type) => type === tool['type']);
}

/** The tools of a client that are left out of its request. */
export function findOmittedTools(tools: unknown): UnusedFields {
  const types = arrayOfAnything(tools).flatMap((tool) => (isObject(tool) ? [tool['type']] : []));
  return { always: LEFT_OUT.filter((type) => types.includes(type)).map((type) => `tools.${type}`), converted: [] };
}

/** A choice among the tools, and the names of those that may be called. */
export interface ChosenTools {
  readonly toolChoice: ToolChoice;
  readonly allowed?: ReadonlySet<string> | undefined;
}

const readMode = oneOf(['auto', 'none', 'required']);
const plainChoice = mapped(readMode, (type): ChosenTools => ({ toolChoice: { type } }));

const reference = object({ name: readName, namespace: optional(readName) }, ({ name, namespace }) =>
  namespace === undefined ? name : flatName(namespace, name),
);
const references = typed<string | null>({
  function: reference,
  custom: reference,
  ...Object.fromEntries(LEFT_OUT.map((type) => [type, object({}, () => null)])),
});

const byName = mapped(reference, (name): ChosenTools => ({ toolChoice: { type: 'tool', name } }));
const allowedTools = object(
  { mode: oneOf(['auto', 'required']), tools: arrayOf(references) },
  ({ mode, tools }): ChosenTools => ({
    toolChoice: { type: mode },
    allowed: new Set(tools.filter((name) => name !== null)),
  }),
);

const choiceOfFull = named(
  'ResponsesToolChoice',
  typed<ChosenTools>({ function: byName, custom: byName, allowed_tools: allowedTools }),
);

const choiceOfSpecification = mapped(fields({ type: oneOf(['function']), name: readName }), (choice): ChosenTools => {
  requireFunction(choice, 'choice', 'choose a tool');
  return { toolChoice: { type: 'tool', name: choice.get('name') } };
});

export const TOOL_CHOICE = {
  full: optional(textOr(plainChoice, choiceOfFull)),
  specification: optional(textOr(plainChoice, choiceOfSpecification)),
};

/** What upstreams allow in the name of a tool. */
const MAXIMUM_NAME_LENGTH = 64;

/** The name of the function that stands for a tool in a namespace. */
export function flatName(namespace: string, name: string): string {
  const joined = namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
  return joined.slice(-MAXIMUM_NAME_LENGTH);
}

/** The arguments of a function for the text of a tool that takes free text. */
export function argumentsOfText(text: string): string {
  return JSON.stringify({ [INPUT]: text });
}

/** The text for a tool that takes free text; arguments that are not of the expected form are the text themselves. */
export function textOfArguments(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    const input = isObject(value) ? value[INPUT] : undefined;
    return typeof input === 'string' ? input : text;
  } catch {
    return text;
  }
}

/** How a call is written for the client that sent the tools: as a call of its own tool. */
export function ownToolOf(
  tools: readonly Tool[],
  name: string,
): { readonly name: string; readonly namespace?: string } {
  const own = tools.find((tool) => tool.name === name)?.inNamespace;
  return own === undefined ? { name } : { name: own.name, namespace: own.namespace };
}

/** Whether the client defined the tool with this name as a free-text tool. */
export function isFreeText(tools: readonly Tool[], name: string): boolean {
  return tools.find((tool) => tool.name === name)?.isFreeText === true;
}

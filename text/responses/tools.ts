/**
 * The tools of a responses request. With full compatibility, tools in a namespace and tools that take free text become
 * functions, and their calls become calls of the client's own tools again.
 */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { TextRequest, Tool, ToolChoice, UnusedFields, WebSearch } from '../canonical.ts';
import { fields, type Fields, object, typed } from '../fields.ts';
import {
  arrayOf,
  compact,
  described,
  join,
  mapped,
  named,
  oneOf,
  optional,
  reader,
  readName,
  readString,
  type Reader,
  textOr,
} from '../read.ts';
import { JSON_SCHEMA } from '../settings.ts';
import { FUNCTION_FIELDS, readCustomTool, readFunction } from '../tools.ts';
import { WEB_SEARCH, webSearchOf } from '../web-search.ts';

/** The search that the model's side runs, in all versions: https://platform.openai.com/docs/guides/tools-web-search */
const WEB_SEARCHES = ['web_search', 'web_search_preview', 'web_search_2025_08_26', 'web_search_preview_2025_03_11'];
/** Tools that the vendor runs. Agents send them unasked, so Genway omits them from the request instead of refusing it. */
const LEFT_OUT = [...WEB_SEARCHES, 'image_generation'];

/** The search among the tools of a request. */
export function findWebSearch({ tools, max_tool_calls: maxCalls }: JsonObject): WebSearch | undefined {
  const tool = listOf(tools).filter(isObject).find(isWebSearch);
  return tool && webSearchOf(tool, `tools.${stringOf(tool['type'])}`, maxCalls);
}

function isWebSearch({ type }: JsonObject): boolean {
  return WEB_SEARCHES.some((name) => name === type);
}

const namespaceTool = object(
  {
    name: readName,
    description: optional(readString),
    tools: arrayOf(typed<Tool>({ function: readFunction, custom: readCustomTool })),
  },
  ({ name: namespace, tools }): Tool[] =>
    tools.map((tool) => ({
      ...tool,
      name: flatName(namespace, tool.name),
      inNamespace: { namespace, name: tool.name },
    })),
);

/** The name of the function that stands for the client's search for tools. */
export const TOOL_SEARCH = 'tool_search';

/** A search for tools. The vendor runs its own search; other upstreams get all tools, so that nothing is left to find. */
const toolSearchTool = object(
  {
    execution: optional(oneOf(['client', 'server'])),
    description: optional(readString),
    parameters: optional(JSON_SCHEMA),
  },
  ({ execution, description, parameters }): Tool[] =>
    execution === 'client' ? [compact({ name: TOOL_SEARCH, description, parameters, isToolSearch: true })] : [],
);

const leftOutTool = object({}, (): Tool[] => []);

/**
 * Tools that the client runs, and that only the vendor's models know: https://platform.openai.com/docs/guides/tools-shell. In another
 * environment, the vendor would run the shell.
 */
const vendorTools = {
  apply_patch: leftOutTool,
  local_shell: leftOutTool,
  shell: object({ environment: optional(object({ type: oneOf(['local']) }, () => null)) }, (): Tool[] => []),
};
const VENDOR_TOOLS = Object.keys(vendorTools);

/** The items of the input that record calls of {@link vendorTools}. */
export const VENDOR_TOOL_ITEMS = [
  'apply_patch_call',
  'apply_patch_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
] as const;

/** The types of the vendor's tools, and of the records of their calls, in a body; undefined if there are none. */
export function findVendorTools({ tools, input }: JsonObject): readonly string[] | undefined {
  const known = new Set<string>([...VENDOR_TOOLS, ...VENDOR_TOOL_ITEMS]);
  const types = [tools, input, ...itemsWithTools(input).map(([item]) => item['tools'])]
    .flatMap(listOf)
    .flatMap((item) => (isObject(item) ? stringOf(item['type']) : []));
  const found = [...new Set(types)].filter((type) => known.has(type));
  return found.length === 0 ? undefined : found;
}

/** @throws ServiceError `bad_request` if a request has tools that only the vendor's models know, which it would lose */
export function assertNoVendorTools({ vendorTools: found = [] }: TextRequest): void {
  const [type] = found;
  if (type === undefined) return;
  throw badRequest(`the model does not know "${type}": send a tool of the type "function", and run it yourself`);
}

const toolOfFull = named(
  'ResponsesTool',
  typed<Tool[]>({
    function: mapped(readFunction, (tool) => [tool]),
    custom: mapped(readCustomTool, (tool) => [tool]),
    namespace: namespaceTool,
    [TOOL_SEARCH]: toolSearchTool,
    ...vendorTools,
    ...Object.fromEntries(LEFT_OUT.map((type) => [type, leftOutTool])),
  }),
);

/** Tools that only the vendor runs. Without them, the answer would be invented: https://platform.openai.com/docs/guides/tools */
const HOSTED_TOOLS: readonly unknown[] = ['code_interpreter', 'computer_use_preview', 'file_search', 'mcp'];

const clientToolOfFull = reader(toolOfFull.schema, (value, path): Tool[] => {
  const type = isObject(value) ? value['type'] : undefined;
  if (!HOSTED_TOOLS.includes(type)) return toolOfFull(value, path);
  throw badRequest(
    `"${path}" is not supported: Genway does not run the tool "${String(type)}"; send a tool of the type "function", and run it yourself`,
  );
});

const toolOfSpecification = mapped(fields({ type: oneOf(['function']), ...FUNCTION_FIELDS }), (tool): Tool[] => {
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

export const TOOLS = { full: toolsOf(clientToolOfFull), specification: toolsOf(toolOfSpecification) };

/** The types of input items that bring tools: those of a developer, and the results of a search. */
const ITEMS_WITH_TOOLS = ['additional_tools', 'tool_search_output'];

/** The items of the input that bring tools, with their positions. */
function itemsWithTools(input: unknown): (readonly [item: JsonObject, index: number])[] {
  return listOf(input).flatMap((item, index) =>
    isObject(item) && ITEMS_WITH_TOOLS.some((type) => type === item['type']) ? [[item, index] as const] : [],
  );
}

/**
 * The tools that items of the input add to those of the request; each name counts once. Only agents send such items, so
 * their tools may be of any kind, also on models with the compatibility of the specification.
 */
export function toolsOfInput(input: unknown, others: readonly Tool[]): Tool[] {
  const names = new Set(others.map(({ name }) => name));
  const added = itemsWithTools(input).flatMap(
    ([item, index]) => TOOLS.full(item['tools'], join(join('input', index), 'tools')) ?? [],
  );
  return added.filter(({ name }) => !names.has(name) && names.add(name));
}

/**
 * The client's tools for an upstream of the same format: the vendor would charge for its own.
 *
 * @param searches whether the upstream may search the web
 */
export function forwardedTools(tools: readonly unknown[], searches: boolean): unknown[] {
  return tools
    .filter(
      (tool) => !isObject(tool) || !LEFT_OUT.some((type) => type === tool['type']) || (searches && isWebSearch(tool)),
    )
    .map((tool) =>
      isObject(tool) && tool['type'] === 'shell'
        ? { ...tool, environment: tool['environment'] ?? { type: 'local' } }
        : tool,
    );
}

/** An input item for an upstream of the same format: {@link forwardedTools} apply to the tools that it brings. */
export function withForwardedTools(item: JsonObject): JsonObject {
  const { tools } = item;
  return itemsWithTools([item]).length > 0 && Array.isArray(tools)
    ? { ...item, tools: forwardedTools(tools, false) }
    : item;
}

/** The tools of a client that Genway omits from its request, besides the search of {@link findWebSearch}. */
export function findOmittedTools({ tools, input }: JsonObject): UnusedFields {
  const all = [tools, ...itemsWithTools(input).map(([item]) => item['tools'])].flatMap(listOf);
  const sent = all.filter(isObject);
  const search = listOf(tools).filter(isObject).find(isWebSearch)?.['type'];
  const always = LEFT_OUT.filter((type) => type !== search && sent.some((tool) => tool['type'] === type));
  const hasSearch = sent.some((tool) => tool['type'] === TOOL_SEARCH && tool['execution'] !== 'client');
  return {
    always: always.map((type) => `tools.${type}`),
    converted: hasSearch ? [`tools.${TOOL_SEARCH}`] : [],
  };
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
  [TOOL_SEARCH]: object({}, () => TOOL_SEARCH),
  ...Object.fromEntries([...LEFT_OUT, ...VENDOR_TOOLS].map((type) => [type, object({}, () => null)])),
});

const byName = mapped(reference, (name): ChosenTools => ({ toolChoice: { type: 'tool', name } }));
const allowedTools = object(
  { mode: oneOf(['auto', 'required']), tools: arrayOf(references) },
  ({ mode, tools }): ChosenTools => ({
    toolChoice: { type: mode },
    allowed: new Set(tools.filter((name) => name !== null)),
  }),
);

const searchChoice = object({}, (): ChosenTools => ({ toolChoice: { type: 'tool', name: WEB_SEARCH } }));

/** Upstreams of the format get the choice as it is; others get no such tool. */
const vendorChoice = object({}, (): ChosenTools => ({ toolChoice: { type: 'required' } }));

const choiceOfFull = named(
  'ResponsesToolChoice',
  typed<ChosenTools>({
    function: byName,
    custom: byName,
    allowed_tools: allowedTools,
    ...Object.fromEntries(VENDOR_TOOLS.map((type) => [type, vendorChoice])),
    ...Object.fromEntries(WEB_SEARCHES.map((type) => [type, searchChoice])),
  }),
);

const choiceOfSpecification = mapped(fields({ type: oneOf(['function']), name: readName }), (choice): ChosenTools => {
  requireFunction(choice, 'choice', 'choose a tool');
  return { toolChoice: { type: 'tool', name: choice.get('name') } };
});

export const TOOL_CHOICE = {
  full: optional(textOr(plainChoice, choiceOfFull)),
  specification: optional(textOr(plainChoice, choiceOfSpecification)),
};

/** The name of the function that stands for a tool in a namespace. */
export function flatName(namespace: string, name: string): string {
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
}

/** The arguments of a call as an object; arguments that are none, as when the output bound cuts them, are empty. */
export function objectOfText(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return objectOf(value);
  } catch {
    return {};
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

/** The kinds of items that calls are: of a function, of a free-text tool, or of a search for tools. */
export type CallKind = 'function' | 'free-text' | 'tool-search';

/** The kind of a call, by the client's definition of the tool with this name. */
export function callKindOf(tools: readonly Tool[], name: string): CallKind {
  const tool = tools.find((one) => one.name === name);
  if (tool?.isToolSearch === true) return 'tool-search';
  return tool?.isFreeText === true ? 'free-text' : 'function';
}

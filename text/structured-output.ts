/**
 * Answers in JSON. Each format has a field for them; this is for upstreams that lack it, and for the check that an answer
 * is what was asked for.
 */
import { badRequest, ServiceError } from '../domain/errors.ts';
import { isObject } from '../domain/json.ts';
import type { OutputFormat, StreamEvent, TextRequest, Tool, Turn } from './canonical.ts';
import { objectOfText } from './json/parse.ts';
import { violationOf } from './json-schema.ts';
import { chain, chainIf, type Emit, type Stage } from './stage.ts';
import type { UpstreamHalf, UpstreamOptions } from './wire-format.ts';

/** How a request asks for JSON, and how the answer is converted. */
export interface OutputPlan {
  readonly request: TextRequest;
  /** Null if the answer needs no conversion. */
  readonly stage: Stage<StreamEvent, StreamEvent> | null;
}

type Settings = Pick<UpstreamOptions, 'structuredOutput' | 'checkOutput'> &
  Partial<Pick<UpstreamOptions, 'model' | 'baseModel'>>;

/** Whether this module converts the upstream's answer to the request. */
export function isOutputConverted({ outputFormat }: TextRequest, { structuredOutput, checkOutput }: Settings): boolean {
  return outputFormat !== undefined && (structuredOutput === 'tool' || checkOutput === true);
}

/** @throws ServiceError `bad_request` for a schema that the upstream cannot be given */
export function planOutput(
  upstream: Pick<UpstreamHalf, 'upstream'>,
  request: TextRequest,
  settings: Settings,
): OutputPlan {
  const plan = planJson(upstream, request, settings);
  const { outputFormat: format } = request;
  if (format?.type !== 'json-schema' || format.textIn === undefined) return plan;
  const text = new TextOfProperty(format.textIn);
  return { ...plan, stage: plan.stage === null ? text : chain(plan.stage, text) };
}

function planJson(
  { upstream }: Pick<UpstreamHalf, 'upstream'>,
  request: TextRequest,
  { structuredOutput, checkOutput, model = '', baseModel = model }: Settings,
): OutputPlan {
  const { outputFormat: format } = request;
  if (format === undefined) return { request, stage: null };
  const hasSchema = format.type === 'json-schema' && format.schema !== undefined;
  const isRefusedBesideTools = request.tools.length > 0 && upstream.givesJsonBesideTools?.(baseModel) === false;
  const isByTool = structuredOutput === 'tool' || isRefusedBesideTools;
  const hasNoField = isByTool || upstream.isSchemaRequiredForJson === true;
  if (!hasSchema && (hasNoField || upstream.givesAnyJson === true)) {
    const worded = instructed(request);
    return { request: hasNoField ? { ...worded, outputFormat: undefined } : worded, stage: new OutputCheck(format) };
  }
  const check = checkOutput === true ? new OutputCheck(format) : null;
  const isRefused =
    hasSchema && format.schema !== undefined && upstream.schemaLimits.isForAnswer?.(format.schema) === false;
  if (!hasSchema || (!isByTool && !isRefused)) return { request, stage: check };
  return byTool(request, format, check);
}

// -------------------------------------------------------------------------------------------------------------- words

const INSTRUCTION = 'Answer with one JSON object and nothing else: no explanation and no code fence around it.';

/** The request with words for the field, after the system text at its beginning. */
function instructed(request: TextRequest): TextRequest {
  const instruction: Turn = { role: 'system', parts: [{ type: 'text', text: INSTRUCTION }] };
  const first = request.turns.findIndex(({ role }) => role !== 'system');
  const turns = first === -1 ? [...request.turns, instruction] : request.turns.toSpliced(first, 0, instruction);
  return { ...request, turns };
}

// --------------------------------------------------------------------------------------------------------------- tool

type SchemaFormat = Extract<OutputFormat, { type: 'json-schema' }>;

const TOOL_DESCRIPTION = 'Gives the answer. Call it once, with the whole answer.';

/** A tool whose arguments are the answer, and which has to be called unless the client's own tools are. */
function byTool(request: TextRequest, format: SchemaFormat, check: OutputCheck | null): OutputPlan {
  const { tools, toolChoice } = request;
  const sent = { ...request, outputFormat: undefined };
  // The answer is to be a call of the client's.
  if (tools.length > 0 && (toolChoice?.type === 'required' || toolChoice?.type === 'tool')) {
    return { request: sent, stage: null };
  }
  const { schema, strict, description = TOOL_DESCRIPTION } = format;
  if (schema !== undefined && (schema['type'] ?? 'object') !== 'object') {
    throw badRequest('the model takes only schemas of the type "object" for its answer; put yours into a property');
  }
  const name = unusedName(tools);
  const tool: Tool = { name, description, parameters: schema, strict };
  const mayCallOthers = tools.length > 0 && toolChoice?.type !== 'none';
  return {
    request: {
      ...sent,
      tools: [...tools, tool],
      toolChoice: mayCallOthers ? { type: 'required' } : { type: 'tool', name },
    },
    stage: chainIf(new AnswerOfTool(name), check),
  };
}

function unusedName(tools: readonly Tool[]): string {
  const names = new Set(tools.map((tool) => tool.name));
  let name = 'answer';
  while (names.has(name)) name += '_';
  return name;
}

interface ToolAnswer {
  /** Text, which counts only if the tool is not called. */
  held: StreamEvent[];
  hasAnswer: boolean;
  hasCalls: boolean;
}

/** Turns the call of the tool that stands for the answer into the text of the answer. */
class AnswerOfTool implements Stage<StreamEvent, StreamEvent> {
  readonly #name: string;
  readonly #choices = new Map<number, ToolAnswer>();
  /** The choices of texts, by the ids of their parts. */
  readonly #texts = new Map<string, ToolAnswer>();
  /** The parts that are calls of the tool: only the first of a choice is the answer. */
  readonly #answers = new Map<string, boolean>();

  constructor(name: string) {
    this.#name = name;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    switch (event.type) {
      case 'text-start':
        this.#texts.set(event.id, this.#choice(event.choice));
        return this.#hold(event);
      case 'text-delta':
      case 'text-end':
        return this.#hold(event);
      case 'tool-input-start':
        return this.#start(event, emit);
      case 'tool-input-delta':
      case 'tool-input-end': {
        const isAnswer = this.#answers.get(event.id);
        if (isAnswer === undefined) emit(event);
        else if (isAnswer)
          emit(event.type === 'tool-input-end' ? { ...event, type: 'text-end' } : { ...event, type: 'text-delta' });
        return;
      }
      case 'finish': {
        const choice = this.#choice(event.choice);
        this.#release(choice, emit);
        return emit(event.reason === 'tool-calls' && !choice.hasCalls ? { ...event, reason: 'stop' } : event);
      }
      default:
        emit(event);
    }
  }

  end(): void {}

  #choice(number = 0): ToolAnswer {
    const choice = this.#choices.get(number) ?? { held: [], hasAnswer: false, hasCalls: false };
    this.#choices.set(number, choice);
    return choice;
  }

  #hold(event: Extract<StreamEvent, { id: string }>): void {
    const choice = this.#texts.get(event.id);
    if (choice?.hasAnswer === false) choice.held.push(event);
  }

  #start(event: Extract<StreamEvent, { type: 'tool-input-start' }>, emit: Emit<StreamEvent>): void {
    const choice = this.#choice(event.choice);
    if (event.name !== this.#name) {
      choice.hasCalls = true;
      this.#release(choice, emit);
      return emit(event);
    }
    this.#answers.set(event.id, !choice.hasAnswer);
    if (choice.hasAnswer) return;
    Object.assign(choice, { hasAnswer: true, held: [] });
    emit({ type: 'text-start', id: event.id, choice: event.choice });
  }

  #release(choice: ToolAnswer, emit: Emit<StreamEvent>): void {
    for (const event of choice.held) emit(event);
    choice.held = [];
  }
}

// -------------------------------------------------------------------------------------------------------------- check

/**
 * The answer is complete, and does not have the requested form. The answer is charged, because the model has generated all of it, and
 * the client of a stream has it: otherwise clients could have answers for nothing.
 */
export class UnsuitableAnswerError extends ServiceError {
  /** @param problem in words that the client wrote itself */
  constructor(problem: string) {
    super(
      'bad_request',
      `The model's answer is not the JSON that was asked for, and is charged: ${problem}. Send the request again, or describe the JSON in the prompt.`,
    );
  }
}

/** A longer text is no answer in JSON. */
const MAX_LENGTH = 2 ** 20;

/** Reads along, and ends an answer that is not in the required form with an error. */
class OutputCheck implements Stage<StreamEvent, StreamEvent> {
  readonly #format: OutputFormat;
  readonly #choiceOfPart = new Map<string, number>();
  readonly #texts = new Map<number, { pieces: string[]; length: number }>();
  readonly #withCalls = new Set<number>();

  constructor(format: OutputFormat) {
    this.#format = format;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    if (event.type === 'text-start') this.#choiceOfPart.set(event.id, event.choice ?? 0);
    else if (event.type === 'text-delta') this.#add(event.id, event.text);
    else if (event.type === 'tool-input-start') this.#withCalls.add(event.choice ?? 0);
    else if (event.type === 'finish' && event.reason === 'stop') this.#check(event.choice ?? 0);
    emit(event);
  }

  end(): void {}

  #add(id: string, piece: string): void {
    const choice = this.#choiceOfPart.get(id) ?? 0;
    const text = this.#texts.get(choice) ?? { pieces: [], length: 0 };
    this.#texts.set(choice, text);
    text.length += piece.length;
    if (text.length > MAX_LENGTH) throw new UnsuitableAnswerError(`it is longer than ${MAX_LENGTH} characters`);
    text.pieces.push(piece);
  }

  #check(choice: number): void {
    if (this.#withCalls.has(choice)) return;
    const problem = problemOf(this.#format, this.#texts.get(choice)?.pieces.join('') ?? '');
    if (problem !== null) throw new UnsuitableAnswerError(problem);
  }
}

/** Replaces the object in a text by the text in a property of the object. A text that is no such object stays. */
class TextOfProperty implements Stage<StreamEvent, StreamEvent> {
  readonly #name: string;
  /** The pieces of open texts, by id. */
  readonly #texts = new Map<string, string[]>();
  #length = 0;

  constructor(name: string) {
    this.#name = name;
  }

  push(event: StreamEvent, emit: Emit<StreamEvent>): void {
    if (event.type === 'text-delta') {
      this.#length += event.text.length;
      if (this.#length > MAX_LENGTH) throw new UnsuitableAnswerError(`it is longer than ${MAX_LENGTH} characters`);
      this.#texts.get(event.id)?.push(event.text);
      return;
    }
    if (event.type === 'text-start') this.#texts.set(event.id, []);
    else if (event.type === 'text-end') {
      const text = this.#valueIn(this.#texts.get(event.id)?.join('') ?? '');
      if (text !== '') emit({ type: 'text-delta', id: event.id, text });
      this.#texts.delete(event.id);
    }
    emit(event);
  }

  end(): void {}

  #valueIn(text: string): string {
    const inner = objectOfText(text)?.[this.#name];
    return typeof inner === 'string' ? inner : text;
  }
}

function problemOf(format: OutputFormat, text: string): string | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'it is not JSON';
  }
  if (format.type === 'json-schema' && format.schema !== undefined) return violationOf(format.schema, value);
  return isObject(value) ? null : 'it is not an object';
}

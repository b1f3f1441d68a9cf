/** Names of tools: an upstream that refuses a name gets a shorter one, and the client gets its own names in calls. */
import { digestOf } from '../domain/digest.ts';
import type { AssistantPart, StreamEvent, TextRequest, Tool, ToolResultPart, Turn } from './canonical.ts';
import { compact } from './read.ts';
import type { Stage } from './stage.ts';

export interface FittingNames {
  readonly request: TextRequest;
  /** Gives calls the client's names; null without tools. */
  readonly stage: Stage<StreamEvent, StreamEvent> | null;
}

/** The request with names that match a pattern, in tools, calls, results and the choice of a tool. */
export function withFittingNames(request: TextRequest, pattern: RegExp): FittingNames {
  const { tools, turns, toolChoice } = request;
  const chosen = toolChoice?.type === 'tool' ? [toolChoice.name] : [];
  const names = new Set([...tools.map(({ name }) => name), ...turns.flatMap(namesIn), ...chosen]);
  const fitting = new Map([...names].filter((name) => !pattern.test(name)).map((name) => [name, fittingName(name)]));
  const sent = new Map([...fitting].map(([name, short]) => [short, name]));
  const stage =
    tools.length === 0 && fitting.size === 0 ? null : renameCalls((name) => sent.get(name) ?? meantBy(name, tools));
  if (fitting.size === 0) return { request, stage };

  const rename = <Named extends { readonly name: string }>(named: Named): Named => {
    const name = fitting.get(named.name);
    return name === undefined ? named : { ...named, name };
  };
  return {
    request: compact({
      ...request,
      tools: tools.map(rename),
      turns: turns.map((turn) => withNames(turn, rename)),
      toolChoice: toolChoice?.type === 'tool' ? rename(toolChoice) : toolChoice,
    }),
    stage,
  };
}

/** The namespace in which models learnt to call functions. */
const TRAINED_NAMESPACE = /^functions(?:\.|__)/;

/** The name of the tool that a model means: models add a namespace to a name, or omit the client's namespace. */
function meantBy(name: string, tools: readonly Tool[]): string {
  if (tools.some((tool) => tool.name === name)) return name;
  const bare = name.replace(TRAINED_NAMESPACE, '');
  const [meant, ...others] = tools.filter((tool) => tool.name === bare || tool.inNamespace?.name === bare);
  return meant === undefined || others.length > 0 ? name : meant.name;
}

/** Every vendor takes names of this length. */
const MAX_LENGTH = 64;
const DIGITS = 10;

/** A name that every vendor takes: the beginning of the client's name, and the digest of all of it. */
function fittingName(name: string): string {
  const cleaned = name.slice(0, MAX_LENGTH).replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const beginning = /^[A-Za-z_]/.test(cleaned) ? cleaned : `_${cleaned}`;
  return `${beginning.slice(0, MAX_LENGTH - DIGITS - 1)}_${digestOf(name).slice(0, DIGITS)}`;
}

function isCall(part: AssistantPart): part is Extract<AssistantPart, { type: 'tool-call' }> {
  return part.type === 'tool-call';
}

function isNamed(result: ToolResultPart): result is ToolResultPart & { readonly name: string } {
  return result.name !== undefined;
}

function namesIn(turn: Turn): string[] {
  if (turn.role === 'assistant') return turn.parts.filter(isCall).map(({ name }) => name);
  return turn.role === 'tool' ? turn.parts.filter(isNamed).map(({ name }) => name) : [];
}

function withNames(turn: Turn, rename: <Named extends { readonly name: string }>(named: Named) => Named): Turn {
  if (turn.role === 'tool') {
    return { ...turn, parts: turn.parts.map((result) => (isNamed(result) ? rename(result) : result)) };
  }
  if (turn.role !== 'assistant') return turn;
  return { ...turn, parts: turn.parts.map((part) => (isCall(part) ? rename(part) : part)) };
}

function renameCalls(nameOf: (name: string) => string): Stage<StreamEvent, StreamEvent> {
  return {
    push: (event, emit) => emit(event.type === 'tool-input-start' ? { ...event, name: nameOf(event.name) } : event),
    end: () => {},
  };
}

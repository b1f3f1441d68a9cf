/** Names of tools that an upstream refuses: it gets shorter ones, and the client its own again. */
import { digestOf } from '../domain/digest.ts';
import type { AssistantPart, StreamEvent, TextRequest, ToolResultPart, Turn } from './canonical.ts';
import { compact } from './read.ts';
import type { Stage } from './stage.ts';

export interface FittingNames {
  readonly request: TextRequest;
  /** Gives calls the client's names again; null if there is nothing to rename. */
  readonly stage: Stage<StreamEvent, StreamEvent> | null;
}

/** The request with names that match a pattern, in tools, calls, results and the choice of a tool. */
export function withFittingNames(request: TextRequest, pattern: RegExp): FittingNames {
  const { tools, turns, toolChoice } = request;
  const chosen = toolChoice?.type === 'tool' ? [toolChoice.name] : [];
  const names = new Set([...tools.map(({ name }) => name), ...turns.flatMap(namesIn), ...chosen]);
  const fitting = new Map([...names].filter((name) => !pattern.test(name)).map((name) => [name, fittingName(name)]));
  if (fitting.size === 0) return { request, stage: null };

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
    stage: renameCalls(new Map([...fitting].map(([name, sent]) => [sent, name]))),
  };
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

function renameCalls(names: ReadonlyMap<string, string>): Stage<StreamEvent, StreamEvent> {
  return {
    push: (event, emit) => {
      const name = event.type === 'tool-input-start' ? names.get(event.name) : undefined;
      emit(name === undefined || event.type !== 'tool-input-start' ? event : { ...event, name });
    },
    end: () => {},
  };
}

/** The content of a request in any format: everything that the script needs. */
/** One step of the history, in the order in which it happened. */
export type Entry = TextEntry | CallEntry | ResultEntry;

interface TextEntry {
  readonly kind: 'text';
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
  /** The number of images and other files beside the text. */
  readonly mediaCount: number;
  /** The part of them that is audio; 0 by default. */
  readonly audioCount?: number;
}

export interface CallEntry {
  readonly kind: 'call';
  /** Empty in the format without call ids. */
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

export interface ResultEntry {
  readonly kind: 'result';
  /** The id of the call that it answers; null in the format that matches calls by name. */
  readonly callId: string | null;
  /** The name of the called tool, if the result contains it. */
  readonly name: string | null;
  readonly text: string;
  readonly mediaCount: number;
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** The JSON schema of the arguments; undefined for a tool without any. */
  readonly schema: unknown;
}

/** `required`: any one tool. A name: that tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

export interface Conversation {
  readonly model: string;
  readonly stream: boolean;
  readonly entries: readonly Entry[];
  readonly tools: readonly OfferedTool[];
  readonly toolChoice: ToolChoice;
  /** The most searches of the web that the vendor may run itself; 0 by default. */
  readonly maxSearches?: number;
  /** Whether one answer may call several tools. */
  readonly parallelCalls: boolean;
  /** Reasoning counts too; undefined for no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** Whether the request lets a reasoning model reason. */
  readonly reasoningAllowed: boolean;
  /** Present when the answer must be JSON: its schema, `{}` for any object. */
  readonly answerSchema: unknown;
  /** Whether the answer is a text of the schema instead of JSON. */
  readonly answersInText?: boolean;
  /** Whether the answer is spoken. */
  readonly isSpoken?: boolean;
  /** The requested number of answers. */
  readonly choiceCount: number;
}

/** The conversation of a request with one text of the user, for an answer without tools. */
export function conversationAbout(
  text: string,
  { model, stream }: Pick<Conversation, 'model' | 'stream'>,
): Conversation {
  return {
    model,
    stream,
    entries: [{ kind: 'text', role: 'user', text, mediaCount: 0 }],
    tools: [],
    toolChoice: 'none',
    parallelCalls: false,
    maxOutputTokens: undefined,
    stopSequences: [],
    reasoningAllowed: false,
    answerSchema: undefined,
    choiceCount: 1,
  };
}

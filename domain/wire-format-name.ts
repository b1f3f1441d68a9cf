/** The shapes in which text requests and answers travel: contract 4.8. What each of them is, is in `text/`. */
export const WIRE_FORMAT_NAMES = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;

export type WireFormatName = (typeof WIRE_FORMAT_NAMES)[number];

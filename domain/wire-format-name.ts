/** The formats of text requests and answers: contract 4.8. They are defined in `text/`. */
export const WIRE_FORMAT_NAMES = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;

export type WireFormatName = (typeof WIRE_FORMAT_NAMES)[number];

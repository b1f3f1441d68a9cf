/** Every wire format, by name. */
import type { WireFormatName } from '../domain/wire-format-name.ts';
import { chatCompletions } from './chat-completions/index.ts';
import { generateContent } from './generate-content/index.ts';
import { messages } from './messages/index.ts';
import { responses } from './responses/index.ts';
import type { WireFormat } from './wire-format.ts';

export const FORMATS: Readonly<Record<WireFormatName, WireFormat>> = {
  'chat-completions': chatCompletions,
  responses,
  messages,
  'generate-content': generateContent,
};

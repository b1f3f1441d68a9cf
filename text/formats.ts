/** Every wire format, by name: the formats of clients with both halves, and the others with the half towards upstreams. */
import type { UpstreamFormatName, WireFormatName } from '../domain/wire-format-name.ts';
import { chatCompletions } from './chat-completions/index.ts';
import { converse } from './converse/index.ts';
import { generateContent } from './generate-content/index.ts';
import { messages } from './messages/index.ts';
import { responses } from './responses/index.ts';
import type { UpstreamHalf, WireFormat } from './wire-format.ts';

export const FORMATS: Readonly<Record<UpstreamFormatName, UpstreamHalf> & Record<WireFormatName, WireFormat>> = {
  'chat-completions': chatCompletions,
  responses,
  messages,
  'generate-content': generateContent,
  converse,
};

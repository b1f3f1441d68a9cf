/** Calls text models for people without a key at hand, by the rules of `POST /v1/chat/completions`. */
import type { Caller } from '../../db/queries/api-keys.ts';
import { assertNotExhausted } from '../../domain/api-key.ts';
import type { JsonObject } from '../../domain/json.ts';
import { FORMATS } from '../../text/formats.ts';
import type { IncomingTextRequest } from './admit.ts';
import type { ClientExchange } from './client-exchange.ts';
import type { Services } from '../services.ts';

export interface Chat {
  readonly context: ClientExchange;
  readonly caller: Caller;
  /** The body of a chat completion. */
  readonly body: JsonObject;
}

/** Streams the answer to the client as server-sent events. @throws ServiceError if it cannot call the model */
export function streamChat({ text }: Pick<Services, 'text'>, chat: Chat): Promise<void> {
  const body = { ...chat.body, stream: true, stream_options: { include_usage: true } };
  return text.track(text.serve(askOf({ ...chat, body })));
}

/** The whole answer, as the JSON of a chat completion. @throws ServiceError if there is none */
export function answerChat({ text }: Pick<Services, 'text'>, chat: Chat): Promise<string> {
  return text.track(text.answer(askOf(chat)));
}

function askOf({ context, caller, body }: Chat): IncomingTextRequest {
  assertNotExhausted(caller.key);
  return { context, caller, format: FORMATS['chat-completions'], parseContext: {}, streamsArray: false, body };
}

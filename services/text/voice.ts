/** Speaks and transcribes for people without a key at hand, by the rules of `POST /v1/audio/…`. */
import { type Catalogue, hasFormat, type TextModel } from '../../catalogue/types.ts';
import { assertNotExhausted } from '../../domain/api-key.ts';
import { objectOf, stringOf } from '../../domain/json.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import type { AudioFile } from '../../text/canonical.ts';
import { speech } from '../../text/voice/speech.ts';
import { transcriptions } from '../../text/voice/transcription.ts';
import type { Services } from '../services.ts';
import type { IncomingTextRequest } from './admit.ts';
import type { Chat } from './chat.ts';

type VoiceRequest = Pick<Chat, 'context' | 'caller'> & Pick<IncomingTextRequest, 'body'>;

/** The current models that answer in one of the formats. */
export function listModelsOf(
  { textModels }: Catalogue,
  ...formats: readonly RequestFormatName[]
): readonly TextModel[] {
  return [...textModels.values()].filter(
    (model) => !model.legacy && formats.some((format) => hasFormat(model, format)),
  );
}

/** Sends the speech to the client. @throws ServiceError if it cannot call the model */
export function streamSpeech({ text }: Pick<Services, 'text'>, request: VoiceRequest): Promise<void> {
  assertNotExhausted(request.caller.key);
  return text.track(text.serve({ ...request, format: speech, parseContext: {}, streamsArray: false }));
}

/** @returns what is said in the file @throws ServiceError if there is no transcript */
export async function transcribe(
  { text }: Pick<Services, 'text'>,
  { audio, ...request }: VoiceRequest & { readonly audio: AudioFile },
): Promise<string> {
  assertNotExhausted(request.caller.key);
  const asked = { ...request, format: transcriptions, parseContext: { audio }, streamsArray: false };
  const answer: unknown = JSON.parse(await text.track(text.answer(asked)));
  return stringOf(objectOf(answer)['text']);
}

/**
 * The settings of realtime sessions and of their responses, as clients send them. Genway passes on only fields that it
 * knows, because the fields decide what a response may cost and what the vendor does in the operator's account.
 */
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject, objectOf } from '../../domain/json.ts';

/** The model of a session as the client names it, and the bound of its responses. */
export interface SessionRules {
  readonly model: string;
  readonly maxOutputTokens: number;
  /** Whether the settings keep who answers speech as the client sets it; otherwise Genway does. */
  readonly vendorAnswersSpeech: boolean;
  /** The upstream's names of the models that may transcribe the client's speech, by their ids. */
  readonly transcriptions: ReadonlyMap<string, string>;
}

/** The sampling rates, in bytes of audio per second. */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = {
  'audio/pcm': 48_000,
  'audio/pcmu': 8_000,
  'audio/pcma': 8_000,
};
export const USUAL_BYTES_PER_SECOND = 48_000;

/** Settings for the upstream, and the facts in them that Genway needs. */
export interface CheckedSettings {
  readonly settings: JsonObject;
  /** The output bound that the settings set; undefined if they set none. */
  readonly maxOutputTokens: number | undefined;
  /** Whether responses may be spoken; undefined if the settings do not say. */
  readonly isSpoken: boolean | undefined;
  /** The pace of the client's audio, in bytes per second; undefined if the settings set no format. */
  readonly audioBytesPerSecond: number | undefined;
  /** Whether a response follows the end of speech; undefined if the settings do not say. */
  readonly answersSpeech: boolean | undefined;
  /** The id of the model that is to transcribe speech; null for none. */
  readonly transcription: string | null;
}

/** Fields of sessions and of responses that are passed on unchanged. */
const SHARED_FIELDS = ['instructions', 'output_modalities', 'parallel_tool_calls', 'tool_choice', 'reasoning'];
const SESSION_FIELDS = new Set([...SHARED_FIELDS, 'truncation', 'include']);
const RESPONSE_FIELDS = new Set([...SHARED_FIELDS, 'conversation', 'input', 'metadata']);
/** Fields of the answer that clients send back, and a trace in the operator's account. */
const IGNORED_FIELDS = new Set(['id', 'object', 'expires_at', 'tracing', 'client_secret']);

/** @param path the name of the object in messages @throws ServiceError `bad_request` */
export function checkSession(session: unknown, rules: SessionRules, path = 'session'): CheckedSettings {
  const fields = objectAt(session, path);
  const { type, model } = fields;
  if (type !== undefined && type !== 'realtime') throw badRequest(`"${path}.type" must be "realtime"`);
  if (model !== undefined && model !== rules.model) {
    throw badRequest(`"${path}.model" must be "${rules.model}": a session cannot change its model`);
  }
  const { type: _type, model: _model, ...others } = fields;
  const { audio } = fields;
  const input = isObject(audio) ? audio['input'] : undefined;
  return {
    ...check(others, rules, path, SESSION_FIELDS),
    ...audioPaceOf(audio, path),
    answersSpeech: answersSpeech(input),
    transcription: transcriptionOf(input, rules),
  };
}

/** The settings that a session starts with: those of its secret, with the voice detection that vendors have by default. */
export function initialSettings(settings: JsonObject | null): JsonObject {
  const { audio } = settings ?? {};
  const audioSettings = objectOf(audio);
  const input = objectOf(audioSettings['input']);
  return {
    ...settings,
    audio: { ...audioSettings, input: { turn_detection: { type: 'server_vad' }, ...input } },
  };
}

/** @throws ServiceError `bad_request` */
export function checkResponse(response: unknown, rules: SessionRules): CheckedSettings {
  const fields = response === undefined || response === null ? {} : objectAt(response, 'response');
  const { metadata } = fields;
  if (isObject(metadata) && Object.keys(metadata).length > MAX_METADATA) {
    throw badRequest(`"response.metadata" must have at most ${MAX_METADATA} fields`);
  }
  const checked = check(fields, rules, 'response', RESPONSE_FIELDS);
  return { ...checked, audioBytesPerSecond: undefined, answersSpeech: undefined, transcription: null };
}

/** Vendors accept 16 fields. Genway adds one. */
const MAX_METADATA = 15;

function check(
  fields: JsonObject,
  rules: SessionRules,
  path: string,
  passedOn: ReadonlySet<string>,
): Pick<CheckedSettings, 'settings' | 'maxOutputTokens' | 'isSpoken'> {
  const settings: Record<string, unknown> = {};
  let bound: number | undefined;
  for (const [name, value] of Object.entries(fields)) {
    if (IGNORED_FIELDS.has(name)) continue;
    if (name === 'max_output_tokens') {
      bound = readBound(value, rules.maxOutputTokens, `${path}.${name}`);
      settings[name] = value;
    } else if (name === 'tools') settings[name] = checkTools(value, `${path}.${name}`);
    else if (name === 'audio' && value !== null) settings[name] = checkAudio(value, rules, `${path}.${name}`);
    else if (passedOn.has(name)) settings[name] = value;
    else if (value !== null) throw badRequest(`"${path}.${name.slice(0, MAX_SHOWN_NAME)}" is not supported; remove it`);
  }
  const modalities = settings['output_modalities'];
  const isSpoken = modalities === undefined ? undefined : !isTextOnly(modalities);
  return { settings, maxOutputTokens: bound, isSpoken };
}

/** Whether responses of these modalities have no audio. */
export function isTextOnly(modalities: unknown): boolean {
  return Array.isArray(modalities) && modalities.length > 0 && modalities.every((one) => one === 'text');
}

const MAX_SHOWN_NAME = 100;

function readBound(value: unknown, most: number, path: string): number {
  if (value === 'inf' || value === null) return most;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw badRequest(`"${path}" must be a whole number from 1 to ${most}, or "inf"`);
}

/** The vendor would call other tools itself, with its own access, and at a price of its own. */
export function checkTools(value: unknown, path: string): readonly unknown[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw badRequest(`"${path}" must be an array`);
  const tools: readonly unknown[] = value;
  tools.forEach((tool, index) => {
    const { type = 'function' } = objectAt(tool, `${path}[${index}]`);
    if (type !== 'function') throw badRequest(`"${path}[${index}].type" must be "function"`);
  });
  return tools;
}

function checkAudio(value: unknown, rules: SessionRules, path: string): JsonObject {
  const { input, output, ...others } = objectAt(value, path);
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw badRequest(`"${path}.${unknown.slice(0, MAX_SHOWN_NAME)}" is not supported; remove it`);
  const heard = isObject(input) ? withTranscription(input, rules.transcriptions) : null;
  return {
    ...(heard !== null && { input: rules.vendorAnswersSpeech ? heard : withoutAnswers(heard) }),
    ...(isObject(output) && { output: checkOutput(output, `${path}.output`) }),
  };
}

/** Another model transcribes, at a price of its own. Models without a price are left out, as SDKs name some by default. */
function withTranscription(
  { transcription, ...input }: JsonObject,
  transcriptions: SessionRules['transcriptions'],
): JsonObject {
  if (transcription === null) return { ...input, transcription };
  const { model, ...others } = objectOf(transcription);
  const name = typeof model === 'string' ? transcriptions.get(model) : undefined;
  return name === undefined ? input : { ...input, transcription: { ...others, model: name } };
}

function transcriptionOf(input: unknown, { transcriptions }: SessionRules): string | null {
  const transcription = isObject(input) ? input['transcription'] : undefined;
  const model = isObject(transcription) ? transcription['model'] : undefined;
  return typeof model === 'string' && transcriptions.has(model) ? model : null;
}

/** Genway requests the answers to speech, once it holds their money: the vendor would charge for others. */
function withoutAnswers({ turn_detection: detection, ...input }: JsonObject): JsonObject {
  if (!isObject(detection)) return detection === undefined ? input : { ...input, turn_detection: detection };
  const { idle_timeout_ms: _idleTimeout, ...others } = detection;
  return { ...input, turn_detection: { ...others, create_response: false } };
}

function answersSpeech(input: unknown): boolean | undefined {
  const detection = isObject(input) ? input['turn_detection'] : undefined;
  return isObject(detection) ? detection['create_response'] !== false : undefined;
}

function checkOutput(output: JsonObject, path: string): JsonObject {
  const { voice } = output;
  if (!isObject(voice)) return output;
  const isId = typeof voice['id'] === 'string' && Object.keys(voice).length === 1;
  if (!isId) throw badRequest(`"${path}.voice" must be the name of a voice, or {"id"} of a custom voice`);
  return output;
}

function audioPaceOf(audio: unknown, path: string): Pick<CheckedSettings, 'audioBytesPerSecond'> {
  const input = isObject(audio) ? audio['input'] : undefined;
  const format = isObject(input) ? input['format'] : undefined;
  if (format === undefined || format === null) return { audioBytesPerSecond: undefined };
  const type = isObject(format) ? format['type'] : undefined;
  const audioBytesPerSecond = typeof type === 'string' ? BYTES_PER_SECOND[type] : undefined;
  if (audioBytesPerSecond === undefined) {
    const known = Object.keys(BYTES_PER_SECOND).join(', ');
    throw badRequest(`"${path}.audio.input.format.type" must be one of: ${known}`);
  }
  return { audioBytesPerSecond };
}

function objectAt(value: unknown, path: string): JsonObject {
  if (isObject(value)) return value;
  throw badRequest(`"${path}" must be an object`);
}

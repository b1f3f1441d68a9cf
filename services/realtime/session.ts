/**
 * A realtime session: passes events on between a client and an upstream, and bills the responses. In a call, client and
 * upstream speak without Genway. Its session only follows the upstream's events, and has no client.
 */
import type { Logger } from 'pino';
import type { TextModel, TextRoute } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { badRequest, ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { REALTIME } from '../../domain/policy.ts';
import { redactVendorMessage } from '../../providers/text/vendor-message.ts';
import type { UpstreamSocket } from '../../providers/text/socket.ts';
import { type ClientEvent, readClientEvent, RefusedEventError } from '../../text/realtime/client-events.ts';
import {
  initialSettings,
  isTextOnly,
  type SessionRules,
  USUAL_BYTES_PER_SECOND,
} from '../../text/realtime/settings.ts';
import { checkCallEvent, isTranscribing, WITHOUT_TRANSCRIPTION } from '../../text/realtime/call-events.ts';
import { type LongAudio, NO_AUDIO, writeEvent } from '../../text/realtime/long-audio.ts';
import {
  isItem,
  readUpstreamEvent,
  refusalEvent,
  showError,
  showFailure,
  showSession,
  showTranscriptionFailure,
} from '../../text/realtime/upstream-events.ts';
import { LARGE_BYTES } from './large-messages.ts';
import { Pace } from './pace.ts';
import { Peer } from './peer.ts';
import { PromptBound, type PromptTokens } from './prompt-bound.ts';
import { type OfferedTranscription, Transcriptions } from './transcriptions.ts';
import { type HoldResponse, type ResponseBounds, type ResponseHold, Responses, withoutTag } from './responses.ts';

/** An opened session. */
export interface SessionParts {
  readonly requestId: string;
  /** The current state of the key and its account. */
  caller: Caller;
  readonly model: TextModel;
  /** Null for a call. */
  readonly client: Peer | null;
  readonly upstream: UpstreamSocket<TextRoute>;
  /** Settings of the client secret, which the session starts with; null for none. */
  readonly settings: JsonObject | null;
  /** By the clock of the upstreams' events, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Null for a client's WebSocket to a call, whose own session bills the responses. */
  readonly hold: HoldResponse | null;
  /** Pays for the next response of a call, which the upstream starts by itself; null for other sessions. */
  readonly reserve: { readonly first: ResponseHold; readonly hold: HoldResponse } | null;
  /** Ends a call at the upstream, which would go on without the session; null for other sessions. Never throws. */
  readonly hangUp: (() => Promise<void>) | null;
  /** Null if no model may transcribe the client's speech, as in calls. */
  readonly transcription: OfferedTranscription | null;
  readonly log: Logger;
}

/** How long the vendor may take to end the responses of a client that left. */
const MAX_DRAIN_MS = 5_000;
/** How often a connection is checked. */
const PING_MS = 20_000;
/** The close codes of RFC 6455, section 7.4.1. */
const CLOSE = { normal: 1000, goingAway: 1001, policy: 1008, failed: 1011 } as const;

export class Session {
  readonly parts: SessionParts;
  /** Resolves when both connections are closed and all responses are recorded. */
  readonly ended: Promise<void>;
  readonly #client: Peer | null;
  readonly #upstream: Peer;
  readonly #responses: Responses;
  readonly #transcriptions: Transcriptions;
  readonly #prompt: PromptBound;
  readonly #pace = new Pace(performance.now());
  #slowTimer: NodeJS.Timeout | undefined;
  #resolveEnded: () => void = () => undefined;
  /** The output bound of responses that set none. */
  #maxOutputTokens: number;
  /** Whether responses without own modalities may be spoken. */
  #isSpoken = true;
  /** Whether the conversation may have audio. */
  #hasAudio: boolean;
  #audioBytesPerSecond = USUAL_BYTES_PER_SECOND;
  /** Whether a response follows the end of speech. */
  #answersSpeech = true;
  #hasSpeechEnded = false;
  /** The first event, while the first settings are applied. */
  #created: JsonObject | null = null;
  readonly #settingsEventId = newId('realtimeEvent');
  /** Responses of voice activity whose hold was refused. */
  readonly #refusedResponses = new Set<string>();
  /** How often the settings of a call were corrected. */
  #corrections = 0;
  #isEnding = false;
  /** Whether the upstream broke off, and not the client of a call. */
  #hasBrokenOff = false;
  #drained: (() => void) | null = null;
  #activeAtMs = performance.now();
  #pingedAtMs = performance.now();

  constructor(parts: SessionParts) {
    this.parts = parts;
    const { model, upstream, client, hold, reserve } = parts;
    const { provider, format, model: name } = upstream.route;
    this.#maxOutputTokens = model.outputTokenLimit;
    this.#prompt = new PromptBound(model.mediaTokens.image);
    this.#hasAudio = this.#isCall;
    const first = reserve?.first ?? null;
    this.#responses = new Responses({ provider, format, model: name }, hold ?? holdNothing, first);
    this.#transcriptions = new Transcriptions(parts.transcription, { provider, format });
    this.#client = client;
    this.#upstream = new Peer(upstream.socket, upstream.connection);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  start(): void {
    const fail = (error: unknown): void => void this.end(toServiceError(error));
    this.#client?.listen(
      (message) => this.#receiveFromClient(message),
      () => void this.end(null),
      fail,
    );
    this.#upstream.listen(
      (message) => this.#receiveFromUpstream(message),
      (code) => this.#upstreamClosed(code),
      fail,
    );
    const { settings, upstream } = this.parts;
    if (this.#isOfCall) return upstream.start();
    const session = { type: 'realtime', ...initialSettings(settings) };
    const event = readClientEvent(Buffer.from(JSON.stringify({ type: 'session.update', session })), this.#rules);
    this.#noteSettings(event);
    this.#upstream.send(JSON.stringify({ ...event.body, event_id: this.#settingsEventId }));
    upstream.start();
  }

  /** Ends the session at its time limits, and when a peer is gone. Call it about every second. */
  tick(nowMs: number): void {
    if (this.#isEnding) return;
    if (Date.now() >= this.parts.expiresAtMs) return void this.end(expired());
    if (nowMs - this.#activeAtMs >= REALTIME.idleMs && this.#responses.isIdle) return void this.end(expired());
    if (nowMs - this.#pingedAtMs < PING_MS) return;
    this.#pingedAtMs = nowMs;
    if (this.#client?.ping() === false) {
      this.#client.terminate();
      void this.end(null);
    } else if (!this.#upstream.ping()) this.#upstream.terminate();
  }

  /** Tells the client that the session ends soon, because the process stops. */
  announceEnd(withinMs: number): void {
    const event = { type: 'session.expired', event_id: newId('realtimeEvent'), closes_in_ms: withinMs };
    this.#client?.send(JSON.stringify(event));
  }

  /**
   * Ends the session once: cancels its responses, waits for their usage, and records them. The responses of a call go on
   * when the WebSocket of a client ends.
   *
   * @param reason sent to the client; null if the client left
   */
  async end(reason: ServiceError | null): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { requestId, upstream, log, model, hold, hangUp } = this.parts;
    if (reason !== null) {
      if (reason.code === 'internal_error') {
        log.error({ request_id: requestId, model: model.id, err: reason }, 'realtime session failed');
      }
      this.#client?.send(JSON.stringify(refusalEvent(reason, requestId)));
    }
    this.#client?.close(reason === null ? CLOSE.normal : closeCodeOf(reason), reason?.code ?? '');
    if (!this.#isIdle && this.#upstream.isOpen && hold !== null) await this.#drain();
    const isBroken = !this.#isIdle && this.#hasBrokenOff;
    if (isBroken) upstream.failed();
    await Promise.all([this.#responses.end(isBroken), this.#transcriptions.end(isBroken)]);
    await hangUp?.();
    this.#upstream.close(CLOSE.normal);
    this.#resolveEnded();
  }

  /** Whether client and upstream speak without Genway. */
  get #isCall(): boolean {
    return this.parts.client === null;
  }

  /** Whether the session is a call, or a client's WebSocket to one. */
  get #isOfCall(): boolean {
    return this.#isCall || this.parts.hold === null;
  }

  /** Whether the upstream owes no end of a response or transcription. */
  get #isIdle(): boolean {
    return this.#responses.isIdle && this.#transcriptions.isIdle;
  }

  get #rules(): SessionRules {
    const { id: model, outputTokenLimit: maxOutputTokens } = this.parts.model;
    const { models: transcriptions } = this.#transcriptions;
    return { model, maxOutputTokens, vendorAnswersSpeech: this.#isOfCall, transcriptions };
  }

  async #drain(): Promise<void> {
    for (const id of this.#responses.runningIds) this.#cancel(id);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, MAX_DRAIN_MS);
      this.#drained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** What the next response may use, with its own settings if it has any. */
  #bounds(maxOutputTokens = this.#maxOutputTokens, isSpoken = this.#isSpoken): ResponseBounds {
    const { tokens: prompt } = this.#prompt;
    if (this.#isCall) return boundsOfCall(this.parts.model, prompt);
    // The next prompts contain the speech.
    const hasAudioInput = this.#hasAudio;
    this.#hasAudio ||= isSpoken;
    return {
      maxOutputTokens,
      prompt,
      hasAudioInput,
      hasAudioOutput: isSpoken,
    };
  }

  #cancel(responseId: string): void {
    this.#upstream.send(JSON.stringify({ type: 'response.cancel', response_id: responseId }));
  }

  #receiveFromClient(message: Buffer): void | Promise<void> {
    if (this.#isEnding) return;
    this.#activeAtMs = performance.now();
    let event: ClientEvent;
    try {
      event = readClientEvent(message, this.#rules);
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error;
      this.#slowDown(message.length, 0);
      return this.#refuse(toServiceError(error.cause), error.eventId);
    }
    this.#slowDown(message.length, event.audioBytes);
    this.#noteSettings(event);
    if (event.type === 'response.create') return this.#createResponse(event);
    const { body, eventId, longAudio } = event;
    this.#sendToUpstream(eventId === null ? body : { ...body, event_id: eventId }, longAudio);
  }

  #refuse(error: ServiceError, clientEventId: string | null): void {
    this.#client?.send(JSON.stringify(refusalEvent(error, this.parts.requestId, clientEventId)), this.#client);
  }

  /** Reads on later from a client that sends faster than it may. */
  #slowDown(bytes: number, audioBytes: number): void {
    const audioSeconds = audioBytes / this.#audioBytesPerSecond;
    const waitMs = this.#pace.count({ audioSeconds, bytes }, performance.now());
    if (waitMs <= 0) return;
    this.#client?.pause(this.#pace);
    // Only the last wait counts: an earlier timer would let the client send on too early.
    clearTimeout(this.#slowTimer);
    this.#slowTimer = setTimeout(() => this.#client?.resume(this.#pace), Math.ceil(waitMs)).unref();
  }

  #noteSettings(event: ClientEvent): void {
    this.#prompt.add(event);
    const { type, checked } = event;
    if (type === 'input_audio_buffer.append') this.#transcriptions.hear(event.audioBytes / this.#audioBytesPerSecond);
    if (type === 'input_audio_buffer.clear') this.#transcriptions.clear();
    this.#hasAudio ||= AUDIO_EVENTS.has(type) && (event.audioBytes > 0 || hasAudioItem(event.body));
    if (type !== 'session.update' || checked === null) return;
    // Until the upstream confirms a lower bound, responses may reach the higher one.
    if (checked.maxOutputTokens !== undefined) {
      this.#maxOutputTokens = Math.max(this.#maxOutputTokens, checked.maxOutputTokens);
    }
    this.#isSpoken ||= checked.isSpoken ?? false;
    this.#answersSpeech = checked.answersSpeech ?? this.#answersSpeech;
    this.#transcriptions.request(checked.transcription);
    this.#audioBytesPerSecond = checked.audioBytesPerSecond ?? this.#audioBytesPerSecond;
  }

  async #createResponse({
    eventId: clientEventId,
    checked,
    longAudio,
  }: Pick<ClientEvent, 'eventId' | 'checked' | 'longAudio'>): Promise<void> {
    const eventId = newId('realtimeEvent');
    const bounds = this.#bounds(checked?.maxOutputTokens, checked?.isSpoken);
    let response: JsonObject;
    try {
      response = await this.#responses.request(eventId, clientEventId, checked?.settings ?? {}, bounds);
    } catch (error) {
      return this.#refuseResponse(toServiceError(error), clientEventId);
    }
    this.#sendToUpstream({ type: 'response.create', event_id: eventId, response }, longAudio);
  }

  #sendToUpstream(event: JsonObject, longAudio: LongAudio): void {
    this.#upstream.send(writeEvent(event, longAudio), this.#client ?? undefined);
  }

  /** Refuses a response for its money or rate. Without money, the session ends. */
  #refuseResponse(error: ServiceError, clientEventId: string | null): void {
    // The end waits for events of the upstream, which must not wait for the end.
    if (ENDING_CODES.has(error.code)) void this.end(error);
    else this.#refuse(error, clientEventId);
  }

  #receiveFromUpstream(message: Buffer): void | Promise<void> {
    // Vendors repeat long audio, which has no price here.
    if (message.length >= LARGE_BYTES && !this.#isCall && isItem(message)) return this.#sendToClient(message);
    const event = readUpstreamEvent(message);
    if (event === null) return;
    const responseId = stringOf(event['response_id'] ?? objectOf(event['response'])['id']);
    if (this.#refusedResponses.has(responseId)) return;
    if (this.#isCall) this.#checkCall(event);
    switch (event['type']) {
      case 'session.created':
      case 'session.updated':
        return this.#showSession(event);
      case 'input_audio_buffer.speech_started':
        this.#transcriptions.startSpeech();
        this.#prompt.startSpeech();
        return this.#sendToClient(message);
      case 'input_audio_buffer.speech_stopped':
        this.#hasSpeechEnded = true;
        return this.#sendToClient(message);
      case 'input_audio_buffer.committed':
        this.#sendToClient(message);
        return this.#takeSpeech(event);
      case 'conversation.item.input_audio_transcription.completed':
      case 'conversation.item.input_audio_transcription.failed':
        return this.#finishTranscription(event);
      case 'response.created':
        return this.#startResponse(event, responseId);
      case 'response.done':
        return this.#finishResponse(event);
      case 'error':
        return this.#showError(event);
      // The limits of the operator's account.
      case 'rate_limits.updated':
        return;
      default:
        this.#responses.count(event);
        this.#sendToClient(message);
    }
  }

  /** Holds the transcription of speech, and requests its response once Genway holds the money of both. */
  async #takeSpeech({ item_id: itemId }: JsonObject): Promise<void> {
    this.#prompt.commit();
    try {
      await this.#transcriptions.start(stringOf(itemId));
    } catch (error) {
      this.#hasSpeechEnded = false;
      return this.#refuseResponse(toServiceError(error), null);
    }
    const isDue = this.#hasSpeechEnded && this.#answersSpeech && !this.#isEnding && !this.#isOfCall;
    this.#hasSpeechEnded = false;
    if (isDue) await this.#createResponse({ eventId: null, checked: null, longAudio: NO_AUDIO });
  }

  #finishTranscription(event: JsonObject): void {
    this.#transcriptions.finish(event);
    this.#sendToClient(event['error'] === undefined ? event : showTranscriptionFailure(event));
    if (this.#isIdle) this.#drained?.();
  }

  #sendToClient(event: JsonObject | Buffer): void {
    if (this.#isEnding) return;
    this.#client?.send(Buffer.isBuffer(event) ? event : JSON.stringify(event), this.#upstream);
  }

  /** Undoes or ends what the client of a call requests from the upstream, and no client may request from Genway. */
  #checkCall(event: JsonObject): void {
    try {
      checkCallEvent(event);
    } catch (error) {
      void this.end(toServiceError(error));
    }
    const type = stringOf(event['type']);
    const input = { type, body: event, eventId: null, checked: null, audioBytes: 0, longAudio: NO_AUDIO };
    if (CALL_INPUT.has(type)) this.#prompt.add(input);
    if (!isTranscribing(event)) return;
    this.#corrections += 1;
    if (this.#corrections > MAX_CORRECTIONS) return void this.end(badRequest('The input must not be transcribed.'));
    this.#sendToUpstream({ type: 'session.update', session: WITHOUT_TRANSCRIPTION }, NO_AUDIO);
  }

  #showSession(event: JsonObject): void {
    const { session } = event;
    const { model, expiresAtMs } = this.parts;
    const { transcription } = objectOf(objectOf(objectOf(session)['audio'])['input']);
    if (transcription !== undefined) this.#transcriptions.confirm(stringOf(objectOf(transcription)['model']) || null);
    const shown = {
      ...event,
      session: showSession(session, {
        model: model.id,
        expiresAt: Math.floor(expiresAtMs / 1000),
        answersSpeech: this.parts.hold === null ? null : this.#answersSpeech,
        transcription: this.#transcriptions.modelId,
      }),
    };
    if (event['type'] === 'session.created' && this.parts.hold !== null) {
      this.#created = shown;
      return;
    }
    const { max_output_tokens: bound } = objectOf(session);
    const isBound = typeof bound === 'number' && bound >= 1 && bound <= model.outputTokenLimit;
    this.#maxOutputTokens = isBound ? bound : model.outputTokenLimit;
    this.#isSpoken = !isTextOnly(objectOf(session)['output_modalities']);
    if (this.#created === null) return this.#sendToClient(shown);
    this.#sendToClient({ ...this.#created, session: shown.session });
    this.#created = null;
  }

  async #startResponse(event: JsonObject, responseId: string): Promise<void> {
    const response = objectOf(event['response']);
    const bounds = this.#bounds();
    try {
      const refusal = await this.#responses.start(response, bounds);
      if (refusal !== null && !ANSWERED_CODES.has(refusal.code)) {
        this.#cancel(responseId);
        this.#refuseResponse(refusal, null);
      }
    } catch (error) {
      if (!this.#upstream.isOpen) return;
      this.#refusedResponses.add(responseId);
      this.#cancel(responseId);
      const { requestId, log, upstream } = this.parts;
      log.warn(
        { request_id: requestId, upstream: upstream.route.provider },
        'cancelled a response without money, for which the vendor may charge',
      );
      return this.#refuseResponse(toServiceError(error), null);
    }
    if (this.#isEnding) this.#cancel(responseId);
    this.#sendToClient({ ...event, response: withoutTag(response) });
  }

  async #finishResponse(event: JsonObject): Promise<void> {
    this.#activeAtMs = performance.now();
    const response = objectOf(event['response']);
    const finished = this.#responses.finish(response);
    if (finished !== null) {
      const { prompt, countedPrompt, outputTokens, outputAudioTokens } = finished;
      if (countedPrompt !== null) this.#prompt.replace(prompt, countedPrompt);
      this.#prompt.addOutput(outputTokens, outputAudioTokens);
    }
    this.#sendToClient({ ...event, response: showFailure(withoutTag(response)) });
    if (this.#isIdle) this.#drained?.();
    await this.#renewReserve();
  }

  /** After the reserve of a call has paid for a response, holds the next response. Without money, the call ends. */
  async #renewReserve(): Promise<void> {
    const { reserve } = this.parts;
    if (reserve === null || this.#responses.hasReserve || this.#isEnding) return;
    try {
      this.#responses.addReserve(await reserve.hold(this.#bounds()));
    } catch (error) {
      this.#refuseResponse(toServiceError(error), null);
    }
  }

  #showError(event: JsonObject): void | Promise<void> {
    const error = objectOf(event['error']);
    const { code, event_id: eventId } = error;
    if (code === 'session_expired') return this.end(expired());
    if (eventId === this.#settingsEventId) {
      return this.end(new ServiceError('bad_request', 'The model refused the settings that the session starts with.'));
    }
    const requested = this.#responses.refused(eventId);
    const clientEventId = requested === null ? stringOf(eventId) || null : requested.clientEventId;
    this.#sendToClient(showError(error, clientEventId, redact));
    if (this.#isIdle) this.#drained?.();
  }

  #upstreamClosed(code: number): void {
    this.#drained?.();
    // The vendor ends a call normally when its client leaves, even in a response.
    const hasClientLeft = code === CLOSE.normal && this.#isOfCall;
    this.#hasBrokenOff = !hasClientLeft;
    if (this.#isEnding) return;
    void this.end(
      this.#responses.isIdle || hasClientLeft ? (code === CLOSE.normal ? expired() : brokenOff()) : cutOff(),
    );
  }
}

/** The part of a vendor's message that a client may read. */
function redact(message: string): string {
  return redactVendorMessage(message, NO_FIELDS);
}

const NO_FIELDS: ReadonlySet<string> = new Set();

/** Events of an upstream that report what the prompts of a call contain. */
const CALL_INPUT: ReadonlySet<string> = new Set(['session.created', 'session.updated', 'conversation.item.added']);

/** A client that transcribes again and again ends its call. */
const MAX_CORRECTIONS = 10;

/** The audio of a call does not pass through Genway, so that only the model's own limits bound its responses. */
export function boundsOfCall({ maxInputTokens, outputTokenLimit }: TextModel, prompt: PromptTokens): ResponseBounds {
  return {
    maxOutputTokens: outputTokenLimit,
    prompt: { ...prompt, max: maxInputTokens },
    hasAudioInput: true,
    hasAudioOutput: true,
  };
}

/** Holds nothing: another session bills the responses. */
async function holdNothing(): Promise<ResponseHold> {
  return { settle: async () => undefined, release: () => undefined };
}

/** Events that may add audio to the conversation. */
const AUDIO_EVENTS: ReadonlySet<string> = new Set([
  'input_audio_buffer.append',
  'conversation.item.create',
  'response.create',
]);

/** Whether an item, or an input of a response, has audio or refers to an item that may have audio. */
function hasAudioItem(body: JsonObject): boolean {
  return /"type":"(?:input_audio|output_audio|audio|item_reference)"/.test(JSON.stringify(body));
}

/** Refusals of money and access, after which no response can follow. */
const ENDING_CODES: ReadonlySet<string> = new Set([
  'insufficient_credits',
  'invalid_api_key',
  'forbidden',
  'access_denied',
]);

/** Refusals of money, with which the reserve of a call pays for a whole response. */
const ANSWERED_CODES: ReadonlySet<string> = new Set(['insufficient_credits', 'processing_unavailable']);

/** The error of a session whose time is over. */
export function expired(): ServiceError {
  return new ServiceError('realtime_session_expired', 'The session has ended. Open a new one.');
}

function brokenOff(): ServiceError {
  return new ServiceError('processing_failed', 'The model ended the session; open a new one.');
}

/** The error of a session that the upstream ended in the middle of a response. */
function cutOff(): ServiceError {
  return new ServiceError('processing_timeout', 'The model ended the session before its response; open a new one.');
}

function closeCodeOf({ code, status }: ServiceError): number {
  if (code === 'realtime_session_expired') return CLOSE.goingAway;
  return status < 500 ? CLOSE.policy : CLOSE.failed;
}

/** A realtime session: passes events on between a client and an upstream, and bills the responses. */
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import type { TextModel, TextRoute } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { ServiceError, toServiceError } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import type { JsonObject } from '../../domain/json.ts';
import { REALTIME } from '../../domain/policy.ts';
import { redactVendorMessage } from '../../providers/text/vendor-message.ts';
import type { UpstreamSocket } from '../../providers/text/socket.ts';
import { type ClientEvent, readClientEvent, RefusedEventError } from '../../text/realtime/client-events.ts';
import { isTextOnly, USUAL_BYTES_PER_SECOND } from '../../text/realtime/settings.ts';
import {
  readUpstreamEvent,
  refusalEvent,
  showError,
  showFailure,
  showSession,
} from '../../text/realtime/upstream-events.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';
import { Pace } from './pace.ts';
import { Peer } from './peer.ts';
import { PromptBound } from './prompt-bound.ts';
import { type HoldResponse, type ResponseBounds, Responses, withoutTag } from './responses.ts';

/** An opened session. */
export interface SessionParts {
  readonly requestId: string;
  /** The current state of the key and its account. */
  caller: Caller;
  readonly model: TextModel;
  readonly client: WebSocket;
  readonly upstream: UpstreamSocket<TextRoute>;
  /** Settings of the client secret, which the session starts with; null for none. */
  readonly settings: JsonObject | null;
  /** By the clock of the upstreams' events, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  readonly hold: HoldResponse;
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
  readonly #client: Peer;
  readonly #upstream: Peer;
  readonly #responses: Responses;
  readonly #prompt: PromptBound;
  readonly #pace = new Pace(performance.now());
  #slowTimer: NodeJS.Timeout | undefined;
  #resolveEnded: () => void = () => undefined;
  /** The output bound of responses that set none. */
  #maxOutputTokens: number;
  /** Whether responses without own modalities may be spoken. */
  #isSpoken = true;
  /** Whether the conversation may have audio. */
  #hasAudio = false;
  #audioBytesPerSecond = USUAL_BYTES_PER_SECOND;
  /** The first event, while the settings of the secret are applied. */
  #created: JsonObject | null = null;
  readonly #settingsEventId = newId('realtimeEvent');
  /** Responses of voice activity whose hold was refused. */
  readonly #refusedResponses = new Set<string>();
  #isEnding = false;
  #drained: (() => void) | null = null;
  #activeAtMs = performance.now();
  #pingedAtMs = performance.now();

  constructor(parts: SessionParts) {
    this.parts = parts;
    const { model, upstream } = parts;
    const { provider, format, model: name } = upstream.route;
    this.#maxOutputTokens = model.outputTokenLimit;
    this.#prompt = new PromptBound(model.mediaTokens.image);
    this.#responses = new Responses({ provider, format, model: name }, parts.hold);
    this.#client = new Peer(parts.client);
    this.#upstream = new Peer(upstream.socket);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  start(): void {
    const fail = (error: unknown): void => void this.end(toServiceError(error));
    this.#client.listen(
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
    if (settings !== null) {
      const session = { type: 'realtime', ...settings };
      const event = readClientEvent(Buffer.from(JSON.stringify({ type: 'session.update', session })), this.#rules);
      this.#noteSettings(event);
      this.#upstream.send(JSON.stringify({ ...event.body, event_id: this.#settingsEventId }));
    }
    upstream.start();
  }

  /** Ends the session at its time limits, and when a peer is gone. Call it about every second. */
  tick(nowMs: number): void {
    if (this.#isEnding) return;
    if (Date.now() >= this.parts.expiresAtMs) return void this.end(expired());
    if (nowMs - this.#activeAtMs >= REALTIME.idleMs && this.#responses.isIdle) return void this.end(expired());
    if (nowMs - this.#pingedAtMs < PING_MS) return;
    this.#pingedAtMs = nowMs;
    if (!this.#client.ping()) {
      this.#client.terminate();
      void this.end(null);
    } else if (!this.#upstream.ping()) this.#upstream.terminate();
  }

  /** Tells the client that the session ends soon, because the process stops. */
  announceEnd(withinMs: number): void {
    const event = { type: 'session.expired', event_id: newId('realtimeEvent'), closes_in_ms: withinMs };
    this.#client.send(JSON.stringify(event));
  }

  /**
   * Ends the session once: cancels its responses, waits for their usage, and records them.
   *
   * @param reason sent to the client; null if the client left
   */
  async end(reason: ServiceError | null): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { requestId, upstream, log, model } = this.parts;
    if (reason !== null) {
      if (reason.code === 'internal_error') {
        log.error({ request_id: requestId, model: model.id, err: reason }, 'realtime session failed');
      }
      this.#client.send(JSON.stringify(refusalEvent(reason, requestId)));
    }
    this.#client.close(reason === null ? CLOSE.normal : closeCodeOf(reason), reason?.code ?? '');
    if (!this.#responses.isIdle && this.#upstream.isOpen) await this.#drain();
    const hasFailed = !this.#responses.isIdle && !this.#upstream.isOpen;
    if (hasFailed) upstream.failed();
    await this.#responses.end(hasFailed ? 'processing_failed' : null);
    this.#upstream.close(CLOSE.normal);
    this.#resolveEnded();
  }

  get #rules(): { readonly model: string; readonly maxOutputTokens: number } {
    const { id: model, outputTokenLimit: maxOutputTokens } = this.parts.model;
    return { model, maxOutputTokens };
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
    // The next prompts contain the speech.
    const hasAudioInput = this.#hasAudio;
    this.#hasAudio ||= isSpoken;
    return { maxOutputTokens, promptTokens: this.#prompt.tokens, hasAudioInput, hasAudioOutput: isSpoken };
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
      return this.#refuse(toServiceError(error.cause), error.eventId);
    }
    this.#slowDown(event);
    this.#noteSettings(event);
    if (event.type === 'response.create') return this.#createResponse(event);
    const { body, eventId } = event;
    this.#upstream.send(JSON.stringify(eventId === null ? body : { ...body, event_id: eventId }), this.#client);
  }

  #refuse(error: ServiceError, clientEventId: string | null): void {
    this.#client.send(JSON.stringify(refusalEvent(error, this.parts.requestId, clientEventId)), this.#client);
  }

  /** Reads on later from a client that sends faster than it may. */
  #slowDown({ audioBytes }: ClientEvent): void {
    const waitMs = this.#pace.count(audioBytes / this.#audioBytesPerSecond, performance.now());
    if (waitMs <= 0) return;
    this.#client.pause(this.#pace);
    // Only the last wait counts: an earlier timer would let the client send on too early.
    clearTimeout(this.#slowTimer);
    this.#slowTimer = setTimeout(() => this.#client.resume(this.#pace), Math.ceil(waitMs)).unref();
  }

  #noteSettings(event: ClientEvent): void {
    this.#prompt.add(event);
    const { type, checked } = event;
    this.#hasAudio ||= AUDIO_EVENTS.has(type) && (event.audioBytes > 0 || hasAudioItem(event.body));
    if (type !== 'session.update' || checked === null) return;
    // Until the upstream confirms a lower bound, responses may reach the higher one.
    if (checked.maxOutputTokens !== undefined) {
      this.#maxOutputTokens = Math.max(this.#maxOutputTokens, checked.maxOutputTokens);
    }
    this.#isSpoken ||= checked.isSpoken ?? false;
    this.#audioBytesPerSecond = checked.audioBytesPerSecond ?? this.#audioBytesPerSecond;
  }

  async #createResponse({ eventId: clientEventId, checked }: ClientEvent): Promise<void> {
    if (checked === null) return;
    const eventId = newId('realtimeEvent');
    const bounds = this.#bounds(checked.maxOutputTokens, checked.isSpoken);
    let response: JsonObject;
    try {
      response = await this.#responses.request(eventId, clientEventId, checked.settings, bounds);
    } catch (error) {
      return this.#refuseResponse(toServiceError(error), clientEventId);
    }
    this.#upstream.send(JSON.stringify({ type: 'response.create', event_id: eventId, response }), this.#client);
  }

  /** Refuses a response for its money or rate. Without money, the session ends. */
  #refuseResponse(error: ServiceError, clientEventId: string | null): void | Promise<void> {
    if (ENDING_CODES.has(error.code)) return this.end(error);
    this.#refuse(error, clientEventId);
  }

  #receiveFromUpstream(message: Buffer): void | Promise<void> {
    const event = readUpstreamEvent(message);
    if (event === null) return;
    const responseId = stringOf(event['response_id'] ?? objectOf(event['response'])['id']);
    if (this.#refusedResponses.has(responseId)) return;
    switch (event['type']) {
      case 'session.created':
      case 'session.updated':
        return this.#showSession(event);
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

  #sendToClient(event: JsonObject | Buffer): void {
    if (this.#isEnding) return;
    this.#client.send(Buffer.isBuffer(event) ? event : JSON.stringify(event), this.#upstream);
  }

  #showSession(event: JsonObject): void {
    const { session } = event;
    const { model, expiresAtMs, settings } = this.parts;
    const shown = {
      ...event,
      session: showSession(session, { model: model.id, expiresAt: Math.floor(expiresAtMs / 1000) }),
    };
    if (event['type'] === 'session.created') {
      if (settings === null) this.#sendToClient(shown);
      else this.#created = shown;
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
      await this.#responses.start(response, bounds);
    } catch (error) {
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

  #finishResponse(event: JsonObject): void {
    this.#activeAtMs = performance.now();
    const response = objectOf(event['response']);
    const finished = this.#responses.finish(response);
    if (finished !== null) {
      const { promptTokens, countedPrompt, outputTokens } = finished;
      if (countedPrompt !== null) this.#prompt.replace(promptTokens, countedPrompt);
      this.#prompt.addOutput(outputTokens);
    }
    this.#sendToClient({ ...event, response: showFailure(withoutTag(response)) });
    if (this.#responses.isIdle) this.#drained?.();
  }

  #showError(event: JsonObject): void | Promise<void> {
    const error = objectOf(event['error']);
    const { code, event_id: eventId } = error;
    if (code === 'session_expired') return this.end(expired());
    if (eventId === this.#settingsEventId) {
      return this.end(new ServiceError('bad_request', 'The model refused the settings of the client secret.'));
    }
    const requested = this.#responses.refused(eventId);
    const clientEventId = requested === null ? stringOf(eventId) || null : requested.clientEventId;
    this.#sendToClient(showError(error, clientEventId, redact));
    if (this.#responses.isIdle) this.#drained?.();
  }

  #upstreamClosed(code: number): void {
    this.#drained?.();
    if (this.#isEnding) return;
    const isNormal = code === CLOSE.normal && this.#responses.isIdle;
    void this.end(
      isNormal ? expired() : new ServiceError('processing_failed', 'The model ended the session; open a new one.'),
    );
  }
}

/** The part of a vendor's message that a client may read. */
function redact(message: string): string {
  return redactVendorMessage(message, NO_FIELDS);
}

const NO_FIELDS: ReadonlySet<string> = new Set();

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

/** The error of a session whose time is over. */
export function expired(): ServiceError {
  return new ServiceError('realtime_session_expired', 'The session has ended. Open a new one.');
}

function closeCodeOf({ code, status }: ServiceError): number {
  if (code === 'realtime_session_expired') return CLOSE.goingAway;
  return status < 500 ? CLOSE.policy : CLOSE.failed;
}

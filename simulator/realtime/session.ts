/**
 * A session of OpenAI's realtime protocol. The script of text decides what the model says, so the directives of text
 * work in instructions and messages: `say`, `tokens`, `prompt`, `cached`, `no_usage`, `tool`, `delay_ms`, `chunk_ms`,
 * `fail`, `drop_after` and `malformed_after`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { isObject, type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { Conversation, Entry, OfferedTool, ToolChoice } from '../text/conversation.ts';
import { newId } from '../text/format.ts';
import { promptOf, type Script, writeScript } from '../text/script.ts';
import { splitIntoPieces } from '../text/tokens.ts';
import { tone } from './tone.ts';
import { VoiceActivity } from './voice-activity.ts';

/** The usage of a finished response, for tests that compare the ledger with the vendor. */
export interface FinishedResponse {
  readonly model: string;
  readonly status: string;
  readonly usage: JsonObject | null;
}

const SESSION_SECONDS = 3_600;
const AUDIO_MS_PER_PIECE = 200;
const MS_PER_INPUT_TOKEN = 100;
const TRANSCRIPT_TOKENS = 4;
/** One of so many output tokens of speech is text, its transcript. */
const TOKENS_PER_TEXT_TOKEN = 5;

interface ActiveResponse {
  readonly id: string;
  readonly cancelled: AbortController;
}

type ReportFinished = (response: FinishedResponse) => void;

/** @param finished called for each response that ended */
export function startSession(socket: WebSocket, model: string, finished: ReportFinished): void {
  const session = new SimulatedSession(model, {}, finished);
  session.join(socket);
  socket.on('close', () => session.cancel());
}

/** A session with any number of connections, which all get its events and control it. */
export class SimulatedSession {
  readonly #sockets = new Set<WebSocket>();
  readonly #model: string;
  readonly #finished: ReportFinished;
  /** Whether the speech of responses goes over media, and not in events. */
  readonly #isCall: boolean;
  readonly #items: JsonObject[] = [];
  readonly #voice = new VoiceActivity();
  #session: JsonObject;
  #active: ActiveResponse | null = null;

  /** @param settings the settings that the session starts with */
  constructor(model: string, settings: JsonObject, finished: ReportFinished, isCall = false) {
    this.#model = model;
    this.#finished = finished;
    this.#isCall = isCall;
    this.#session = {
      type: 'realtime',
      object: 'realtime.session',
      id: newId('sess_'),
      model,
      output_modalities: ['audio'],
      instructions: '',
      tools: [],
      tool_choice: 'auto',
      max_output_tokens: 'inf',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: null,
          turn_detection: { type: 'server_vad' },
        },
        output: { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'alloy' },
      },
      expires_at: Math.floor(Date.now() / 1000) + SESSION_SECONDS,
    };
    this.#change(settings);
  }

  join(socket: WebSocket): void {
    this.#sockets.add(socket);
    socket.on('message', (data: Buffer) => this.#receive(data.toString()));
    socket.on('close', () => this.#sockets.delete(socket));
    socket.send(render('session.created', { session: this.#session }));
  }

  /** Cancels the response in progress. */
  cancel(): void {
    this.#active?.cancelled.abort();
  }

  /** Closes all connections. */
  end(): void {
    this.cancel();
    for (const socket of this.#sockets) socket.close(1000);
  }

  /** Breaks off all connections. */
  #breakOff(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  #send(type: string, fields: JsonObject): void {
    this.#sendText(render(type, fields));
  }

  #sendText(text: string): void {
    for (const socket of this.#sockets) socket.send(text);
  }

  #sendPlayback(event: 'started' | 'stopped' | 'cleared', responseId: string): void {
    if (this.#isCall) this.#send(`output_audio_buffer.${event}`, { response_id: responseId });
  }

  #refuse(message: string, code: string, eventId: unknown): void {
    const error = { type: 'invalid_request_error', code, message, param: null, event_id: eventId ?? null };
    this.#send('error', { error });
  }

  #receive(text: string): void {
    let event: unknown;
    try {
      event = JSON.parse(text);
    } catch {
      return this.#refuse('The event is not valid JSON.', 'invalid_json', null);
    }
    if (!isObject(event)) return this.#refuse('The event must be an object.', 'invalid_json', null);
    const { type, event_id: eventId } = event;
    switch (type) {
      case 'session.update':
        return this.#update(event);
      case 'input_audio_buffer.append':
        return this.#append(stringOf(event['audio']));
      case 'input_audio_buffer.commit':
        if (this.#voice.heardMs === 0) {
          const message = 'Error committing input audio buffer: buffer too small.';
          return this.#refuse(message, 'input_audio_buffer_commit_empty', eventId);
        }
        return this.#commit();
      case 'input_audio_buffer.clear':
        this.#voice.clear();
        return this.#send('input_audio_buffer.cleared', {});
      case 'conversation.item.create':
        return this.#createItem(objectOf(event['item']), eventId);
      case 'conversation.item.delete':
        return this.#send('conversation.item.deleted', { item_id: event['item_id'] });
      case 'conversation.item.truncate':
        return this.#send('conversation.item.truncated', {
          item_id: event['item_id'],
          content_index: event['content_index'],
          audio_end_ms: event['audio_end_ms'],
        });
      case 'response.create':
        return this.#createResponse(objectOf(event['response']), eventId);
      case 'response.cancel':
        if (this.#active === null) {
          return this.#refuse('Cancellation failed: no active response found', 'response_cancel_not_active', eventId);
        }
        return this.#active.cancelled.abort();
      default:
        return this.#refuse(`Invalid value: '${String(type)}'.`, 'invalid_value', eventId);
    }
  }

  #update({ session: given }: JsonObject): void {
    this.#change(objectOf(given));
    this.#send('session.updated', { session: this.#session });
  }

  #change(changes: JsonObject): void {
    const audio = objectOf(changes['audio']);
    const before = objectOf(this.#session['audio']);
    const merged = (part: string): JsonObject => ({ ...Object(before[part]), ...Object(audio[part]) });
    this.#session = { ...this.#session, ...changes, audio: { input: merged('input'), output: merged('output') } };
  }

  get #turnDetection(): JsonObject | null {
    const input = objectOf(objectOf(this.#session['audio'])['input']);
    return isObject(input['turn_detection']) ? input['turn_detection'] : null;
  }

  #append(base64: string): void {
    const change = this.#voice.hear(Buffer.from(base64, 'base64'));
    const detection = this.#turnDetection;
    if (detection === null || change === null) return;
    if (change === 'started') {
      this.#send('input_audio_buffer.speech_started', { audio_start_ms: 0, item_id: newId('item_') });
      if (detection['interrupt_response'] !== false) this.#active?.cancelled.abort();
      return;
    }
    this.#send('input_audio_buffer.speech_stopped', { audio_end_ms: this.#voice.heardMs, item_id: newId('item_') });
    this.#commit();
    if (detection['create_response'] !== false) this.#createResponse({}, null);
  }

  #commit(): void {
    const heardMs = this.#voice.heardMs;
    this.#voice.clear();
    const itemId = newId('item_');
    this.#send('input_audio_buffer.committed', { item_id: itemId, previous_item_id: null });
    this.#addItem({
      id: itemId,
      type: 'message',
      role: 'user',
      content: [{ type: 'input_audio', transcript: `${heardMs} ms of speech`, heard_ms: heardMs }],
    });
    this.#transcribe(itemId, heardMs);
  }

  /** Models with `mini` in their names report tokens, others seconds, as those of recordings do. */
  #transcribe(itemId: string, heardMs: number): void {
    const { transcription } = objectOf(objectOf(this.#session['audio'])['input']);
    if (!isObject(transcription)) return;
    const model = stringOf(transcription['model']);
    const audioTokens = Math.ceil(heardMs / MS_PER_INPUT_TOKEN);
    const usage = model.includes('mini')
      ? {
          type: 'tokens',
          total_tokens: audioTokens + TRANSCRIPT_TOKENS,
          input_tokens: audioTokens,
          input_token_details: { text_tokens: 0, audio_tokens: audioTokens },
          output_tokens: TRANSCRIPT_TOKENS,
        }
      : { type: 'duration', seconds: heardMs / 1000 };
    this.#send('conversation.item.input_audio_transcription.completed', {
      item_id: itemId,
      content_index: 0,
      transcript: `${heardMs} ms of speech`,
      usage,
    });
  }

  /** Refuses the result of a call that is not in the conversation. */
  #createItem(item: JsonObject, eventId: unknown): void {
    const { type, call_id: callId } = item;
    const isKnown = this.#items.some((one) => one['type'] === 'function_call' && one['call_id'] === callId);
    if (type !== 'function_call_output' || isKnown) return this.#addItem(item);
    this.#refuse(`Tool call ID '${String(callId)}' not found in conversation.`, 'invalid_tool_call_id', eventId);
  }

  #addItem(given: JsonObject): void {
    const item = { id: newId('item_'), object: 'realtime.item', status: 'completed', ...given };
    this.#items.push(item);
    this.#send('conversation.item.added', { item, previous_item_id: null });
    this.#send('conversation.item.done', { item, previous_item_id: null });
  }

  #createResponse(settings: JsonObject, eventId: unknown): void {
    if (this.#active !== null) {
      return this.#refuse(
        'Conversation already has an active response in progress. Wait until the response is finished.',
        'conversation_already_has_active_response',
        eventId,
      );
    }
    const active = { id: newId('resp_'), cancelled: new AbortController() };
    this.#active = active;
    void this.#respond(active, { ...this.#session, ...settings }, settings).catch(() => this.#breakOff());
  }

  async #respond({ id, cancelled }: ActiveResponse, settings: JsonObject, given: JsonObject): Promise<void> {
    const isOutOfBand = given['conversation'] === 'none';
    const shown = {
      id,
      object: 'realtime.response',
      conversation_id: isOutOfBand ? null : 'conv_1',
      metadata: given['metadata'] ?? null,
      output_modalities: settings['output_modalities'],
      max_output_tokens: settings['max_output_tokens'],
    };
    this.#send('response.created', { response: { ...shown, status: 'in_progress', output: [], usage: null } });
    const items = Array.isArray(given['input']) ? given['input'].filter(isObject) : this.#items;
    const conversation = toConversation(this.#model, settings, items);
    const prompt = promptOf(conversation);
    const script = writeScript(conversation, prompt, 0);
    const done = (status: string, output: readonly JsonObject[], details: JsonObject | null, hasUsage = true): void => {
      const usage = hasUsage ? usageOf(script, items, isSpoken(settings)) : null;
      this.#active = null;
      this.#finished({ model: this.#model, status, usage });
      this.#send('response.done', { response: { ...shown, status, status_details: details, output, usage } });
      this.#send('rate_limits.updated', { rate_limits: [{ name: 'tokens', limit: 40_000, remaining: 39_000 }] });
    };
    await sleep(script.faults.delayMs, undefined, { signal: cancelled.signal }).catch(() => undefined);
    if (script.faults.failure !== null) {
      return done('failed', [], { type: 'failed', error: { type: 'server_error', code: 'server_error' } }, false);
    }
    const keep = (item: JsonObject): void => {
      if (!isOutOfBand) this.#items.push(item);
    };
    const output = await this.#sendOutput(id, script, isSpoken(settings), { signal: cancelled.signal, keep });
    if (output === null) return;
    if (cancelled.signal.aborted) return done('cancelled', output, { type: 'cancelled', reason: 'turn_detected' });
    if (script.finish.reason === 'length') {
      return done('incomplete', output, { type: 'incomplete', reason: 'max_output_tokens' });
    }
    done('completed', output, null);
  }

  /**
   * @param keep adds an item to the conversation before the client gets it, since the client may answer a call at once
   * @returns null if the connection was broken off
   */
  async #sendOutput(
    responseId: string,
    { text, calls, faults }: Script,
    spoken: boolean,
    { signal, keep }: { readonly signal: AbortSignal; readonly keep: (item: JsonObject) => void },
  ): Promise<readonly JsonObject[] | null> {
    const output: JsonObject[] = [];
    const finish = (item: JsonObject): JsonObject => {
      output.push(item);
      keep(item);
      return item;
    };
    let chunks = 0;
    const pace = async (): Promise<boolean> => {
      if (faults.dropAfter !== null && chunks >= faults.dropAfter) {
        this.#breakOff();
        return false;
      }
      if (faults.malformedAfter === chunks) this.#sendText('{"type":');
      chunks += 1;
      if (faults.chunkMs > 0) await sleep(faults.chunkMs, undefined, { signal }).catch(() => undefined);
      return true;
    };
    if (text.length > 0) {
      const item = { id: newId('item_'), object: 'realtime.item', type: 'message', role: 'assistant' };
      const at = { response_id: responseId, item_id: item.id, output_index: output.length, content_index: 0 };
      this.#send('response.output_item.added', { ...at, item: { ...item, status: 'in_progress', content: [] } });
      this.#send('response.content_part.added', { ...at, part: { type: spoken ? 'audio' : 'text' } });
      if (spoken) this.#sendPlayback('started', responseId);
      for (const piece of text) {
        if (signal.aborted) break;
        if (!(await pace())) return null;
        if (spoken) {
          this.#send('response.output_audio_transcript.delta', { ...at, delta: piece });
          if (!this.#isCall) this.#send('response.output_audio.delta', { ...at, delta: tone(AUDIO_MS_PER_PIECE) });
        } else this.#send('response.output_text.delta', { ...at, delta: piece });
      }
      const whole = text.join('');
      if (spoken) {
        this.#sendPlayback(signal.aborted ? 'cleared' : 'stopped', responseId);
        this.#send('response.output_audio.done', at);
        this.#send('response.output_audio_transcript.done', { ...at, transcript: whole });
      } else this.#send('response.output_text.done', { ...at, text: whole });
      const part = spoken ? { type: 'output_audio', transcript: whole } : { type: 'output_text', text: whole };
      this.#send('response.content_part.done', { ...at, part });
      const finished = finish({ ...item, status: 'completed', content: [part] });
      this.#send('response.output_item.done', { ...at, item: finished });
    }
    for (const call of calls) {
      if (signal.aborted) break;
      const callId = newId('call_');
      const item = {
        id: newId('item_'),
        object: 'realtime.item',
        type: 'function_call',
        name: call.name,
        call_id: callId,
      };
      const at = { response_id: responseId, item_id: item.id, output_index: output.length, call_id: callId };
      this.#send('response.output_item.added', { ...at, item: { ...item, status: 'in_progress', arguments: '' } });
      for (const delta of splitIntoPieces(call.arguments)) {
        if (!(await pace())) return null;
        this.#send('response.function_call_arguments.delta', { ...at, delta });
      }
      const finished = finish({ ...item, status: 'completed', arguments: call.arguments });
      this.#send('response.function_call_arguments.done', { ...at, name: call.name, arguments: call.arguments });
      this.#send('response.output_item.done', { ...at, item: finished });
    }
    return (await pace()) ? output : null;
  }
}

function render(type: string, fields: JsonObject): string {
  return JSON.stringify({ type, event_id: newId('event_'), ...fields });
}

function isSpoken({ output_modalities: modalities }: JsonObject): boolean {
  return !Array.isArray(modalities) || modalities.includes('audio');
}

function usageOf({ usage }: Script, items: readonly JsonObject[], spoken: boolean): JsonObject | null {
  if (usage === null) return null;
  const heardMs = items
    .flatMap((item) => listOf(item['content']).filter(isObject))
    .reduce((sum, part) => sum + Number(part['heard_ms'] ?? 0), 0);
  const inputAudio = Math.min(Math.ceil(heardMs / MS_PER_INPUT_TOKEN), usage.input);
  const outputAudio = spoken ? usage.output - Math.floor(usage.output / TOKENS_PER_TEXT_TOKEN) : 0;
  return {
    total_tokens: usage.input + usage.output,
    input_tokens: usage.input,
    output_tokens: usage.output,
    input_token_details: {
      text_tokens: usage.input - inputAudio,
      audio_tokens: inputAudio,
      image_tokens: 0,
      cached_tokens: usage.cached,
      cached_tokens_details: { text_tokens: usage.cached, audio_tokens: 0, image_tokens: 0 },
    },
    output_token_details: { text_tokens: usage.output - outputAudio, audio_tokens: outputAudio },
  };
}

function toConversation(model: string, settings: JsonObject, items: readonly JsonObject[]): Conversation {
  const { max_output_tokens: bound, tool_choice: choice } = settings;
  return {
    model,
    stream: true,
    entries: [
      { kind: 'text', role: 'system', text: stringOf(settings['instructions']), mediaCount: 0 },
      ...items.flatMap(toEntry),
    ],
    tools: listOf(settings['tools']).filter(isObject).map(toTool),
    toolChoice: toToolChoice(choice),
    parallelCalls: true,
    maxOutputTokens: typeof bound === 'number' ? bound : undefined,
    stopSequences: [],
    reasoningAllowed: false,
    answerSchema: undefined,
    choiceCount: 1,
  };
}

function toTool(tool: JsonObject): OfferedTool {
  return { name: stringOf(tool['name']), description: stringOf(tool['description']), schema: tool['parameters'] };
}

function toToolChoice(choice: unknown): ToolChoice {
  if (choice === 'none' || choice === 'required') return choice;
  return isObject(choice) && typeof choice['name'] === 'string' ? { name: choice['name'] } : 'auto';
}

function toEntry(item: JsonObject): readonly Entry[] {
  if (item['type'] === 'function_call') {
    return [
      {
        kind: 'call',
        id: stringOf(item['call_id']),
        name: stringOf(item['name']),
        arguments: stringOf(item['arguments']),
      },
    ];
  }
  if (item['type'] === 'function_call_output') {
    return [
      { kind: 'result', callId: stringOf(item['call_id']), name: null, text: stringOf(item['output']), mediaCount: 0 },
    ];
  }
  const { role } = item;
  const text = listOf(item['content'])
    .filter(isObject)
    .map((part) => stringOf(part['text']) || stringOf(part['transcript']))
    .join(' ');
  return [{ kind: 'text', role: role === 'assistant' || role === 'system' ? role : 'user', text, mediaCount: 0 }];
}

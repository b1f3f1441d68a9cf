/**
 * The hard cases of converting between formats, each by its rule: what one service sends, what a client of another needs.
 * The tests of the single formats hold the details; these hold the way through both.
 */
import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { StreamEvent, Turn } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { arrayOf, objectOf, stringOf } from '../../text/upstream-errors.ts';
import type { ParseContext } from '../../text/wire-format.ts';
import {
  answerOfStream,
  eventsOfText,
  fromBytes,
  renderContext,
  streamedTo,
  textRequest,
  throughJson,
} from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const question = { role: 'user', content: 'Hello' };

/** The frames of some event data, each under the name that its type is. */
function frames(...events: readonly JsonObject[]): string {
  return events
    .map((event) => encodeEvent(JSON.stringify(event), typeof event['type'] === 'string' ? event['type'] : null))
    .join('');
}

/** A chunk of a chat completion with one choice. */
function chunk(delta: JsonObject, finishReason: string | null = null, rest: JsonObject = {}): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason: finishReason }], ...rest };
}

function toolDelta(
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  args: string,
): JsonObject {
  return chunk({ tool_calls: [{ ...(index !== undefined && { index }), id, function: { name, arguments: args } }] });
}

interface StreamOptions {
  readonly meter?: Meter;
  readonly request?: Parameters<typeof textRequest>[0];
}

/** The text that a client gets for an upstream's stream, in reads of a few bytes. */
function streamThrough(
  from: WireFormatName,
  to: WireFormatName,
  stream: string,
  { meter = new Meter(), request = {} }: StreamOptions = {},
): string {
  const context = renderContext(request);
  const plan = planConversion(FORMATS[to], FORMATS[from], context.request, options, meter);
  const bytes = new TextEncoder().encode(stream);
  const reads = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) =>
    bytes.slice(index * 7, index * 7 + 7),
  );
  return runStage(reads, fromBytes(plan.convertStream(context))).join('');
}

/** The data of the events that a client gets. */
function eventsThrough(...parameters: Parameters<typeof streamThrough>): JsonObject[] {
  return eventsOfText(streamThrough(...parameters))
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as JsonObject);
}

/** The body that a client gets for an upstream's whole answer. */
function wholeThrough(
  from: WireFormatName,
  to: WireFormatName,
  body: unknown,
  request: StreamOptions['request'] = {},
): unknown {
  const context = renderContext(request);
  const plan = planConversion(FORMATS[to], FORMATS[from], context.request, options, new Meter());
  return throughJson(plan.convertResult(body, context));
}

const address: ParseContext = { address: { model: 'm', stream: false } };

/** What an upstream is sent for a client's body. */
function sentThrough(from: WireFormatName, to: WireFormatName, body: JsonObject): JsonObject {
  const fields = from === 'generate-content' ? body : { model: 'm', ...body };
  const request = FORMATS[from].client.parseRequest(fields, from === 'generate-content' ? address : {});
  return objectOf(
    throughJson(planConversion(FORMATS[from], FORMATS[to], request, options, new Meter()).upstreamRequest.body),
  );
}

function typesOf(events: readonly JsonObject[]): unknown[] {
  return events.map(({ type }) => type);
}

/** The arguments and ids of the tool calls in a streamed chat completion. */
function chatCalls(events: readonly JsonObject[]): JsonObject[] {
  const calls: { id: string; arguments: string }[] = [];
  for (const { choices } of events as {
    choices: { delta: { tool_calls?: { index: number; id?: string; function: { arguments?: string } }[] } }[];
  }[]) {
    for (const call of choices[0]?.delta.tool_calls ?? []) {
      calls[call.index] ??= { id: call.id ?? '', arguments: '' };
      const known = calls[call.index];
      if (known) known.arguments += call.function.arguments ?? '';
    }
  }
  return calls;
}

/** The upstreams of each format and the two calls that they make of one tool, as sloppily as each is known to. */
const SLOPPY_CALLS: readonly (readonly [WireFormatName, string])[] = [
  [
    'messages',
    frames(
      ...[0, 0].flatMap((index) => [
        { type: 'content_block_start', index, content_block: { type: 'tool_use', id: 'same', name: 'look' } },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  ],
  [
    'responses',
    frames({
      type: 'response.completed',
      response: {
        output: [0, 1].map(() => ({ type: 'function_call', call_id: 'same', name: 'look', arguments: '' })),
      },
    }),
  ],
  [
    'generate-content',
    frames(
      ...[0, 1].map(() => ({
        candidates: [{ content: { parts: [{ functionCall: { name: 'look' } }] }, finishReason: 'STOP' }],
      })),
    ),
  ],
];

/** The same conversation in each format: two calls, their results in the other order, an image between two texts. */
const CONVERSATIONS: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': {
    messages: [
      question,
      {
        role: 'assistant',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
          { id: 'b', type: 'function', function: { name: 'wait', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'b', content: 'waited' },
      { role: 'tool', tool_call_id: 'a', content: 'seen' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'before' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'text', text: 'after' },
        ],
      },
    ],
  },
  responses: {
    input: [
      question,
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call', call_id: 'b', name: 'wait', arguments: '{}' },
      { type: 'function_call_output', call_id: 'b', output: 'waited' },
      { type: 'function_call_output', call_id: 'a', output: 'seen' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'before' },
          { type: 'input_image', image_url: 'data:image/png;base64,QUJD' },
          { type: 'input_image', image_url: 'https://example.com/a.png' },
          { type: 'input_text', text: 'after' },
        ],
      },
    ],
  },
  messages: {
    max_tokens: 99,
    messages: [
      question,
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
          { type: 'tool_use', id: 'b', name: 'wait', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'b', content: 'waited' },
          { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'seen' }] },
          { type: 'text', text: 'before' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'text', text: 'after' },
        ],
      },
    ],
  },
  'generate-content': {
    contents: [
      { role: 'user', parts: [{ text: 'Hello' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'look', args: { at: 1 } } },
          { functionCall: { id: 'b', name: 'wait' } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'b', name: 'wait', response: { output: 'waited' } } },
          { functionResponse: { id: 'a', name: 'look', response: { output: 'seen' } } },
          { text: 'before' },
          { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
          { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
          { text: 'after' },
        ],
      },
    ],
  },
};

/** What an upstream reads in what it is sent: a line for each part of each turn. */
function readBy(format: WireFormatName, body: JsonObject): string[] {
  const { turns } = FORMATS[format].client.parseRequest(body, format === 'generate-content' ? address : {});
  return turns.flatMap(({ parts }) => parts.map(lineOf));
}

function lineOf(part: Turn['parts'][number]): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.text;
  if (part.type === 'tool-call') return `call ${part.callId} ${part.name} ${part.arguments}`;
  if (part.type === 'tool-result') return `result ${part.callId} ${part.content.map(lineOf).join()}`;
  return part.source.kind === 'url' ? part.source.url : part.source.data;
}

/** The tool calls that a client of a format reads in a stream. */
function callsReadBy(format: WireFormatName, stream: string): { callId: string; arguments: string }[] {
  return (answerOfStream(FORMATS[format], stream).choices[0]?.parts ?? []).flatMap((part) =>
    part.type === 'tool-call' ? [{ callId: part.callId, arguments: part.arguments }] : [],
  );
}

const twoCalls = [
  toolDelta(0, 'a', 'look', '{"at":'),
  toolDelta(1, 'b', 'wait', '{"for":'),
  toolDelta(0, undefined, undefined, '1}'),
  toolDelta(1, undefined, undefined, '2}'),
  chunk({}, 'tool_calls'),
];

const chatCallHistory = [
  question,
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
      { id: 'b', type: 'function', function: { name: 'wait', arguments: '{}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'b', content: 'waited' },
  { role: 'tool', tool_call_id: 'a', content: 'seen' },
];

describe('conversion between formats', () => {
  it('interleaved tool calls: a messages client gets one block after the other, each whole', () => {
    const events = eventsThrough('chat-completions', 'messages', frames(...twoCalls));
    const blocks = events.filter(({ index }) => index !== undefined);
    let open: unknown = null;
    const inputs: Record<string, string> = {};
    for (const { type, index, delta } of blocks) {
      if (type === 'content_block_start') {
        expect(open).to.equal(null);
        open = index;
      }
      expect(index).to.equal(open);
      if (type === 'content_block_stop') open = null;
      const text = objectOf(delta)['partial_json'];
      if (typeof text === 'string') inputs[String(index)] = (inputs[String(index)] ?? '') + text;
    }
    expect(inputs).to.deep.equal({ 0: '{"at":1}', 1: '{"for":2}' });
  });

  for (const client of WIRE_FORMAT_NAMES) {
    it(`interleaved tool calls: a client of ${client} reads each whole`, () => {
      const stream = streamThrough('chat-completions', client, frames(...twoCalls));
      expect(callsReadBy(client, stream)).to.deep.equal([
        { callId: 'a', arguments: '{"at":1}' },
        { callId: 'b', arguments: '{"for":2}' },
      ]);
    });

    for (const [upstream, sloppy] of SLOPPY_CALLS) {
      it(`sloppy calls of an upstream of ${upstream}: a client of ${client} reads two, with ids and arguments, and one end`, () => {
        const stream = streamThrough(upstream, client, sloppy);
        const calls = callsReadBy(client, stream);
        expect(calls.map((call) => call.arguments)).to.deep.equal(['{}', '{}']);
        expect(new Set(calls.map(({ callId }) => callId).filter(Boolean)).size).to.equal(2);
        const endings =
          /"finish_reason":"tool_calls"|event: response.completed|"stop_reason":"tool_use"|"finishReason":"STOP"/g;
        expect(stream.match(endings)).to.have.length(1);
      });
    }

    for (const upstream of WIRE_FORMAT_NAMES) {
      it(`a conversation in ${client}: an upstream of ${upstream} reads results in the order of the calls, and images in place`, () => {
        const lines = readBy(upstream, sentThrough(client, upstream, CONVERSATIONS[client]));
        expect(lines).to.deep.equal([
          'Hello',
          'call a look {"at":1}',
          'call b wait {}',
          'result a seen',
          'result b waited',
          'before',
          'QUJD',
          'https://example.com/a.png',
          'after',
        ]);
      });
    }
  }

  it('tool calls that all have index 0, no index or no ids get their own ids', () => {
    const streams = [
      [toolDelta(0, 'a', 'look', '{}'), toolDelta(0, 'b', 'look', '{}')],
      [toolDelta(undefined, undefined, 'look', '{}'), toolDelta(undefined, undefined, 'wait', '{}')],
      [toolDelta(0, '', 'look', '{}'), toolDelta(1, '', 'look', '{}')],
      [toolDelta(0, 'same', 'look', '{}'), toolDelta(1, 'same', 'look', '{}')],
    ];
    for (const deltas of streams) {
      const events = eventsThrough('chat-completions', 'messages', frames(...deltas, chunk({}, 'tool_calls')));
      const ids = events.flatMap(({ content_block: block }) => objectOf(block)['id'] ?? []);
      expect(new Set(ids).size).to.equal(2);
      expect(ids).to.not.include('');
    }
  });

  it('tool results are paired with their calls, not with their places', () => {
    const messages = sentThrough('chat-completions', 'messages', { messages: chatCallHistory })['messages'];
    expect(messages)
      .to.have.nested.property('[2].content')
      .that.containSubset([
        { type: 'tool_result', tool_use_id: 'a' },
        { type: 'tool_result', tool_use_id: 'b' },
      ]);
    expect(messages).to.have.lengthOf(3);
    const contents = sentThrough('chat-completions', 'generate-content', { messages: chatCallHistory })['contents'];
    expect(contents)
      .to.have.nested.property('[2].parts')
      .that.containSubset([{ functionResponse: { name: 'look' } }, { functionResponse: { name: 'wait' } }]);
    const back = sentThrough('messages', 'chat-completions', {
      max_tokens: 9,
      messages: [
        question,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'And?' },
            { type: 'tool_result', tool_use_id: 'a', content: 'seen' },
          ],
        },
      ],
    });
    expect((back['messages'] as JsonObject[]).map(({ role }) => role)).to.deep.equal([
      'user',
      'assistant',
      'tool',
      'user',
    ]);
  });

  it('native calls have no id: one is made, and their names are looked up when results come back', () => {
    const parts = ['look', 'look'].map((name) => ({ functionCall: { name, args: {} } }));
    const body = { candidates: [{ content: { parts }, finishReason: 'STOP' }] };
    const answer = objectOf(wholeThrough('generate-content', 'chat-completions', body));
    const { message } = (answer['choices'] as { message: { tool_calls: { id: string }[] } }[])[0] ?? {};
    const ids = message?.tool_calls.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).to.equal(2);
    const results = ids.map((id, index) => ({ role: 'tool', tool_call_id: id, content: `seen ${index}` }));
    const sent = sentThrough('chat-completions', 'generate-content', { messages: [question, message, ...results] });
    expect(JSON.stringify(sent['contents'])).to.match(
      /"name":"look".*"name":"look".*"name":"look".*seen 0.*"name":"look".*seen 1/,
    );
  });

  it('thought signatures survive clients that have no field for them, and are waived when they are lost', () => {
    const part = { functionCall: { name: 'look', args: {} }, thoughtSignature: 'c2lnbmF0dXJl' };
    const body = { candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] };
    const answer = objectOf(wholeThrough('generate-content', 'chat-completions', body));
    const { message } = (answer['choices'] as { message: { tool_calls: { id: string }[] } }[])[0] ?? {};
    const result = { role: 'tool', tool_call_id: message?.tool_calls[0]?.id, content: 'seen' };
    const sent = sentThrough('chat-completions', 'generate-content', { messages: [question, message, result] });
    expect(sent).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'c2lnbmF0dXJl');
    const { content: blocks } = objectOf(wholeThrough('generate-content', 'messages', body));
    const answered = { role: 'assistant', content: blocks };
    const fromMessages = sentThrough('messages', 'generate-content', { max_tokens: 9, messages: [question, answered] });
    expect(fromMessages).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'c2lnbmF0dXJl');
    const { output } = objectOf(wholeThrough('generate-content', 'responses', body));
    const fromResponses = sentThrough('responses', 'generate-content', { input: [question, ...arrayOf(output)] });
    expect(fromResponses).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'c2lnbmF0dXJl');
    const lost = sentThrough('chat-completions', 'generate-content', { messages: chatCallHistory });
    expect(lost).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'skip_thought_signature_validator');
  });

  it('a tool without arguments has an empty object, whether the upstream sent nothing, "" or {}', () => {
    for (const deltas of [[toolDelta(0, 'a', 'look', '')], [toolDelta(0, 'a', 'look', '{}')]]) {
      const stream = frames(...deltas, chunk({}, 'tool_calls'));
      expect(chatCalls(eventsThrough('chat-completions', 'chat-completions', stream))).to.deep.equal([
        { id: 'a', arguments: '{}' },
      ]);
    }
    const silent = frames(
      { type: 'message_start', message: { id: 'm', usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    );
    expect(chatCalls(eventsThrough('messages', 'chat-completions', silent))).to.deep.equal([
      { id: 'a', arguments: '{}' },
    ]);
  });

  it('a stop with tool calls becomes a tool stop, and a tool stop without calls a stop', () => {
    const beside = frames(toolDelta(0, 'a', 'look', '{}'), chunk({}, 'stop'));
    expect(streamThrough('chat-completions', 'messages', beside)).to.contain('"stop_reason":"tool_use"');
    const without = frames(chunk({ content: 'Hi' }), chunk({}, 'tool_calls'));
    expect(streamThrough('chat-completions', 'messages', without)).to.contain('"stop_reason":"end_turn"');
    const parts = [{ functionCall: { name: 'look', args: {} } }];
    const native = frames({ candidates: [{ content: { parts }, finishReason: 'STOP' }] });
    expect(streamThrough('generate-content', 'chat-completions', native)).to.contain('"finish_reason":"tool_calls"');
  });

  it('an answer ends once, whether usage comes with the last text, after it, or never', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
    const streams = [
      [chunk({ content: 'Hi' }, 'stop', { usage })],
      [chunk({ content: 'Hi' }), chunk({}, 'stop'), { choices: [], usage }],
      [chunk({ content: 'Hi' }), chunk({}, 'stop'), chunk({}, 'stop')],
    ];
    for (const [index, chunks] of streams.entries()) {
      const meter = new Meter();
      const events = eventsThrough('chat-completions', 'messages', `${frames(...chunks)}data: [DONE]\n\n`, { meter });
      expect(typesOf(events).filter((type) => type === 'message_delta')).to.have.lengthOf(1);
      expect(typesOf(events).at(-1)).to.equal('message_stop');
      expect(meter.usage.inputTotal).to.equal(index === 2 ? null : 3);
    }
  });

  it('usage is always asked of the upstream, and the chunk with it is sent to clients that asked', () => {
    const body = { model: 'm', messages: [question], stream: true };
    const request = FORMATS['chat-completions'].client.parseRequest(body, {});
    const sent = planForwarding(FORMATS['chat-completions'].upstream, body, request, options, new Meter());
    expect(sent.upstreamRequest.body).to.have.nested.property('stream_options.include_usage', true);
    expect(sentThrough('responses', 'chat-completions', { input: 'Hi', stream: true })).to.have.property(
      'stream_options',
    );
    const stream = frames(chunk({ content: 'Hi' }, 'stop', { usage: { prompt_tokens: 3, completion_tokens: 1 } }));
    const chunks = (includeUsage: boolean): JsonObject[] =>
      eventsThrough('chat-completions', 'chat-completions', stream, { request: { includeUsage } }).filter(
        ({ choices }) => Array.isArray(choices) && choices.length === 0,
      );
    expect([chunks(false).length, chunks(true).length]).to.deep.equal([0, 1]);
  });

  it('cached tokens are inside the input of every format but messages', () => {
    const usage = {
      prompt_tokens: 30,
      completion_tokens: 2,
      total_tokens: 32,
      prompt_tokens_details: { cached_tokens: 20 },
    };
    const body = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage };
    expect(wholeThrough('chat-completions', 'messages', body))
      .to.have.property('usage')
      .that.includes({
        input_tokens: 10,
        cache_read_input_tokens: 20,
      });
    const message = {
      content: [],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, cache_read_input_tokens: 20, output_tokens: 2 },
    };
    expect(wholeThrough('messages', 'responses', message))
      .to.have.property('usage')
      .that.deep.includes({
        input_tokens: 30,
        total_tokens: 32,
      });
    expect(wholeThrough('messages', 'generate-content', message))
      .to.have.property('usageMetadata')
      .that.includes({
        promptTokenCount: 30,
        cachedContentTokenCount: 20,
      });
  });

  it('reasoning tokens count as output, wherever an upstream reports them', () => {
    const native = {
      candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, thoughtsTokenCount: 40, totalTokenCount: 47 },
    };
    const answer = wholeThrough('generate-content', 'chat-completions', native);
    expect(answer).to.have.nested.property('usage.completion_tokens', 42);
    expect(answer).to.have.nested.property('usage.completion_tokens_details.reasoning_tokens', 40);
    const usage = {
      prompt_tokens: 8,
      completion_tokens: 6,
      total_tokens: 354,
      completion_tokens_details: { reasoning_tokens: 340 },
    };
    const outside = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage };
    expect(wholeThrough('chat-completions', 'messages', outside)).to.have.nested.property('usage.output_tokens', 346);
  });

  it('usage is at the start of a message if it is known by then, and complete at its end', () => {
    const early = frames(
      { type: 'message_start', message: { usage: { input_tokens: 7, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    );
    const late = frames(chunk({ content: 'Hi' }, 'stop'), {
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 5 },
    });
    for (const [from, stream, known] of [
      ['messages', early, 7],
      ['chat-completions', late, 0],
    ] as const) {
      const events = eventsThrough(from, 'messages', stream);
      expect(events[0]).to.have.nested.property('message.usage.input_tokens', known);
      expect(events.at(-2)).to.have.property('usage').that.includes({ input_tokens: 7, output_tokens: 5 });
    }
  });

  it('reasoning comes before text under whatever name, is signed with a string, and may be sent back', () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      const events = eventsThrough(
        'chat-completions',
        'messages',
        frames(chunk({ content: 'Hi', [name]: 'Hm' }, 'stop')),
      );
      const blocks = events.flatMap(({ content_block: block }) => (block === undefined ? [] : [objectOf(block)]));
      expect(blocks).to.deep.equal([
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'text', text: '' },
      ]);
    }
    const tagged = ['<thi', 'nk>H', 'm</think', '>\n\nHi'].map((content) => chunk({ content }));
    for (const client of WIRE_FORMAT_NAMES) {
      const stream = streamThrough('chat-completions', client, frames(...tagged, chunk({}, 'stop')));
      const parts = answerOfStream(FORMATS[client], stream).choices[0]?.parts ?? [];
      const reasoning = client === 'generate-content' ? [] : ['Hm'];
      expect(parts.map(lineOf)).to.deep.equal([...reasoning, 'Hi']);
    }
    const thinking = { type: 'thinking', thinking: 'Hm', signature: '' };
    const history = [question, { role: 'assistant', content: [thinking, { type: 'text', text: 'Hi' }] }, question];
    const sent = sentThrough('messages', 'chat-completions', { max_tokens: 9, messages: history });
    expect(sent).to.have.nested.property('messages[1].content', 'Hi');
    const items = [
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { role: 'user', content: 'Hi' },
    ];
    expect(sentThrough('responses', 'messages', { input: items })['messages']).to.have.lengthOf(1);
  });

  it('a message has no empty text next to tool calls, and has one if reasoning used up the budget', () => {
    const calls = eventsThrough('chat-completions', 'messages', frames(chunk({ content: '' }), ...twoCalls));
    expect(JSON.stringify(calls)).to.not.contain('"text"');
    const spent = { choices: [{ message: { content: null, reasoning_content: 'Hm' }, finish_reason: 'length' }] };
    expect(wholeThrough('chat-completions', 'messages', spent)).to.deep.include({
      content: [
        { type: 'thinking', thinking: 'Hm', signature: '' },
        { type: 'text', text: '' },
      ],
      stop_reason: 'max_tokens',
    });
  });

  it('the content of a cut answer is "", and null only with tool calls', () => {
    const spent = { content: [{ type: 'thinking', thinking: 'Hm' }], stop_reason: 'max_tokens' };
    expect(wholeThrough('messages', 'chat-completions', spent)).to.have.nested.property(
      'choices[0].message.content',
      '',
    );
    const call = { content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }], stop_reason: 'tool_use' };
    expect(wholeThrough('messages', 'chat-completions', call)).to.have.nested.property(
      'choices[0].message.content',
      null,
    );
  });

  it('stop sequences cut where the upstream cannot, across pieces, and the one that hit is named', () => {
    const request = { sampling: { stopSequences: ['END', 'STOP'] } };
    const deltas = ['One E', 'N', 'Done S', 'TO', 'P two'].map((delta) => ({
      type: 'response.output_text.delta',
      output_index: 0,
      delta,
    }));
    const stream = frames(...deltas, { type: 'response.completed', response: { status: 'completed', output: [] } });
    const cut = eventsThrough('responses', 'messages', stream, { request });
    const text = cut.map(({ delta }) => stringOf(objectOf(delta)['text'])).join('');
    expect(text).to.equal('One ');
    expect(cut.at(-2)).to.have.property('delta').that.includes({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    const events: StreamEvent[] = [
      { type: 'response-start', id: null, model: null },
      { type: 'text-start', id: 'text' },
      ...['One E', 'N', 'Done S'].map((delta) => ({ type: 'text-delta', id: 'text', text: delta }) as const),
      { type: 'text-end', id: 'text' },
      { type: 'finish', reason: 'stop' },
    ];
    for (const upstream of ['chat-completions', 'responses', 'generate-content'] as const) {
      const told = streamThrough(upstream, 'messages', streamedTo(FORMATS[upstream], events), { request });
      expect(answerOfStream(FORMATS.messages, told).choices).to.deep.equal([
        { parts: [{ type: 'text', text: 'One ' }], finish: { reason: 'stop-sequence', stopSequence: 'END' } },
      ]);
    }
    for (const client of ['chat-completions', 'generate-content'] as const) {
      const told = streamThrough('responses', client, streamedTo(FORMATS.responses, events), { request });
      expect(answerOfStream(FORMATS[client], told).choices[0]?.parts.map(lineOf)).to.deep.equal(['One ']);
    }
    const sent = planConversion(
      FORMATS.messages,
      FORMATS['chat-completions'],
      textRequest(request),
      options,
      new Meter(),
    );
    expect(sent.upstreamRequest.body).to.not.have.property('stop');
  });

  it('output limits go by either name of chat completions, and not below what the responses format takes', () => {
    const chat = { messages: [question] };
    expect(
      sentThrough('chat-completions', 'messages', { ...chat, max_completion_tokens: 50, max_tokens: 9 }),
    ).to.include({ max_tokens: 50 });
    expect(sentThrough('chat-completions', 'messages', { ...chat, max_tokens: 9 })).to.include({ max_tokens: 9 });
    expect(sentThrough('chat-completions', 'responses', { ...chat, max_tokens: 1 })).to.include({
      max_output_tokens: 16,
    });
  });

  it('a response stream announces, fills and concludes everything under one numbering', () => {
    const stream = frames(chunk({ reasoning_content: 'Hm' }), chunk({ content: 'Hi' }), ...twoCalls);
    const events = eventsThrough('chat-completions', 'responses', stream);
    expect(events.map((event) => event['sequence_number'])).to.deep.equal([...events.keys()]);
    expect(typesOf(events).slice(0, 2)).to.deep.equal(['response.created', 'response.in_progress']);
    const added = events.filter(({ type }) => type === 'response.output_item.added');
    expect(added.map((event) => event['output_index'])).to.deep.equal([0, 1, 2, 3]);
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(done.map((item) => objectOf(item)['id'])).to.deep.equal(added.map(({ item }) => objectOf(item)['id']));
    expect(events.at(-1)).to.have.nested.property('response.output').that.deep.equals(done);
    expect(typesOf(events)).to.include.members([
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.completed',
    ]);
  });

  it('usage is taken from whichever event ends a response', () => {
    const usage = { input_tokens: 3, output_tokens: 4 };
    const incomplete = { status: 'incomplete', output: [], incomplete_details: { reason: 'max_output_tokens' }, usage };
    const delta = { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' };
    const meter = new Meter();
    const ended = streamThrough(
      'responses',
      'messages',
      frames(delta, { type: 'response.incomplete', response: incomplete }),
      { meter },
    );
    expect(ended).to.contain('"stop_reason":"max_tokens"');
    expect(meter.usage).to.include({ inputTotal: 3, outputTotal: 4 });
    const failing = new Meter();
    const failed = { status: 'failed', output: [], error: { code: 'server_error' }, usage };
    expect(() =>
      streamThrough('responses', 'messages', frames(delta, { type: 'response.failed', response: failed }), {
        meter: failing,
      }),
    )
      .to.throw(ServiceError)
      .with.property('code', 'processing_failed');
    expect(failing.usage).to.include({ inputTotal: 3, outputTotal: 4 });
  });

  it('references to reasoning, which is never stored, are dropped; other references are refused', () => {
    const input = [
      { type: 'item_reference', id: 'rs_1' },
      { role: 'user', content: 'Hi' },
    ];
    expect(sentThrough('responses', 'chat-completions', { input })['messages']).to.deep.equal([
      { role: 'user', content: 'Hi' },
    ]);
    expect(() => sentThrough('responses', 'chat-completions', { input: [{ type: 'item_reference', id: 'msg_1' }] }))
      .to.throw(ServiceError)
      .with.property('code', 'bad_request');
  });

  it('system text arrives whole from every position: string, blocks, developer, instructions, in the middle', () => {
    const system = {
      system: [
        { type: 'text', text: 'Be' },
        { type: 'text', text: 'kind' },
      ],
      max_tokens: 9,
      messages: [question],
    };
    expect(sentThrough('messages', 'generate-content', system)).to.have.nested.property(
      'systemInstruction.parts[0].text',
    );
    const chat = {
      messages: [{ role: 'system', content: 'Be' }, question, { role: 'developer', content: 'kind' }, question],
    };
    expect(JSON.stringify(sentThrough('chat-completions', 'messages', chat)['system'])).to.match(/Be.*kind/);
    const responses = {
      instructions: 'Be',
      input: [
        { role: 'system', content: 'kind' },
        { role: 'user', content: 'Hi' },
      ],
    };
    expect(JSON.stringify(sentThrough('responses', 'messages', responses)['system'])).to.match(/Be.*kind/);
    expect(
      sentThrough('chat-completions', 'messages', { messages: [question, question] })['messages'],
    ).to.have.lengthOf(1);
  });

  it('images keep their bytes, type and place in every format, in tool results too', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } };
    const content = [{ type: 'text', text: 'before' }, image, { type: 'text', text: 'after' }];
    const chat = { messages: [{ role: 'user', content }] };
    expect(sentThrough('chat-completions', 'messages', chat))
      .to.have.nested.property('messages[0].content[1].source')
      .that.deep.equals({
        type: 'base64',
        media_type: 'image/png',
        data: 'QUJD',
      });
    expect(sentThrough('chat-completions', 'generate-content', chat))
      .to.have.nested.property('contents[0].parts[1].inlineData')
      .that.deep.equals({
        mimeType: 'image/png',
        data: 'QUJD',
      });
    expect(sentThrough('chat-completions', 'responses', chat)).to.have.nested.property(
      'input[0].content[1].image_url',
      image.image_url.url,
    );
    const source = { type: 'base64', media_type: 'image/png', data: 'QUJD' };
    const result = { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'image', source }] };
    const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] };
    const seen = sentThrough('messages', 'chat-completions', {
      max_tokens: 9,
      messages: [question, call, { role: 'user', content: [result] }],
    });
    expect(JSON.stringify(seen)).to.contain('data:image/png;base64,QUJD');
  });

  it('the choice of tools and the wish for one call at a time are said in the words of each format', () => {
    const schema = { type: 'object', properties: { at: { type: ['string', 'null'] } }, additionalProperties: false };
    const tools = [{ type: 'function', function: { name: 'look', parameters: schema } }];
    const chat = { messages: [question], tools, tool_choice: 'required', parallel_tool_calls: false };
    expect(sentThrough('chat-completions', 'messages', chat)['tool_choice']).to.deep.equal({
      type: 'any',
      disable_parallel_tool_use: true,
    });
    expect(sentThrough('chat-completions', 'generate-content', chat)).to.have.nested.property(
      'toolConfig.functionCallingConfig.mode',
      'ANY',
    );
    expect(sentThrough('chat-completions', 'responses', chat)).to.include({
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    const none = { ...chat, messages: chatCallHistory, tool_choice: 'none' };
    expect(sentThrough('chat-completions', 'messages', none)).to.deep.include({ tool_choice: { type: 'none' } });
    expect(sentThrough('chat-completions', 'messages', none)['tools']).to.have.lengthOf(1);
    expect(sentThrough('chat-completions', 'generate-content', none)).to.have.nested.property(
      'toolConfig.functionCallingConfig.mode',
      'NONE',
    );
    expect(sentThrough('chat-completions', 'responses', none)).to.include({ tool_choice: 'none' });
    const fromMessages = {
      max_tokens: 9,
      messages: [question],
      tools: [{ name: 'look', input_schema: schema }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    };
    expect(sentThrough('messages', 'chat-completions', fromMessages)).to.include({
      tool_choice: 'required',
      parallel_tool_calls: false,
    });
    const named = { ...chat, tool_choice: { type: 'function', function: { name: 'look' } } };
    expect(sentThrough('chat-completions', 'messages', named)['tool_choice']).to.include({
      type: 'tool',
      name: 'look',
    });
    const native = {
      contents: [{ parts: [{ text: 'Hi' }] }],
      tools: [{ function_declarations: [{ name: 'look', parameters: { type: 'OBJECT' } }] }],
    };
    expect(sentThrough('generate-content', 'chat-completions', native)).to.have.nested.property(
      'tools[0].function.parameters.type',
      'object',
    );
  });

  it('streams are read whatever their bytes: cut characters, CR LF, comments, many data lines, no end', () => {
    const text = JSON.stringify({
      choices: [{ index: 0, delta: { content: 'Grüße 漢字 🎉' }, finish_reason: 'stop' }],
    });
    const [head = '', tail = ''] = text.split('"delta"');
    const streams = [
      `data: ${text}\n\n`,
      `: ping\r\n\r\nevent: x\r\ndata: ${text}\r\n\r\n`,
      `data: ${head}\ndata: "delta"${tail}\n\n`,
      `data: ${text}`,
      `id: 1\nretry: 2\ndata:${text}\n\ndata: [DONE]\n\n`,
    ];
    for (const stream of streams)
      expect(streamThrough('chat-completions', 'generate-content', stream)).to.contain('Grüße 漢字 🎉');
    const long = 'x'.repeat(2 ** 20);
    expect(streamThrough('chat-completions', 'messages', frames(chunk({ content: long }, 'stop')))).to.contain(long);
    const native = streamThrough('chat-completions', 'generate-content', frames(chunk({ content: 'Hi' }, 'stop')));
    expect(native).to.not.contain('[DONE]');
  });

  it('chunks with other ids or none, and a second start, form one answer under one id', () => {
    const rotating = ['chatcmpl-1', 'chatcmpl-2', ''].map((id) => chunk({ content: 'a' }, null, { id }));
    const chunks = eventsThrough('chat-completions', 'chat-completions', frames(...rotating, chunk({}, 'stop')));
    expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1);
    expect(chunks[0]?.['id']).to.match(/^chatcmpl-./);
    const start = { type: 'message_start', message: { id: 'm', usage: { input_tokens: 7 } } };
    const stream = frames(
      start,
      start,
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    );
    const events = eventsThrough('messages', 'messages', stream);
    expect(typesOf(events).filter((type) => type === 'message_start')).to.have.lengthOf(1);
  });

  it('calls that a model wrapped into one come out of it, each with its own id', () => {
    const uses = ['look', 'wait'].map((name) => ({ recipient_name: `functions.${name}`, parameters: { n: name } }));
    const written = JSON.stringify({ tool_uses: uses });
    const name = 'multi_tool_use.parallel';
    const wrapped = frames(
      toolDelta(0, 'a', name, written.slice(0, 20)),
      toolDelta(0, undefined, undefined, written.slice(20)),
      chunk({}, 'tool_calls'),
    );
    const whole = { type: 'function_call', call_id: 'a', name, arguments: written };
    const response = frames({ type: 'response.completed', response: { output: [whole] } });
    for (const [upstream, stream] of [
      ['chat-completions', wrapped],
      ['responses', response],
    ] as const) {
      const { parts = [] } =
        answerOfStream(FORMATS.messages, streamThrough(upstream, 'messages', stream)).choices[0] ?? {};
      const [first, second] = parts.map(lineOf);
      expect(first).to.equal('call a look {"n":"look"}');
      expect(second).to.match(/^call call_\w+ wait \{"n":"wait"\}$/);
    }
  });

  it('half of a character stays half of a character, in the same place', () => {
    const halves = ['\ud83c', '\udf89', 'x\ud800'].map((content) => chunk({ content }));
    for (const client of WIRE_FORMAT_NAMES) {
      const stream = streamThrough('chat-completions', client, frames(...halves, chunk({}, 'stop')));
      const parts = answerOfStream(FORMATS[client], stream).choices[0]?.parts ?? [];
      expect(parts.map(lineOf)).to.deep.equal(['🎉x\ud800']);
    }
  });

  it('several answers to one request stay apart', () => {
    const choices = [0, 1].map((index) => ({ index, delta: { content: `answer ${index}` }, finish_reason: 'stop' }));
    const request = { sampling: { choiceCount: 2 } };
    const stream = streamThrough('chat-completions', 'generate-content', frames({ choices }), { request });
    const answer = answerOfStream(FORMATS['generate-content'], stream);
    expect(answer.choices.map(({ parts }) => parts.map(lineOf))).to.deep.equal([['answer 0'], ['answer 1']]);
  });

  it('an error after the first byte comes in a form that the format’s clients notice', () => {
    const error = new ServiceError('processing_failed', 'The model failed.');
    const frameOf = (format: WireFormatName): string | null =>
      FORMATS[format].client.renderStreamError(error, 'req_1', 4);
    expect(frameOf('chat-completions')).to.match(/^data: \{"error":/);
    expect(frameOf('responses')).to.match(/^event: error\ndata: \{"type":"error","sequence_number":4/);
    expect(frameOf('messages')).to.match(/^event: error\ndata: \{"type":"error","error":/);
    expect(frameOf('generate-content')).to.equal(null);
  });
});

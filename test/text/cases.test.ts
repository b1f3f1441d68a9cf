/**
 * The hard cases of converting between formats, each with its rule: the input of one service, and the output that a
 * client of another needs. The tests of the single formats hold the details; these tests hold the whole conversion.
 */
import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { Turn } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { Meter } from '../../text/meter.ts';
import { encodeEvent } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import type { ParseContext } from '../../text/wire-format.ts';
import { answerOfStream, eventsOfText, fromBytes, renderContext, type textRequest, throughJson } from './support.ts';

const options = { model: 'upstream-model', apiKey: 'secret' };
const question = { role: 'user', content: 'Hello' };

/** The frames of event data, each named by its type. */
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

/** The text that a client receives for an upstream's stream, in reads of a few bytes. */
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

/** The data of the events that a client receives. */
function eventsThrough(...parameters: Parameters<typeof streamThrough>): JsonObject[] {
  return eventsOfText(streamThrough(...parameters))
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as JsonObject);
}

/** The body that a client receives for an upstream's whole answer. */
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

/** The request that an upstream receives for a client's body. */
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

/** The upstreams of each format and their two calls of one tool, as irregularly as each is known to send them. */
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

/** The conversation in an upstream's request: a line for each part of each message. */
function readBy(format: WireFormatName, body: JsonObject): string[] {
  const { turns } = FORMATS[format].client.parseRequest(body, format === 'generate-content' ? address : {});
  return turns.flatMap(({ parts }) => parts.map(lineOf));
}

function lineOf(part: Turn['parts'][number]): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.text;
  if (part.type === 'tool-call') return `call ${part.callId} ${part.name} ${part.arguments}`;
  if (part.type === 'tool-result') return `result ${part.callId} ${part.content.map(lineOf).join()}`;
  if (part.type === 'audio') return part.transcript ?? '';
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
  it('converts interleaved tool calls for a messages client into one block after the other, each whole', () => {
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
    it(`converts interleaved tool calls into whole ones for a client of ${client}`, () => {
      const stream = streamThrough('chat-completions', client, frames(...twoCalls));
      expect(callsReadBy(client, stream)).to.deep.equal([
        { callId: 'a', arguments: '{"at":1}' },
        { callId: 'b', arguments: '{"for":2}' },
      ]);
    });

    for (const [upstream, sloppy] of SLOPPY_CALLS) {
      it(`converts irregular calls of an upstream of ${upstream} for a client of ${client} into two, with ids and arguments, and one end`, () => {
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
      it(`converts a conversation in ${client} for an upstream of ${upstream} with results in the order of the calls, and images in place`, () => {
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

  it('keeps thought signatures through clients without a field for them, and does without lost ones', () => {
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
    const fromResponses = sentThrough('responses', 'generate-content', { input: [question, ...listOf(output)] });
    expect(fromResponses).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'c2lnbmF0dXJl');
    const lost = sentThrough('chat-completions', 'generate-content', { messages: chatCallHistory });
    expect(lost).to.have.nested.property('contents[1].parts[0].thoughtSignature', 'skip_thought_signature_validator');
  });

  it('puts reasoning under any field name before text, signs it with a string, and accepts it back', () => {
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

  it('sends a picture with the media type of its bytes, which clients take from the name of a file', () => {
    // contract 4.8:49
    const types: readonly (readonly [sent: string, data: string, type: string])[] = [
      ['image/jpg', 'QUJD', 'image/jpeg'],
      ['image/png', '/9j/4AAQ', 'image/jpeg'],
      ['image/jpeg', 'iVBORw0KGgoAAAAN', 'image/png'],
      ['image/png', 'R0lGODlh', 'image/gif'],
      ['image/png', 'UklGRiQAAABXRUJQ', 'image/webp'],
      ['image/png', 'QUJD', 'image/png'],
    ];
    for (const [media_type, data, type] of types) {
      const url = `data:${media_type};base64,${data}`;
      const bodies: Readonly<Record<WireFormatName, JsonObject>> = {
        'chat-completions': { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
        responses: { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] },
        messages: {
          max_tokens: 9,
          messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type, data } }] }],
        },
        'generate-content': { contents: [{ parts: [{ inlineData: { mimeType: media_type, data } }] }] },
      };
      for (const client of WIRE_FORMAT_NAMES) {
        const sent = sentThrough(client, 'messages', bodies[client]);
        expect(sent).to.have.nested.property('messages[0].content[0].source.media_type', type);
      }
    }
  });

  it('passes the name of a conversation for the cache on to models of the responses format, and to no others', () => {
    // contract 4.8.1:43 4.8.2:49
    const body = { messages: [question], prompt_cache_key: 'conversation' };
    expect(sentThrough('chat-completions', 'responses', body)).to.include({ prompt_cache_key: 'conversation' });
    for (const upstream of ['messages', 'generate-content'] as const)
      expect(sentThrough('chat-completions', upstream, body)).to.not.have.property('prompt_cache_key');
    // Codex sends the key unasked, and services with the chat format may refuse it.
    const responses = { input: 'Hi', prompt_cache_key: 'conversation' };
    expect(sentThrough('responses', 'chat-completions', responses)).to.not.have.property('prompt_cache_key');
  });

  it('shows the message of another agent to models of every format', () => {
    // contract 4.8.2:48
    const content = [
      { type: 'input_text', text: 'Task:' },
      { type: 'encrypted_content', encrypted_content: 'Say ALPHA.' },
    ];
    const input = [{ type: 'agent_message', author: '/root', recipient: '/root/child', content }];
    for (const upstream of WIRE_FORMAT_NAMES)
      expect(readBy(upstream, sentThrough('responses', upstream, { input }))).to.deep.equal(['Task:', 'Say ALPHA.']);
  });

  it('reads output limits from either field of chat completions, and sends at least the minimum of the responses format', () => {
    const chat = { messages: [question] };
    expect(
      sentThrough('chat-completions', 'messages', { ...chat, max_completion_tokens: 50, max_tokens: 9 }),
    ).to.include({ max_tokens: 50 });
    expect(sentThrough('chat-completions', 'messages', { ...chat, max_tokens: 9 })).to.include({ max_tokens: 9 });
    expect(sentThrough('chat-completions', 'responses', { ...chat, max_tokens: 1 })).to.include({
      max_output_tokens: 16,
    });
  });

  it('reads streams with split characters, CR LF, comments, several data lines and no end', () => {
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

  it('joins chunks with other ids or none, and with a second start, into one answer under one id', () => {
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

  it('splits calls that a model wrapped into one, each with its own id', () => {
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

  it('keeps a lone surrogate a lone surrogate, in the same place', () => {
    const halves = ['\ud83c', '\udf89', 'x\ud800'].map((content) => chunk({ content }));
    for (const client of WIRE_FORMAT_NAMES) {
      const stream = streamThrough('chat-completions', client, frames(...halves, chunk({}, 'stop')));
      const parts = answerOfStream(FORMATS[client], stream).choices[0]?.parts ?? [];
      expect(parts.map(lineOf)).to.deep.equal(['🎉x\ud800']);
    }
  });
});

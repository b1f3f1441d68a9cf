import { expect } from 'chai';
import type { StreamEvent } from '../../text/canonical.ts';
import { callIdReplacements } from '../../text/call-ids.ts';
import { TaggedText } from '../../text/chat-completions/thinking-tags.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import { withFittingSchemas } from '../../text/fit-schemas.ts';
import { FORMATS } from '../../text/formats.ts';
import { planForwarding } from '../../text/forward.ts';
import { Meter } from '../../text/meter.ts';
import { normalize } from '../../text/normalize.ts';
import { parseServerSentEvents } from '../../text/sse.ts';
import { runStage } from '../../text/stage.ts';
import { cutAtStopSequences } from '../../text/stop-sequences.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { growthOf } from '../support/growth.ts';
import { fromBytes, textRequest } from './support.ts';

interface Step {
  readonly text?: string;
  readonly link?: string;
  readonly call?: { readonly id: string; readonly name: string; readonly arguments: string };
  readonly result?: { readonly id: string; readonly name: string };
}

/** A conversation in each format, with a message for each step. */
const BODIES: Readonly<Record<WireFormatName, (steps: readonly Step[]) => JsonObject>> = {
  'chat-completions': (steps) => ({
    model: 'm',
    messages: steps.map(({ text, link, call, result }) => {
      if (result) return { role: 'tool', tool_call_id: result.id, content: 'seen' };
      if (link) return { role: 'user', content: [{ type: 'image_url', image_url: { url: link } }] };
      if (!call) return { role: 'user', content: text };
      const called = { id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } };
      return { role: 'assistant', tool_calls: [called] };
    }),
  }),
  responses: (steps) => ({
    model: 'm',
    input: steps.map(({ text, link, call, result }) => {
      if (result) return { type: 'function_call_output', call_id: result.id, output: 'seen' };
      if (link) return { role: 'user', content: [{ type: 'input_image', image_url: link }] };
      if (!call) return { role: 'user', content: text };
      return { type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments };
    }),
  }),
  messages: (steps) => ({
    model: 'm',
    max_tokens: 10,
    messages: steps.map(({ text, link, call, result }) => {
      if (result) return { role: 'user', content: [{ type: 'tool_result', tool_use_id: result.id, content: 'seen' }] };
      if (link) return { role: 'user', content: [{ type: 'image', source: { type: 'url', url: link } }] };
      if (!call) return { role: 'user', content: text };
      const { id, name } = call;
      return { role: 'assistant', content: [{ type: 'tool_use', id, name, input: JSON.parse(call.arguments) }] };
    }),
  }),
  'generate-content': (steps) => ({
    contents: steps.map(({ text, link, call, result }) => {
      if (result) {
        return { role: 'user', parts: [{ functionResponse: { id: result.id, name: result.name, response: {} } }] };
      }
      if (link) return { role: 'user', parts: [{ fileData: { fileUri: link } }] };
      if (!call) return { role: 'user', parts: [{ text }] };
      const { id, name } = call;
      return { role: 'model', parts: [{ functionCall: { id, name, args: JSON.parse(call.arguments) } }] };
    }),
  }),
};

const list = <Item>(size: number, item: (index: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => item(index));
const called = (id: string): Step => ({ call: { id, name: 'look', arguments: '{}' } });
const answered = (id: string): Step => ({ result: { id, name: 'look' } });

/** Conversations of any size that once made some reader slow, or might. */
const CONVERSATIONS: Readonly<Record<string, (size: number) => readonly Step[]>> = {
  'many short texts': (size) => list(size, () => ({ text: 'Hi' })),
  'one long text': (size) => [{ text: 'Hello, world. '.repeat(size) }],
  'calls whose ids begin alike': (size) => list(size, (index) => called(`${'x'.repeat(61)}.${index}`)),
  'calls whose ids are alike once they are cut': (size) => list(size, (index) => called('x'.repeat(64) + index)),
  'calls with ids that replacements would take': (size) => [
    ...list(size, (index) => called(`a_${index}`)),
    ...list(size, (index) => called(`a${['.', ':', ';'][index % 3]}${index}`)),
  ],
  'repeated calls whose ids begin alike': (size) =>
    list(size, (index) => called(`${'x'.repeat(55)}${Math.floor(index / 2)}`)),
  'many results of one call': (size) => [called('a'), ...list(size, () => answered('a'))],
  'one id for all calls and results': (size) => [...list(size, () => called('a')), ...list(size, () => answered('a'))],
  'calls answered in the opposite order': (size) => [
    ...list(size, (index) => called(`a${index}`)),
    ...list(size, (index) => answered(`a${size - index - 1}`)),
  ],
  'a link of what may be extensions': (size) => [{ link: `https://x.example/${'.a?'.repeat(size)}\n` }],
  'a link of dots': (size) => [{ link: `https://x.example/${'.'.repeat(size)}` }],
  'a data URL of parameters': (size) => [{ link: `data:image/png${';a'.repeat(size)},x` }],
  'a data URL of white space': (size) => [{ link: `data:image/png;base64,${' '.repeat(size)}` }],
  'a call with large arguments': (size) => [
    { call: { id: 'a', name: 'look', arguments: JSON.stringify({ a: list(size, () => ({})) }) } },
    answered('a'),
  ],
  'an id of signatures': (size) => [called(`a-signature-${'-_'.repeat(size)}`.slice(0, 16_000))],
};

/** Has the names of all models with rules of their own. */
const MODEL = { model: 'mistral-qwen-deepseek-claude-4-6-gemini-2', reasons: true, apiKey: 'secret' };

/** Parses the body as its format does, and builds the request for each upstream; a refusal is fine as well. */
function readAndBuild(name: WireFormatName, body: JsonObject): void {
  try {
    const request = FORMATS[name].client.parseRequest(body, { address: { model: 'm', stream: false } });
    callIdReplacements(request.turns, MODEL.model);
    for (const { upstream } of Object.values(FORMATS)) {
      tryTo(() => upstream.buildRequest(request, MODEL));
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
}

function tryTo(work: () => unknown): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
}

function bytesInPieces(text: string, length: number): Uint8Array[] {
  const bytes = Buffer.from(text);
  return list(Math.ceil(bytes.length / length), (index) => bytes.subarray(index * length, (index + 1) * length));
}

const answerOf = (events: readonly StreamEvent[]): StreamEvent[] => [
  { type: 'response-start', id: null, model: null },
  ...events,
  { type: 'finish', reason: 'stop' },
];
const deltas = (texts: readonly string[]): StreamEvent[] =>
  answerOf([
    { type: 'text-start', id: 't' },
    ...texts.map((text) => ({ type: 'text-delta', id: 't', text }) as const),
    { type: 'text-end', id: 't' },
  ]);

/** The input of the stages of an answer, from upstreams and from clients through their stop sequences. */
const ANSWERS: Readonly<Record<string, (size: number) => () => unknown>> = {
  'an event in small pieces, passed on': (size) => {
    const { upstream } = FORMATS['chat-completions'];
    const text = JSON.stringify({ choices: [{ delta: { content: 'x'.repeat(size * 50) } }] });
    const pieces = bytesInPieces(`data: ${text}\n\n`, 100);
    const plan = planForwarding(upstream, {}, textRequest({}), { model: 'm', apiKey: 'secret' }, new Meter());
    return () => {
      const stage = fromBytes(plan.forwardStream());
      for (const piece of pieces) stage.push(piece, () => {});
    };
  },
  'an event in small pieces, read': (size) => {
    const pieces = bytesInPieces(`data: ${'x'.repeat(size * 50)}\n\n`, 10);
    return () => runStage(pieces, parseServerSentEvents());
  },
  'tool calls that never end': (size) => {
    const events = answerOf(
      list(size, (index) => [
        { type: 'tool-input-start', id: `t${index}`, callId: '', name: 'look' } as const,
        { type: 'tool-input-delta', id: `t${index}`, text: '{"a":"}' } as const,
      ]).flat(),
    );
    return () => runStage(events, normalize());
  },
  'text and reasoning in turn': (size) => {
    const events = answerOf(
      list(size, () => [
        { type: 'text-delta', id: 'text', text: 'a' } as const,
        { type: 'reasoning-delta', id: 'reasoning', text: 'a' } as const,
      ]).flat(),
    );
    return () => runStage(events, normalize());
  },
  'a call that gives its name with each piece': (size) => {
    const event = { data: '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}}"}}]}}]}' };
    const first = { data: '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{\\""}}]}}]}' };
    return () => {
      const stage = FORMATS['chat-completions'].upstream.parseStream();
      stage.push({ event: null, ...first }, () => {});
      for (let index = 0; index < size; index += 1) stage.push({ event: null, ...event }, () => {});
    };
  },
  'white space before anything': (size) => () => {
    const text = new TaggedText();
    for (let index = 0; index < size; index += 1) text.push('   ');
  },
  'a stop sequence that always nearly fits': (size) => {
    const sequences = [`${'a'.repeat(size)}b`, `${'a'.repeat(size / 2)}c`];
    const events = deltas(list(size * 4, () => 'a'));
    return () => runStage(events, cutAtStopSequences(sequences.map((sequence) => sequence.slice(0, 65_536))));
  },
  'stop sequences in one long text': (size) => {
    const sequences = list(60, (index) => `${'a'.repeat(size / 10)}${index}b`);
    const events = deltas(['a'.repeat(size)]);
    return () => runStage(events, cutAtStopSequences(sequences));
  },
};

describe('the time it takes', () => {
  for (const name of WIRE_FORMAT_NAMES) {
    for (const [what, steps] of Object.entries(CONVERSATIONS)) {
      it(`to read ${what} in ${name} grows no faster than the request`, () => {
        const growth = growthOf((size) => {
          const body = BODIES[name](steps(size));
          return () => readAndBuild(name, body);
        });
        expect(growth).to.be.at.most(3);
      });
    }
  }

  for (const [name, { upstream }] of Object.entries(FORMATS)) {
    it(`to fit the schema of a tool with many properties to ${name} grows no faster than the schema`, () => {
      const growth = growthOf((size) => {
        const names = list(size, (index) => `p${index}`);
        const properties = Object.fromEntries(names.map((property) => [property, { type: 'string', required: true }]));
        const required = [...names.toReversed(), ...list(size, (index) => `q${index}`)];
        const parameters = { type: 'object', properties, required, additionalProperties: false };
        const request = textRequest({ tools: [{ name: 'look', strict: true, parameters }] });
        return () => withFittingSchemas(request, upstream.schemaLimits, FORMATS.messages.client.schemaNames);
      });
      expect(growth).to.be.at.most(3);
    });
  }

  for (const [what, prepare] of Object.entries(ANSWERS)) {
    it(`to read ${what}, grows no faster than the answer`, () => {
      expect(growthOf(prepare)).to.be.at.most(3);
    });
  }
});

import { expect } from 'chai';
import { type JsonObject, objectOf, stringOf } from '../../../domain/json.ts';
import type { TextRequest, Turn } from '../../../text/canonical.ts';
import { messages } from '../../../text/messages/index.ts';
import { compact } from '../../../text/read.ts';
import type { ServerSentEvent } from '../../../text/sse.ts';
import { hoistSystem, mergeNeighbours } from '../../../text/turns.ts';
import { itKeepsTheLawsOfAFormat } from '../support.ts';

interface FoldedMessage {
  [field: string]: unknown;
  content: Record<string, unknown>[];
}

/** Accumulates events as the format's SDKs do: by the index of the block, with totals that replace earlier ones. */
function foldStream(events: readonly ServerSentEvent[]): JsonObject {
  let message: FoldedMessage = { content: [] };
  const inputs: string[] = [];
  for (const { event, data: text } of events) {
    const data = objectOf(JSON.parse(text));
    expect(data['type']).to.equal(event);
    const index = Number(data['index']);
    if (event === 'message_start') {
      message = { ...objectOf(data['message']), content: [] };
    } else if (event === 'content_block_start') {
      expect(index).to.equal(message.content.length);
      message.content.push({ ...objectOf(data['content_block']) });
      inputs.push('');
    } else if (event === 'content_block_delta') {
      const delta = objectOf(data['delta']);
      inputs[index] += stringOf(delta['partial_json']);
      foldDelta(message.content[index] ?? {}, delta);
    } else if (event === 'content_block_stop') {
      const block = message.content[index] ?? {};
      if (block['type'] === 'tool_use') block['input'] = JSON.parse(inputs[index] ?? '');
    } else if (event === 'message_delta') {
      const usage = { ...objectOf(message['usage']), ...objectOf(data['usage']) };
      message = { ...message, ...objectOf(data['delta']), usage };
    }
  }
  expect(events.at(-1)?.event).to.equal('message_stop');
  return message;
}

function foldDelta(block: Record<string, unknown>, delta: JsonObject): void {
  if (delta['type'] === 'text_delta') block['text'] = stringOf(block['text']) + stringOf(delta['text']);
  if (delta['type'] === 'thinking_delta') {
    block['thinking'] = stringOf(block['thinking']) + stringOf(delta['thinking']);
  }
  if (delta['type'] === 'signature_delta') block['signature'] = delta['signature'];
}

const isSaid = (part: { readonly type: string; readonly text?: string }) =>
  part.type !== 'text' || part.text?.trim() !== '';

/** Only non-empty text and signed reasoning are sent; results have no name, links no media type. */
function expressibleTurn(turn: Turn): Turn {
  switch (turn.role) {
    case 'system':
      return turn;
    case 'assistant':
      return {
        role: 'assistant',
        parts: turn.parts.filter(isSaid).filter((part) => part.type !== 'reasoning' || part.signature !== undefined),
      };
    case 'tool': {
      const parts = turn.parts.map(({ callId, content }) => {
        return { type: 'tool-result', callId, content: content.filter(isSaid) } as const;
      });
      return { role: 'tool', parts };
    }
    default: {
      const parts = turn.parts.filter(isSaid).map((part) => {
        if (part.type === 'text' || part.source.kind === 'base64') return part;
        return { ...part, source: { kind: 'url', url: part.source.url } } as const;
      });
      return { role: 'user', parts };
    }
  }
}

/** System text is moved to the front and joined, and neighbours of the same role are one message. */
function expressibleRequest(request: TextRequest): TextRequest {
  const { system, turns } = hoistSystem(request.turns);
  const head: Turn[] =
    system === null || system.trim() === '' ? [] : [{ role: 'system', parts: [{ type: 'text', text: system }] }];
  const said = turns.map(expressibleTurn).filter((turn) => turn.parts.length > 0);
  return compact({ ...request, turns: [...head, ...mergeNeighbours(said)] });
}

describe('messages', () => {
  itKeepsTheLawsOfAFormat(messages, { foldStream, expressibleResult: (result) => result, expressibleRequest });
});

import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { chatCompletions } from '../../../text/chat-completions/index.ts';
import { DONE, encodeEvent } from '../../../text/sse.ts';
import { answerOfStream, partsOf, textRequest } from '../support.ts';

const OPTIONS = { model: 'google/gemini-3-pro', apiKey: 'secret' };
const CALL = { index: 0, id: 'tool_0', function: { name: 'look', arguments: '{}' } };
const thought = (text: string) => ({ type: 'reasoning.text', text, format: 'anthropic-claude-v1', index: 0 });
const SIGNATURE = { type: 'reasoning.text', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 };
const ENCRYPTED = { type: 'reasoning.encrypted', data: 'ZGF0YQ==', id: 'tool_0', format: 'google-gemini-v1', index: 0 };

/** The message that a later request has for the answer of a stream. */
function messageAfter(...deltas: readonly JsonObject[]): unknown {
  const chunks = deltas.map((delta) => JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const parts = partsOf(answerOfStream(chatCompletions, [...chunks, DONE].map((data) => encodeEvent(data)).join('')));
  const request = textRequest({ turns: [{ role: 'assistant', parts }] });
  return [chatCompletions.upstream.buildRequest(request, OPTIONS).body['messages']].flat()[0];
}

const called = { id: 'tool_0', type: 'function', function: { name: 'look', arguments: '{}' } };

describe('the reasoning of OpenRouter', () => {
  it('comes back with a call after the pieces of a thought were joined', () => {
    // contract 4.8:72
    const message = messageAfter(
      { reasoning: 'Let', reasoning_details: [thought('Let')] },
      { reasoning: ' me look.', reasoning_details: [thought(' me look.')] },
      { reasoning_details: [SIGNATURE] },
      { tool_calls: [CALL] },
    );
    expect(message).to.deep.equal({
      role: 'assistant',
      content: null,
      reasoning_details: [{ ...SIGNATURE, text: 'Let me look.' }],
      tool_calls: [called],
    });
  });

  it('comes back if the model encrypts it, before or after the call', () => {
    // contract 4.8:72
    const details = { reasoning_details: [ENCRYPTED] };
    for (const deltas of [
      [{ ...details, tool_calls: [CALL] }],
      [details, { tool_calls: [CALL] }],
      [{ tool_calls: [CALL] }, details],
    ]) {
      expect(messageAfter(...deltas)).to.deep.include({ ...details, tool_calls: [called] });
    }
  });

  it('comes back with a text, whose thought stays one part', () => {
    // contract 4.8:72
    const message = messageAfter(
      { reasoning: 'Hm.', reasoning_details: [thought('Hm.'), ENCRYPTED] },
      { reasoning_details: [SIGNATURE] },
      { content: 'Hi' },
      { content: '!' },
    );
    const details = [{ ...SIGNATURE, text: 'Hm.' }, ENCRYPTED];
    expect(message).to.deep.equal({ role: 'assistant', content: 'Hi!', reasoning_details: details });
  });

  it('comes back as plain text if nothing is signed', () => {
    const message = messageAfter({ reasoning_details: [thought('Hm.')] }, { content: 'Hi' });
    expect(message).to.deep.equal({ role: 'assistant', content: 'Hi', reasoning_content: 'Hm.' });
  });
});

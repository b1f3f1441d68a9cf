import { expect } from 'chai';
import { PromptBound } from '../../../services/realtime/prompt-bound.ts';
import { readClientEvent } from '../../../text/realtime/client-events.ts';

const RULES = { model: 'demo-realtime', maxOutputTokens: 4_096 };
const event = (body: object) => readClientEvent(Buffer.from(JSON.stringify(body)), RULES);
const append = (bytes: number) =>
  event({ type: 'input_audio_buffer.append', audio: Buffer.alloc(bytes).toString('base64') });

describe('PromptBound', () => {
  /** The tokens that events add. */
  function addedBy(...events: readonly ReturnType<typeof event>[]): number {
    const bound = new PromptBound(1_000);
    const before = bound.tokens;
    for (const one of events) bound.add(one);
    return bound.tokens - before;
  }

  it('counts audio by how long it plays, in the format of the session', () => {
    // Vendors count 10 tokens for a second.
    expect(addedBy(append(48_000))).to.be.within(10, 30);
    const update = event({
      type: 'session.update',
      session: { type: 'realtime', audio: { input: { format: { type: 'audio/pcmu' } } } },
    });
    expect(addedBy(update, append(48_000)) - addedBy(update)).to.be.within(60, 180);
  });

  it('counts text, and pictures by the model’s limit', () => {
    const item = (content: object) =>
      event({ type: 'conversation.item.create', item: { type: 'message', content: [content] } });
    expect(addedBy(item({ type: 'input_text', text: 'word '.repeat(100) }))).to.be.within(100, 500);
    expect(
      addedBy(item({ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(100_000)}` })),
    ).to.be.within(1_000, 1_200);
  });

  it('continues from the vendor’s count of a prompt, with what was added since', () => {
    const bound = new PromptBound(1_000);
    const atStart = bound.tokens;
    bound.add(append(48_000));
    const added = bound.tokens - atStart;
    bound.replace(atStart, 100);
    bound.addOutput(50);
    expect(bound.tokens).to.be.within(150 + added - 1, 150 + added);
    bound.replace(bound.tokens, 1_000_000);
    expect(bound.tokens).to.be.below(1_000);
  });
});

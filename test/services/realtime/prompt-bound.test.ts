import { expect } from 'chai';
import { PromptBound } from '../../../services/realtime/prompt-bound.ts';
import { readClientEvent } from '../../../text/realtime/client-events.ts';

const RULES = {
  model: 'demo-realtime',
  maxOutputTokens: 4_096,
  vendorAnswersSpeech: false,
  transcriptions: new Map(),
};
const event = (body: object) => readClientEvent(Buffer.from(JSON.stringify(body)), RULES);
const append = (bytes: number) =>
  event({ type: 'input_audio_buffer.append', audio: Buffer.alloc(bytes).toString('base64') });

describe('PromptBound', () => {
  /** The tokens that events add. */
  function addedBy(...events: readonly ReturnType<typeof event>[]): number {
    const bound = new PromptBound(1_000);
    const before = bound.tokens.max;
    for (const one of events) bound.add(one);
    return bound.tokens.max - before;
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
    const added = bound.tokens.max - atStart.max;
    bound.replace(atStart, { tokens: 100, audio: 0 });
    bound.addOutput(50, 0);
    expect(bound.tokens.max).to.be.within(150 + added - 1, 150 + added);
    bound.replace(bound.tokens, { tokens: 1_000_000, audio: 0 });
    expect(bound.tokens.max).to.be.below(1_000);
  });

  it('estimates what was sent, with ten tokens for each second of audio that the prompt has', () => {
    const bound = new PromptBound(1_000);
    expect(bound.tokens).to.include({ estimated: 0, estimatedAudio: 0 });
    bound.add(append(96_000));
    expect(bound.tokens.estimatedAudio, 'no prompt has audio before it is committed').to.equal(0);
    bound.add(event({ type: 'input_audio_buffer.commit' }));
    const { estimated, estimatedAudio } = bound.tokens;
    expect(estimatedAudio).to.equal(20);
    expect(estimated).to.be.within(20, 60);
    bound.add(append(48_000));
    bound.add(event({ type: 'input_audio_buffer.clear' }));
    bound.commit();
    expect(bound.tokens.estimatedAudio).to.equal(20);
  });

  it('leaves out the silence before speech', () => {
    const bound = new PromptBound(1_000);
    for (let seconds = 0; seconds < 100; seconds += 1) bound.add(append(48_000));
    bound.startSpeech();
    bound.add(append(48_000));
    bound.commit();
    expect(bound.tokens.estimatedAudio).to.equal(310);
  });

  it('estimates from the vendor’s count of audio on', () => {
    const bound = new PromptBound(1_000);
    bound.add(append(96_000));
    bound.commit();
    bound.replace(bound.tokens, { tokens: 90, audio: 15 });
    bound.addOutput(60, 40);
    expect(bound.tokens.estimatedAudio).to.equal(55);
    expect(bound.tokens.estimated).to.equal(150);
  });
});

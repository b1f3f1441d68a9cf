import { expect } from 'chai';
import type { TextHold, TextOutcome } from '../../../db/text-money/billing.ts';
import { Transcriptions } from '../../../services/realtime/transcriptions.ts';

const COMPLETED = 'conversation.item.input_audio_transcription.completed';

describe('transcriptions of a realtime session', () => {
  /** Transcribes two and a half seconds of speech. @returns the seconds to charge */
  async function secondsFor(event: object): Promise<number | undefined> {
    const outcomes: TextOutcome[] = [];
    const hold: TextHold = {
      textRequestId: 'txt_1',
      maxOutputTokens: null,
      holdPrompt: async () => true,
      charged: () => {
        throw new Error('a transcription reports its own usage');
      },
      settle: async (outcome) => void outcomes.push(outcome),
      release: () => undefined,
    };
    const models = new Map([['voice-stt', 'whisper-1']]);
    const transcriptions = new Transcriptions(
      { models, hold: async () => hold },
      { provider: 'openai', format: 'chat-completions' },
    );
    transcriptions.request('voice-stt');
    transcriptions.confirm('whisper-1');
    transcriptions.hear(2.5);
    await transcriptions.start('item_1');
    transcriptions.finish({ type: COMPLETED, item_id: 'item_1', ...event });
    await transcriptions.end(false);
    expect(outcomes).to.have.length(1);
    return outcomes[0]?.audioSeconds;
  }

  it('charge the reported seconds, each second that has begun', async () => {
    expect(await secondsFor({ usage: { type: 'duration', seconds: 1.2 } })).to.equal(2);
  });

  for (const [what, event] of [
    ['zero seconds', { usage: { type: 'duration', seconds: 0 } }],
    ['negative seconds', { usage: { type: 'duration', seconds: -1 } }],
    ['no seconds', { usage: { type: 'duration' } }],
    ['no usage', {}],
  ] as const) {
    it(`charge the heard seconds if the upstream reports ${what}`, async () => {
      expect(await secondsFor(event)).to.equal(3);
    });
  }
});

import { expect } from 'chai';
import { checkResponse, checkSession, type SessionRules } from '../../../text/realtime/settings.ts';

const RULES: SessionRules = {
  model: 'm',
  maxOutputTokens: 100,
  vendorAnswersSpeech: false,
  transcriptions: new Map(),
};

describe('the settings of a session', () => {
  it('may be null, also for fields that are refused or objects', () => {
    // contract 4.16:70
    const sent = { temperature: null, audio: null, prompt: null, instructions: 'Hi' };
    expect(checkSession(sent, RULES).settings).to.deep.equal({ instructions: 'Hi' });
    expect(checkResponse(sent, RULES).settings).to.deep.equal({ instructions: 'Hi' });
    expect(() => checkSession({ temperature: 1 }, RULES)).to.throw('"session.temperature" is not supported');
  });

  it('may have a custom voice by its id', () => {
    // contract 4.16:71
    const audio = (voice: unknown) => ({ audio: { output: { voice } } });
    for (const voice of ['marin', { id: 'voice_1' }]) {
      expect(checkSession(audio(voice), RULES).settings).to.deep.equal(audio(voice));
    }
    for (const voice of [{}, { id: 1 }, { id: 'voice_1', name: 'x' }]) {
      expect(() => checkSession(audio(voice), RULES)).to.throw('"session.audio.output.voice" must be');
    }
  });
});

import { expect } from 'chai';
import { readClientEvent } from '../../../text/realtime/client-events.ts';
import { bytesOfAudio, cutAudio, writeEvent } from '../../../text/realtime/long-audio.ts';

const LONG = 'QUJD'.repeat(50_000);
const OTHER = 'REVG'.repeat(50_000);
const RULES = { model: 'm', maxOutputTokens: 10, vendorAnswersSpeech: false, transcriptions: new Map() };

describe('Long audio', () => {
  it('is not in the JSON of an event, and is written back as it was', () => {
    const part = (audio: string) => ({ type: 'input_audio', audio });
    const content = [part(LONG), { type: 'input_text', text: ',"audio":"short"' }, part(OTHER), part('QUJD')];
    const event = { type: 'conversation.item.create', item: { type: 'message', content } };
    for (const space of [undefined, 2]) {
      const { message, longAudio } = cutAudio(Buffer.from(JSON.stringify(event, null, space)));
      expect(message.length).to.be.below(2_000);
      expect([...longAudio.values()].map(String)).to.deep.equal([LONG, OTHER]);
      const written = writeEvent(JSON.parse(message.toString()), longAudio);
      expect(JSON.parse(written.toString())).to.deep.equal(event);
    }
  });

  it('stays in an event if it has escapes or other characters than ASCII, or if its field has another name', () => {
    const other = [{ audio: `${LONG}\\` }, { audio: `${LONG}é` }, { text: LONG }, { 'x"audio': LONG }];
    for (const event of other) {
      const sent = Buffer.from(JSON.stringify(event));
      expect(cutAudio(sent).message, Object.keys(event)[0]).to.equal(sent);
    }
  });

  it('counts as audio of its event wherever it is, so that no hold leaves it out', () => {
    const sent = { type: 'conversation.item.create', item: { type: 'message', content: [{ inner: { audio: LONG } }] } };
    const { audioBytes, longAudio } = readClientEvent(Buffer.from(JSON.stringify(sent)), RULES);
    expect(audioBytes).to.equal(150_000);
    expect(bytesOfAudio(longAudio)).to.equal(150_000);
  });

  it('is left out of an event if a later field has its name, as JSON is read', () => {
    const { message, longAudio } = cutAudio(Buffer.from(`{"audio":"${LONG}","audio":"${OTHER}"}`));
    expect(JSON.parse(writeEvent(JSON.parse(message.toString()), longAudio).toString())).to.deep.equal({
      audio: OTHER,
    });
  });
});

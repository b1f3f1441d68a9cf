import { expect } from 'chai';
import { useSimulator } from '../../support/simulator.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { type Answer, ask as askSimulator, MODEL, type Question } from './clients.ts';

const weather = {
  name: 'get_weather',
  schema: {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Paris', 'Rome'] }, days: { type: 'integer', minimum: 2 } },
    required: ['city', 'days'],
  },
};
const time = { name: 'get_time', schema: { type: 'object', properties: {} } };
const tools = [weather, time];
const weatherCall = { name: 'get_weather', args: { city: 'Paris', days: 2 } };
const timeCall = { name: 'get_time', args: {} };
const THINKING_MODELS = ['textg-6-sol', 'texth-4-argon', 'texti-k3', 'textj-4.7', 'textk-5.3', 'textl-v4.1-flash'];

for (const format of WIRE_FORMAT_NAMES) {
  for (const stream of [false, true]) {
    describe(`simulated text, ${format}, ${stream ? 'streamed' : 'whole'}`, () => {
      const simulator = useSimulator();

      const ask = (prompt: string, question: Omit<Question, 'prompt'> = {}): Promise<Answer> =>
        askSimulator(format, simulator.url, { prompt, ...question }, stream);

      it('echoes a short reply without its directives', async () => {
        const answer = await ask('[sim:chunk_ms=0] How are you?');
        expect(answer).to.deep.include({ text: 'You said: How are you?', finish: 'stop', reasoning: '' });
        expect(answer.usage.output).to.equal(5);
      });

      it('answers with the text of a directive', async () => {
        expect((await ask('[sim:say=Good_day,_you] x')).text).to.equal('Good day');
      });

      it('follows the last of several directives, anywhere in the prompt', async () => {
        expect((await ask('[sim:say=late]', { system: '[sim:say=early,cached=3]' })).text).to.equal('late');
      });

      it('starts with reasoning if the model reasons, unless the request turns reasoning off', async () => {
        for (const model of THINKING_MODELS) expect((await ask('Hi', { model })).reasoning, model).to.match(/^Let me/);
        expect((await ask('Hi', { model: MODEL })).reasoning).to.equal('');
        expect((await ask('[sim:reasoning=0]', { model: 'texti-k3' })).reasoning).to.equal('');
      });

      it('calls the tools of a directive with arguments that match', async () => {
        const one = await ask('[sim:tool=get_weather]', { tools });
        expect(one).to.deep.include({ text: '', calls: [weatherCall], finish: 'tool-calls' });
        const both = await ask('[sim:tools=get_time+get_weather,say=Wait]', { tools });
        expect(both).to.deep.include({ text: 'Wait', calls: [timeCall, weatherCall] });
      });

      it('obeys the tool choice', async () => {
        expect((await ask('Hi', { tools, toolChoice: { type: 'required' } })).calls).to.deep.equal([weatherCall]);
        expect((await ask('Hi', { tools, toolChoice: { type: 'tool', name: 'get_time' } })).calls).to.deep.equal([
          timeCall,
        ]);
        expect((await ask('Call get_time with {}', { tools, toolChoice: { type: 'none' } })).calls).to.deep.equal([]);
      });

      it('counts images as input', async () => {
        const [without, one, two] = await Promise.all([
          ask('Look'),
          ask('Look', { imageCount: 1 }),
          ask('Look', { imageCount: 2 }),
        ]);
        const [first = 0, second = 0, third = 0] = [without, one, two].map((answer) => answer.usage.input);
        expect(second - first).to.be.greaterThan(50);
        expect(third - second).to.equal(second - first);
      });

      it('reports a repeated long prompt as cached', async () => {
        const system = `${format} ${stream} ${'many words '.repeat(200)}`;
        const first = await ask('One', { system });
        const second = await ask('Two', { system });
        expect([first.usage.cached, second.usage.input]).to.deep.equal([0, first.usage.input]);
        expect(second.usage.cached).to.be.within(300, first.usage.input ?? 0);
      });
    });
  }
}

import { expect } from 'chai';
import { ServiceError } from '../../domain/errors.ts';
import type { AnswerPart, OutputFormat, TextRequest, Tool } from '../../text/canonical.ts';
import { collect } from '../../text/collect.ts';
import { FORMATS } from '../../text/formats.ts';
import { runStage } from '../../text/stage.ts';
import { planOutput } from '../../text/structured-output.ts';
import type { UpstreamOptions } from '../../text/wire-format.ts';
import { eventsOf } from './answers.ts';
import { textRequest, textResult } from './support.ts';

type Settings = Pick<UpstreamOptions, 'structuredOutput' | 'checkOutput'>;

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const BY_SCHEMA: OutputFormat = { type: 'json-schema', name: 'place', schema: SCHEMA };
const LOOK: Tool = { name: 'look', parameters: {} };

const plan = (fields: Partial<TextRequest>, settings: Settings, upstream: keyof typeof FORMATS = 'chat-completions') =>
  planOutput(FORMATS[upstream], textRequest(fields), settings);

/** The parts and the finish reason of an answer after the stage of a plan. */
function answered(planned: ReturnType<typeof plan>, parts: readonly AnswerPart[]) {
  const hasCall = parts.some(({ type }) => type === 'tool-call');
  const events = [...eventsOf(textResult({ parts, finish: { reason: hasCall ? 'tool-calls' : 'stop' } }))];
  const [choice] = collect(planned.stage === null ? events : runStage(events, planned.stage)).choices;
  return [choice?.parts, choice?.finish.reason];
}

const said = (text: string): AnswerPart => ({ type: 'text', text });
const called = (name: string, json: string): AnswerPart => ({ type: 'tool-call', callId: name, name, arguments: json });

describe('structured output', () => {
  it('changes nothing over an upstream with a field for a schema, unless the answer is to be checked', () => {
    const request = textRequest({ outputFormat: BY_SCHEMA });
    expect(planOutput(FORMATS.responses, request, {})).to.deep.equal({ request, stage: null });
    expect(planOutput(FORMATS.responses, request, { checkOutput: true }).stage).to.not.equal(null);
  });

  it('is by a tool for Gemini models that refuse a request with tools for JSON, and in words without a schema', () => {
    // contract 4.8:71
    const native = FORMATS['generate-content'];
    const planFor = (model: string, fields: Partial<TextRequest>) =>
      planOutput(native, textRequest(fields), { model }).request;
    const bySchema = { outputFormat: BY_SCHEMA, tools: [LOOK] };
    const refused = planFor('gemini-2.5-flash', bySchema);
    expect(refused.tools.map(({ name }) => name)).to.deep.equal(['look', 'answer']);
    expect(refused.outputFormat).to.equal(undefined);
    const inWords = planFor('gemini-2.5-flash', { outputFormat: { type: 'json-object' }, tools: [LOOK] });
    expect(inWords.outputFormat).to.equal(undefined);
    expect(inWords.turns[0]?.role).to.equal('system');
    expect(planFor('gemini-2.5-flash', { outputFormat: BY_SCHEMA }).outputFormat).to.equal(BY_SCHEMA);
    expect(planFor('gemini-3.8-flash', bySchema).outputFormat).to.equal(BY_SCHEMA);
  });

  describe('by a tool', () => {
    const settings: Settings = { structuredOutput: 'tool' };

    it('leaves the client’s own tools callable, and adds one under an unused name', () => {
      const answer: Tool = { ...LOOK, name: 'answer' };
      const { request } = plan({ outputFormat: BY_SCHEMA, tools: [LOOK, answer] }, settings);
      expect(request.tools.map(({ name }) => name)).to.deep.equal(['look', 'answer', 'answer_']);
      expect(request.toolChoice).to.deep.equal({ type: 'required' });
      expect(request.outputFormat).to.equal(undefined);
    });

    it('adds none where the client’s own tools must be called, and forces it where they must not', () => {
      const fields = { outputFormat: BY_SCHEMA, tools: [LOOK] };
      const forced = plan({ ...fields, toolChoice: { type: 'required' } }, settings);
      expect(forced.request).to.deep.include({ tools: [LOOK], toolChoice: { type: 'required' } });
      const barred = plan({ ...fields, toolChoice: { type: 'none' } }, settings);
      expect(barred.request.toolChoice).to.deep.equal({ type: 'tool', name: 'answer' });
    });

    it('returns the arguments as the text, without the model’s other text', () => {
      const parts = [said('Sure.'), called('answer', '{"city":"Oslo"}'), said('Done.')];
      expect(answered(plan({ outputFormat: BY_SCHEMA }, settings), parts)).to.deep.equal([
        [said('{"city":"Oslo"}')],
        'stop',
      ]);
    });

    it('returns the first of two answers', () => {
      const twice = [
        called('answer', '{"city":"Oslo"}'),
        { ...called('answer', '{}'), callId: 'second' } as AnswerPart,
      ];
      expect(answered(plan({ outputFormat: BY_SCHEMA }, settings), twice)).to.deep.equal([
        [said('{"city":"Oslo"}')],
        'stop',
      ]);
    });

    it('passes on calls of the client’s tools, and the text of a model that calls nothing', () => {
      const planned = () => plan({ outputFormat: BY_SCHEMA, tools: [LOOK] }, settings);
      const parts = [said('I look.'), called('look', '{}')];
      expect(answered(planned(), parts)).to.deep.equal([parts, 'tool-calls']);
      expect(answered(planned(), [said('{}')])).to.deep.equal([[said('{}')], 'stop']);
    });

    it('refuses a schema that no tool can have, so that the next route is tried', () => {
      const outputFormat = { ...BY_SCHEMA, schema: { type: 'array' } };
      expect(() => plan({ outputFormat }, settings)).to.throw(ServiceError, 'only schemas of the type "object"');
    });
  });

  describe('without a schema', () => {
    for (const outputFormat of [{ type: 'json-object' }, { type: 'json-schema', name: 'x' }] as const) {
      it(`(${outputFormat.type}) is requested in words after the system text, and checked, where upstreams need a schema`, () => {
        // contract 4.8:24
        const system = { role: 'system', parts: [{ type: 'text', text: 'Be kind.' }] } as const;
        const turns = [system, ...textRequest().turns];
        for (const planned of [
          plan({ outputFormat, turns }, {}, 'messages'),
          plan({ outputFormat, turns }, { structuredOutput: 'tool' }),
        ]) {
          expect(planned.request.outputFormat).to.equal(undefined);
          expect(planned.request.turns.map(({ role }) => role)).to.deep.equal(['system', 'system', 'user']);
          expect(planned.request.turns[1]?.parts[0])
            .to.have.property('text')
            .that.matches(/one JSON object/);
          expect(planned.stage).to.not.equal(null);
        }
        expect(plan({ outputFormat, turns }, {}).stage).to.equal(null);
      });

      it(`(${outputFormat.type}) is requested in words as well, and checked, where the field allows any value`, () => {
        const { request, stage } = plan({ outputFormat }, {}, 'generate-content');
        expect(request.outputFormat).to.deep.equal(outputFormat);
        expect(request.turns.map(({ role }) => role)).to.deep.equal(['system', 'user']);
        expect(stage).to.not.equal(null);
      });
    }
  });

  describe('that is checked', () => {
    const check = (outputFormat: OutputFormat, parts: readonly AnswerPart[], reason: 'stop' | 'length' = 'stop') => {
      const { stage } = plan({ outputFormat }, { checkOutput: true });
      const events = [...eventsOf(textResult({ parts, finish: { reason } }))];
      return () => stage && runStage(events, stage);
    };

    it('checked output passes unchanged when it matches the schema', () => {
      expect(check(BY_SCHEMA, [said('{"city":'), said('"Oslo"}')])).to.not.throw();
      expect(check({ type: 'json-object' }, [said(' {} ')])).to.not.throw();
    });

    it('checked output is refused with the reason when it does not match', () => {
      const refusals: readonly (readonly [OutputFormat, string, string])[] = [
        [BY_SCHEMA, '{"city":1}', '"city" must be of the type string'],
        [BY_SCHEMA, '{}', '"city" is missing'],
        [BY_SCHEMA, '', 'it is not JSON'],
        [{ type: 'json-object' }, '```json\n{}\n```', 'it is not JSON'],
        [{ type: 'json-object' }, '[1]', 'it is not an object'],
        [{ type: 'json-object' }, `"${'x'.repeat(2 ** 20)}"`, 'it is longer than'],
      ];
      for (const [format, text, reason] of refusals) expect(check(format, [said(text)])).to.throw(ServiceError, reason);
    });

    it('checked output is not refused when it was cut at its bound, or is a call', () => {
      expect(check(BY_SCHEMA, [said('{"city":"Os')], 'length')).to.not.throw();
      expect(check(BY_SCHEMA, [called('look', '{}')])).to.not.throw();
    });
  });
});

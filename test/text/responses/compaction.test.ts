import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { planConversion } from '../../../text/convert.ts';
import { FORMATS } from '../../../text/formats.ts';
import { planForwarding } from '../../../text/forward.ts';
import { Meter } from '../../../text/meter.ts';
import { parseRequest } from '../../../text/responses/parse-request.ts';
import { runStage } from '../../../text/stage.ts';
import { eventsOf } from '../answers.ts';
import { eventsOfText, fromBytes, renderContext, streamedTo, textResult } from '../support.ts';

const { responses, messages } = FORMATS;
const OPTIONS = { model: 'up', apiKey: 'secret', compatibility: 'full', origin: 'vendor responses' } as const;
const QUESTION = { role: 'user', content: 'Sort the files.' };
const TOOLS = [{ type: 'function', name: 'look', parameters: {} }];
const BODY = { model: 'm', tools: TOOLS, input: [QUESTION, { type: 'compaction_trigger' }] };
const SUMMARY = textResult({
  parts: [
    { type: 'reasoning', text: 'Hm.' },
    { type: 'text', text: 'The user sorts files: größte zuerst.' },
  ],
});

const readFull = (body: unknown) => parseRequest(body, { compatibility: 'full' });

function planned(body: JsonObject) {
  const request = readFull(body);
  const context = renderContext(request);
  return { conversion: planConversion(responses, messages, request, OPTIONS, new Meter()), context };
}

function summarized(): JsonObject {
  const { conversion, context } = planned(BODY);
  return objectOf(conversion.convertResult(messages.client.renderResult(SUMMARY, context), context));
}

describe('a request for a summary of the conversation', () => {
  it('asks a model of another format in words, and for no calls', () => {
    // contract 4.8.2:74
    const { body } = planned(BODY).conversion.upstreamRequest;
    expect(JSON.stringify(body['messages'])).to.contain('Summarize the conversation so far');
    expect(body['tool_choice']).to.deep.equal({ type: 'none' });
  });

  it('gets one item, whole and in a stream', () => {
    // contract 4.8.2:74
    const whole = summarized();
    expect(listOf(whole['output']).map((item) => objectOf(item)['type'])).to.deep.equal(['compaction']);
    const { conversion, context } = planned(BODY);
    const bytes = Buffer.from(streamedTo(messages, [...eventsOf(SUMMARY)], context));
    const streamed = runStage([bytes], fromBytes(conversion.convertStream(context))).join('');
    const events = eventsOfText(streamed).map(({ data }) => objectOf(JSON.parse(data)));
    expect(events.map(({ type }) => type)).to.deep.equal([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(objectOf(events.at(-1)?.['response'])['output']).to.deep.equal(whole['output']);
  });

  it('gives models of every format a summary that they read in later requests', () => {
    // contract 4.8.2:74
    const body = { model: 'm', input: [...listOf(summarized()['output']), QUESTION] };
    const text = 'größte zuerst';
    for (const format of WIRE_FORMAT_NAMES) {
      const converted = planConversion(responses, FORMATS[format], readFull(body), OPTIONS, new Meter());
      expect(JSON.stringify(converted.upstreamRequest.body), format).to.contain(text);
    }
    const forwarded = planForwarding(responses.upstream, body, readFull(body), OPTIONS, new Meter());
    expect(JSON.stringify(forwarded.upstreamRequest.body['input'])).to.contain(text).and.not.contain('compaction');
  });

  it('reaches a model of the format unchanged', () => {
    // contract 4.8.2:73
    const { upstreamRequest } = planForwarding(responses.upstream, BODY, readFull(BODY), OPTIONS, new Meter());
    expect(upstreamRequest.body['input']).to.deep.equal(BODY.input);
  });

  it('gets an item of another Genway, which reaches that Genway again as it was', () => {
    // contract 4.8.2:73
    const forwarding = planForwarding(responses.upstream, BODY, readFull(BODY), OPTIONS, new Meter());
    const [summary] = listOf(summarized()['output']);
    const answered = objectOf(forwarding.checkResult(summarized()));
    const [item] = listOf(answered['output']);
    expect(objectOf(item)['type']).to.equal('compaction');
    const body = { model: 'm', input: [item, QUESTION] };
    const back = planForwarding(responses.upstream, body, readFull(body), OPTIONS, new Meter()).upstreamRequest.body;
    const { id: _id, ...sent } = objectOf(summary);
    expect(back['input']).to.deep.equal([sent, QUESTION]);
  });

  it('gets an empty message from a model that writes nothing, so that the agent keeps the conversation', () => {
    const empty = textResult({ parts: [{ type: 'reasoning', text: 'Hm.' }], finish: { reason: 'length' } });
    const { conversion, context } = planned(BODY);
    const answer = objectOf(conversion.convertResult(messages.client.renderResult(empty, context), context));
    expect(JSON.stringify(answer['output'])).to.not.contain('compaction');
  });
});

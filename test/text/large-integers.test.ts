import { expect } from 'chai';
import { objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { parseAnswer } from '../../text/answer-json.ts';
import { eventsOfPart } from '../../text/collect.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { parseJson } from '../../text/json/parse.ts';
import { writeInSteps } from '../../text/json/write.ts';
import { Meter } from '../../text/meter.ts';
import { runStage } from '../../text/stage.ts';
import { runAtOnce } from '../../text/json/steps.ts';
import { MODEL, NEXT } from './next-request.ts';
import { fromBytes, renderContext, streamedTo, textResult } from './support.ts';

/** Ids of other services, which a JavaScript number would round. */
const DIGITS = ['2512292042121000001', '-9223372036854775807'];
const CALL = {
  type: 'tool-call',
  callId: 'call_1',
  name: 'look',
  arguments: `{"ids":[1,${DIGITS[0]}],"of":{"id":${DIGITS[1]},"price":1.5}}`,
} as const;
const options = { model: 'upstream-model', apiKey: 'secret' };

function bytesOf(value: unknown): Buffer {
  return Buffer.concat(runAtOnce(writeInSteps(value)));
}

function expectDigits(text: string): void {
  for (const digits of DIGITS) expect(text).to.include(digits);
}

describe('large integers in the arguments of a tool call', () => {
  const context = renderContext();
  const result = textResult({ parts: [CALL], finish: { reason: 'tool-calls' } });
  const stream = [...eventsOfPart(CALL, 'part_1'), { type: 'finish', reason: 'tool-calls' } as const];

  function conversion(client: WireFormatName, upstream: WireFormatName): ReturnType<typeof planConversion> {
    return planConversion(FORMATS[client], FORMATS[upstream], context.request, options, new Meter());
  }

  for (const upstream of WIRE_FORMAT_NAMES) {
    for (const client of WIRE_FORMAT_NAMES) {
      // contract 4.8:60
      it(`keep their digits in answers of ${upstream} to ${client}, and in the next request`, async () => {
        const answer = await parseAnswer(bytesOf(FORMATS[upstream].client.renderResult(result, context)));
        const converted = bytesOf(conversion(client, upstream).convertResult(answer, context));
        expectDigits(converted.toString());
        const body = NEXT[client](objectOf(await parseJson(converted)));
        const address = client === 'generate-content' ? { address: { model: MODEL, stream: false } } : {};
        const next = FORMATS[client].client.parseRequest(objectOf(await parseJson(bytesOf(body))), address);
        expectDigits(bytesOf(FORMATS[upstream].upstream.buildRequest(next, options).body).toString());
      });

      // contract 4.8:60
      it(`keep their digits in streams of ${upstream} to ${client}`, () => {
        const bytes = Buffer.from(streamedTo(FORMATS[upstream], stream));
        const streamed = runStage([bytes], fromBytes(conversion(client, upstream).convertStream(context))).join('');
        expectDigits(streamed);
      });
    }
  }
});

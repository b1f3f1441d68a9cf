import { expect } from 'chai';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { WIRE_FORMAT_NAMES } from '../../../domain/wire-format-name.ts';
import { adoptBody } from '../../../text/chat-completions/adopt-body.ts';
import { planConversion } from '../../../text/convert.ts';
import { FORMATS } from '../../../text/formats.ts';
import { Meter } from '../../../text/meter.ts';
import { parseRequest } from '../../../text/responses/parse-request.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const { responses } = FORMATS;
const OPTIONS = { model: 'up', apiKey: 'secret', compatibility: 'full' } as const;
const TOOLS = [{ type: 'apply_patch' }, { type: 'local_shell' }, { type: 'shell', environment: { type: 'local' } }];
const RECORDS = [
  { type: 'shell_call', call_id: 'call_1', action: { commands: ['ls'] } },
  {
    type: 'shell_call_output',
    call_id: 'call_1',
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
];
const QUESTION = { role: 'user', content: 'List the files.' };

const readFull = (body: unknown) => parseRequest(body, { compatibility: 'full' });
const refusal = createRefusalReader(readFull);

function forwarded(body: JsonObject): JsonObject {
  return responses.upstream.forwardRequest(body, readFull(body), OPTIONS).body;
}

describe('the vendor’s tools that the client of responses runs', () => {
  const body = { model: 'm', input: [QUESTION, ...RECORDS], tools: TOOLS };

  it('reach an upstream of the format, with the records of their calls', () => {
    // contract 4.8.2:72
    expect(forwarded(body)).to.deep.include({ input: [QUESTION, ...RECORDS], tools: TOOLS });
  });

  it('run in the client’s environment by default, and in no other', () => {
    // contract 4.8.2:72
    const shell = (environment?: unknown) => ({ ...body, tools: [{ type: 'shell', environment }] });
    expect(forwarded(shell())).to.deep.include({ tools: [{ type: 'shell', environment: { type: 'local' } }] });
    expect(refusal(shell({ type: 'container_auto' }))).to.contain(
      '"tools[0].environment.type" must be one of: [local]',
    );
  });

  for (const format of WIRE_FORMAT_NAMES) {
    it(`are refused, also with their records alone, in a request that is converted for ${format}`, () => {
      // contract 4.8.2:72
      for (const [sent, type] of [
        [{ ...body, input: 'Hi' }, 'apply_patch'],
        [{ ...body, tools: [] }, 'shell_call'],
      ] as const) {
        const convert = () => planConversion(responses, FORMATS[format], readFull(sent), OPTIONS, new Meter());
        expect(convert).to.throw(`the model does not know "${type}"`);
      }
    });
  }

  it('are refused in a body of responses at chat completions', () => {
    // contract 4.8.2:72
    const adopt = createRefusalReader((sent) => adoptBody(objectOf(sent)));
    expect(adopt(body)).to.contain('the model does not know "apply_patch"');
  });
});

/** A conversation whose vendor changes between two turns: vendors refuse signatures that they did not make. */
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { FORMATS } from '../../../text/formats.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ASK, textModel, useTestText } from '../../support/text.ts';
import { NEXT } from '../../text/next-request.ts';
import { renderContext, textResult } from '../../text/support.ts';

const SIGNATURE = 'c2lnbmF0dXJlIG9mIHRoZSBmaXJzdCB2ZW5kb3I0';

/** An answer that a vendor of the format signed. */
function signedAnswer(format: WireFormatName): JsonObject {
  const thought = { type: 'reasoning', text: 'Hm.', signature: SIGNATURE } as const;
  const call = { type: 'tool-call', callId: 'call_1', name: 'look', arguments: '{}', signature: SIGNATURE } as const;
  const result = textResult({ parts: [thought, call], finish: { reason: 'tool-calls' } });
  return FORMATS[format].client.renderResult(result, renderContext());
}

/** The client shows reasoning, so that it has every signature. */
const FIELDS: Readonly<Record<WireFormatName, JsonObject>> = {
  'chat-completions': {},
  responses: { include: ['reasoning.encrypted_content'] },
  messages: { thinking: { type: 'adaptive' }, max_tokens: 1000 },
  'generate-content': { generationConfig: { thinkingConfig: { includeThoughts: true } } },
};

describe('a conversation that fails over between two turns', () => {
  let answer: (response: ServerResponse) => void;
  const first = useScriptedUpstream((_request, response) => answer(response));
  const modelOf = (from: WireFormatName, to: WireFormatName): string => `${from}-then-${to}`;
  const text = useTestText(() => ({
    upstreams: [{ name: 'first', apiKeys: ['k-1'], baseUrls: first.baseUrls }],
    models: WIRE_FORMAT_NAMES.flatMap((from) =>
      WIRE_FORMAT_NAMES.map((to) =>
        textModel(modelOf(from, to), [{ format: from, provider: 'first' }, { format: to }], { compatibility: 'full' }),
      ),
    ),
  }));
  beforeEach(() => text.resumeUpstreams());

  for (const client of WIRE_FORMAT_NAMES) {
    it(`goes on, for a client of ${client} over all pairs of formats`, async () => {
      for (const from of WIRE_FORMAT_NAMES) {
        for (const to of WIRE_FORMAT_NAMES) {
          const model = modelOf(from, to);
          answer = (response) => response.end(JSON.stringify(signedAnswer(from)));
          const { path, body } = ASK[client](model, 'Look.', false);
          const firstTurn = await text.post(path, { ...body, ...FIELDS[client] });
          const received = await firstTurn.text();
          expect(firstTurn.status, received).to.equal(200);

          answer = (response) => response.writeHead(503).end('{}');
          const { model: _, ...next } = NEXT[client](objectOf(JSON.parse(received)));
          const named = client === 'generate-content' ? {} : { model };
          const secondTurn = await text.post(path, { ...next, ...named, ...FIELDS[client] });
          expect(secondTurn.status, `${from} to ${to}: ${await secondTurn.text()}`).to.equal(200);
          const [sent] = await text.seen(1);
          expect(JSON.stringify(sent?.body)).to.contain('"look"').and.to.not.contain(SIGNATURE);
          text.resumeUpstreams();
        }
      }
    });
  }
});

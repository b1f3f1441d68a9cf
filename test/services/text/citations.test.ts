/** Answers of messages upstreams that cite the client’s documents. */
import { expect } from 'chai';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ASK, textModel, useTestText } from '../../support/text.ts';

const CITATION = {
  type: 'char_location',
  cited_text: 'Oslo',
  document_index: 0,
  start_char_index: 0,
  end_char_index: 4,
};
const USAGE = { input_tokens: 5, output_tokens: 3 };
const WHOLE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'at-the-vendor',
  content: [{ type: 'text', text: 'Oslo', citations: [CITATION] }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
};
const STREAM = [
  { type: 'message_start', message: { ...WHOLE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: [] } },
  { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: CITATION } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Oslo' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
];

describe('an answer with citations', () => {
  const vendor = useScriptedUpstream((_request, response, body) => {
    if (!body.includes('"stream":true')) return response.end(JSON.stringify(WHOLE));
    response.setHeader('content-type', 'text/event-stream');
    return response.end(STREAM.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  });
  const text = useTestText(() => ({
    upstreams: [{ name: 'vendor', apiKeys: ['k-1'], baseUrls: vendor.baseUrls }],
    models: [
      textModel('cites', [{ format: 'messages', provider: 'vendor', model: 'at-the-vendor' }], {
        compatibility: 'full',
        reasoning: true,
      }),
    ],
  }));

  for (const stream of [false, true]) {
    it(`reaches a client that does not think, under the client’s name of the model, ${stream ? 'streamed' : 'whole'}`, async () => {
      // contract 4.8.3:24
      const source = { type: 'text', media_type: 'text/plain', data: 'Oslo' };
      const content = [{ type: 'document', source, title: 'Cities', citations: { enabled: true } }];
      const { path, body } = ASK.messages('cites', '', stream);
      const response = await text.post(path, { ...body, messages: [{ role: 'user', content }] });
      expect(response.headers.get('x-genway-ignored')).to.equal(null);
      const answer = await response.text();
      expect(answer).to.include(JSON.stringify(CITATION)).and.include('"cites"').and.not.include('at-the-vendor');
    });
  }
});

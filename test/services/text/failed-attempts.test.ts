import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { listFailedAttempts } from '../../../db/queries/failed-text-attempts.ts';
import { useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { textModel, useTestText } from '../../support/text.ts';

const PROMPT = 'Say exactly: from the second';
const STARTED =
  '{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}';
const BEGUN = '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}';
const SAID =
  '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Once upon a time there was a kite."}}';
const OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"No."}}';
const CHUNK =
  '{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Once upon a time there was a kite."}}]}';

const eventOf = (data: string): string => `event: ${/"type":"([^"]+)"/.exec(data)?.[1]}\ndata: ${data}\n\n`;

describe('a failed attempt of a text request', () => {
  let script: (response: ServerResponse) => void;

  const first = useScriptedUpstream((_request, response) => script(response));
  const text = useTestText(() => ({
    upstreams: [{ name: 'first', apiKeys: ['k-1'], baseUrls: first.baseUrls }],
    models: [
      textModel('over', [{ format: 'messages', provider: 'first', model: 'm-1' }, { format: 'messages' }]),
      textModel('alone', [{ format: 'chat-completions', provider: 'first', model: 'm-2' }]),
    ],
  }));
  beforeEach(() => text.resumeUpstreams());

  function stream(response: ServerResponse, ...frames: readonly string[]): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames.join(''), () => setImmediate(() => response.destroy()));
  }

  /** Sends a request, and returns its row with the rows of its attempts. */
  async function ask(format: 'messages' | 'chat-completions', model: string) {
    const answer = await text.ask(format, model, PROMPT, { stream: true });
    await answer.text().catch(() => '');
    await text.idle();
    const request = await text.database('text_requests').orderBy('id', 'desc').first('id', 'outcome', 'upstream');
    const attempts = await text
      .database('failed_text_attempts')
      .where({ text_request_id: request.id })
      .orderBy('number');
    return { request, attempts };
  }

  it('has a row with the usage that its upstream reported, beside the request that another upstream answered', async () => {
    script = (response) => stream(response, eventOf(STARTED), eventOf(OVERLOADED));
    const { request, attempts } = await ask('messages', 'over');
    expect(request).to.include({ outcome: 'succeeded', upstream: 'simulator' });
    expect(attempts).to.have.length(1);
    expect(attempts[0]).to.include({ number: 1, model: 'over', upstream: 'first', upstream_model: 'm-1' });
    expect(attempts[0]).to.include({ input_tokens: '9', output_tokens: '1', estimated: false });
    const [kept] = await listFailedAttempts(text.database, request.id);
    expect(kept).to.include({ accountName: 'Test', inputTokens: '9', cost: null });
  });

  it('has a row with Genway’s own count, where the answer was cut off', async () => {
    script = (response) => stream(response, `data: ${CHUNK}\n\n`);
    const { request, attempts } = await ask('chat-completions', 'alone');
    expect(request.outcome).to.equal('failed');
    expect(attempts).to.have.length(1);
    expect(attempts[0]).to.include({ number: 1, upstream: 'first', upstream_model: 'm-2', estimated: true });
    expect(Number(attempts[0].input_tokens)).to.be.above(0);
    expect(Number(attempts[0].output_tokens)).to.be.above(5);
  });

  it('has exactly one row, also where the request fails with it', async () => {
    script = (response) => stream(response, ...[STARTED, BEGUN, SAID].map(eventOf));
    const { request, attempts } = await ask('messages', 'over');
    expect(request).to.include({ outcome: 'failed', upstream: 'first' });
    expect(attempts.map(({ input_tokens }) => input_tokens)).to.deep.equal(['9']);
  });

  it('has no row where it used nothing, nor has a successful attempt', async () => {
    script = (response) => response.writeHead(503).end('{}');
    const { request, attempts } = await ask('messages', 'over');
    expect([request.outcome, attempts]).to.deep.equal(['succeeded', []]);
  });
});

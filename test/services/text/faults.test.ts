/** The errors that clients receive when an upstream refuses, fails, breaks off or is silent: contract 7.1 and 7.2. */
import type { RequestListener } from 'node:http';
import { expect } from 'chai';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { type JsonObject, listOf } from '../../../domain/json.ts';
import { baseUrlsAt } from '../../../providers/text/settings.ts';
import { eventsOfText } from '../../text/support.ts';
import { REFUSING, useScriptedUpstream } from '../../support/scripted-upstream.ts';
import { ASK, modelVia, type TestText, textModel, useTestText } from '../../support/text.ts';

const BY_STATUS: readonly [number, number, string][] = [
  [400, 400, 'bad_request'],
  [401, 503, 'processing_unavailable'],
  [402, 503, 'processing_unavailable'],
  [403, 503, 'processing_unavailable'],
  [404, 503, 'processing_unavailable'],
  [408, 503, 'processing_timeout'],
  [413, 400, 'bad_request'],
  [422, 400, 'bad_request'],
  [429, 429, 'rate_limit_exceeded'],
  [500, 503, 'processing_failed'],
  [502, 503, 'processing_failed'],
  [503, 503, 'processing_unavailable'],
  [504, 503, 'processing_timeout'],
  [529, 503, 'processing_unavailable'],
];

const BY_CAUSE: readonly [string, number][] = [
  ['bad_request', 400],
  ['content_policy_violation', 400],
  ['rate_limit_exceeded', 429],
  ['processing_unavailable', 503],
  ['processing_timeout', 503],
  ['processing_failed', 503],
];

/** Faults after an answer started, and their outcome if the client has received none of it. */
const BREAKS: readonly [string, readonly string[]][] = [
  ['drop_after=0', ['result_transfer_failed', 'processing_failed']],
  ['malformed_after=0', ['processing_failed']],
];

function codeOf(format: WireFormatName, body: string): string {
  // The envelope of the format; the test fails on anything else.
  const { error } = JSON.parse(body) as { error: { code?: string; type: string } };
  return (format === 'messages' ? error.type : error.code) ?? '';
}

/** The code in the last frame of a stream. */
function lastCodeOf(format: WireFormatName, stream: string): string {
  const last =
    stream
      .trimEnd()
      .split(/\r?\n\r?\n/)
      .at(-1) ?? '';
  const data = last.slice(last.indexOf('data: ') + 'data: '.length);
  if (format !== 'generate-content') return codeOf(format, data);
  // The code is a number, which the SDKs look for.
  const { error } = JSON.parse(data) as { error: { code: number; status: string } };
  expect(error.code).to.be.within(400, 599);
  return error.status;
}

/** A model like that of `modelVia`, with full compatibility. */
function fullVia(format: WireFormatName): string {
  return `texta-full-via-${format}`;
}

/** The words by which agents recognise a prompt that is too long. */
const OVERFLOWS: Readonly<Record<WireFormatName, RegExp>> = {
  'chat-completions': /maximum context length is 5 tokens. However, your messages resulted in \d+ tokens/,
  responses: /exceeds the context window of this model \(\d+ tokens > 5 maximum\)/,
  messages: /prompt is too long: \d+ tokens > 5 maximum/,
  'generate-content': /input token count \(\d+\) exceeds the maximum number of tokens allowed \(5\)/,
};

describe('an upstream of a text model', () => {
  /** The paths and bodies of the requests that the scripted upstream received. */
  let calls: string[] = [];
  let bodies: string[] = [];
  let script: RequestListener;

  const scripted = useScriptedUpstream((request, response, body) => {
    calls.push(request.url ?? '');
    bodies.push(body);
    script(request, response);
  });
  const text = useTestText(() => ({
    upstreams: [
      { name: 'dead', apiKeys: ['sk-dead'], baseUrls: REFUSING },
      { name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: scripted.baseUrls },
      { name: 'nowhere', apiKeys: ['sk-nowhere'], baseUrls: baseUrlsAt('http://no-such-host.invalid') },
    ],
    models: [
      textModel('texta-dead', [{ format: 'messages', provider: 'dead' }]),
      textModel('texta-unknown', [{ format: 'messages', provider: 'nobody' }]),
      textModel('texta-scripted', [{ format: 'chat-completions', provider: 'scripted' }]),
      textModel('texta-scripted-responses', [{ format: 'responses', provider: 'scripted' }]),
      textModel('texta-scripted-messages', [{ format: 'messages', provider: 'scripted' }]),
      textModel('texta-lost', [
        { format: 'messages', provider: 'nowhere' },
        { format: 'responses', provider: 'dead' },
        { format: 'generate-content', provider: 'simulator' },
      ]),
      ...WIRE_FORMAT_NAMES.map((format) => textModel(fullVia(format), [{ format }], { compatibility: 'full' })),
      textModel('texta-renamed', [{ format: 'chat-completions', provider: 'simulator', model: 'secret-name' }]),
    ],
  }));

  const impatient = useTestText(() => ({
    maxSilenceMs: 2_000,
    upstreams: [{ name: 'scripted', apiKeys: ['sk-scripted'], baseUrls: scripted.baseUrls }],
    models: [textModel('texta-scripted', [{ format: 'chat-completions', provider: 'scripted' }])],
  }));

  beforeEach(() => {
    text.resumeUpstreams();
    calls = [];
    bodies = [];
    for (const { outcomes } of [text, impatient]) outcomes.length = 0;
  });

  it('leads to 400 free of charge in every format if it refuses by moderation, whole and in a started stream', async () => {
    // contract 4.8.4:15 7.2:2 7.2:31 8.3:11
    script = (_request, response) => {
      const isStream = bodies.at(-1)?.includes('"stream":true') === true;
      const cut = { index: 0, finish_reason: 'content_filter' };
      const choice = isStream ? { ...cut, delta: {} } : { ...cut, message: { role: 'assistant', content: 'Begun' } };
      const begun = { choices: [{ index: 0, delta: { content: 'Begun' }, finish_reason: null }] };
      const end = { choices: [choice], usage: { prompt_tokens: 9, completion_tokens: 9 } };
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
      response.end(
        isStream ? [begun, end].map((one) => `data: ${JSON.stringify(one)}\n\n`).join('') : JSON.stringify(end),
      );
    };
    for (const format of WIRE_FORMAT_NAMES) {
      const whole = await text.ask(format, 'texta-scripted', 'Hi');
      expect([whole.status, codeOf(format, await whole.text())]).to.deep.equal([400, 'content_policy_violation']);
      const stream = await text.ask(format, 'texta-scripted', 'Hi', { stream: true });
      expect(lastCodeOf(format, await stream.text())).to.equal('content_policy_violation');
    }
    await text.idle();
    expect(text.outcomes).to.have.lengthOf(2 * WIRE_FORMAT_NAMES.length);
    for (const outcome of text.outcomes) {
      expect(outcome).to.include({ status: 'failed', errorCode: 'content_policy_violation' });
    }
  });

  /** Asserts that the answer is an error of the format and that nothing is charged. */
  async function expectFailure(
    response: Response,
    format: WireFormatName,
    status: number,
    codes: readonly string[],
    asked: TestText = text,
  ): Promise<void> {
    const body = await response.text();
    expect(response.status, body).to.equal(status);
    expect(codes).to.include(codeOf(format, body));
    expect(body).to.contain(`(request id: ${response.headers.get('x-request-id')})`);
    expect(body).to.not.match(/simulat|sk-|127\.0\.0\.1|scripted/i);
    await asked.idle();
    expect(asked.outcomes.map((outcome) => outcome.status)).to.deep.equal(['failed']);
    expect(codes).to.include(asked.outcomes.pop()?.errorCode);
  }

  for (const upstream of WIRE_FORMAT_NAMES) {
    for (const [given, status, code] of BY_STATUS) {
      // The native format says 429 when an account has no funds.
      if (given === 402 && upstream === 'generate-content') continue;
      it(`an upstream is reported as ${status} ${code} if it answers ${given} in ${upstream}, streaming or not`, async () => {
        // contract 4.8:2 7.1:3 7.1:4 7.2:11 7.2:30 7.2:31 7.2:32 7.2:33 7.2:34 7.2:35
        for (const format of WIRE_FORMAT_NAMES) {
          text.resumeUpstreams();
          const response = await text.ask(format, modelVia(upstream), `[sim:status=${given}]`, {
            stream: format === 'messages' || format === 'generate-content',
          });
          expect(response.headers.has('retry-after')).to.equal(status === 429);
          await expectFailure(response, format, status, [code]);
        }
      });
    }

    for (const [cause, status] of BY_CAUSE) {
      it(`an upstream is reported with its cause if it fails with ${cause} in ${upstream}`, async () => {
        // contract 7.1:3
        for (const stream of [false, true]) {
          const response = await text.ask(upstream, modelVia(upstream), `[sim:fail=${cause}]`, { stream });
          await expectFailure(response, upstream, status, [cause]);
        }
      });
    }

    it(`leads to words that the client's agents know if it refuses the length of a prompt in ${upstream}`, async () => {
      // contract 7.2:36
      for (const format of WIRE_FORMAT_NAMES) {
        for (const stream of [false, true]) {
          const strict = await text.ask(format, modelVia(upstream), '[sim:context=5]', { stream });
          await expectFailure(strict.clone(), format, 400, ['bad_request']);
          expect(await strict.text()).to.match(OVERFLOWS[format]);
          const full = await text.ask(format, fullVia(upstream), '[sim:context=5]', { stream });
          const body = await full.text();
          expect(codeOf(format, body)).to.equal(format === 'messages' ? 'bad_request' : 'context_length_exceeded');
          expect(body).to.match(OVERFLOWS[format]);
          await text.idle();
          expect(text.outcomes.pop()).to.include({ status: 'failed', errorCode: 'bad_request' });
        }
      }
    });

    for (const [fault, codes] of BREAKS) {
      it(`fails the request if it breaks off a whole answer in ${upstream} (${fault})`, async () => {
        // contract 7.2:17
        for (const format of WIRE_FORMAT_NAMES) {
          const response = await text.ask(format, modelVia(upstream), `[sim:${fault}]`);
          await expectFailure(response, format, 503, codes);
        }
      });
    }

    it(`loses one event, which is counted, if it garbles one event of a stream in ${upstream}`, async () => {
      const counted = async (): Promise<number> =>
        Number(/^genway_text_unreadable_events_total\{.*\} (\d+)$/m.exec(await text.measured())?.[1] ?? 0);
      const before = await counted();
      for (const format of WIRE_FORMAT_NAMES) {
        const prompt = '[sim:tokens=9,malformed_after=3]';
        const response = await text.ask(format, modelVia(upstream), prompt, { stream: true });
        expect(await response.text())
          .to.contain('alpha')
          .and.not.contain('"error":{');
        await text.idle();
        expect(text.outcomes.splice(0).map((outcome) => outcome.status)).to.deep.equal(['succeeded']);
      }
      expect((await counted()) - before).to.equal(WIRE_FORMAT_NAMES.length);
    });

    it(`ends a response of a model with full compatibility as failed if it breaks off in ${upstream}`, async () => {
      // contract 7.1:9
      const prompt = '[sim:tokens=9,fail_after=3,fail=processing_unavailable]';
      const response = await text.ask('responses', fullVia(upstream), prompt, { stream: true });
      const events = eventsOfText(await response.text()).map(({ data }) => JSON.parse(data) as JsonObject);
      expect(events.at(-1)).to.deep.include({ type: 'response.failed', sequence_number: events.length - 1 });
      expect(events.at(-1)).to.have.nested.property('response.error.code', 'processing_unavailable');
      await text.idle();
      text.outcomes.splice(0);
    });

    for (const fault of ['drop_after=3', 'fail_after=3,fail=processing_unavailable']) {
      it(`ends a stream with an error after the delivered part if it breaks off in ${upstream} (${fault})`, async () => {
        // contract 4.8:3 7.1:8
        for (const format of WIRE_FORMAT_NAMES) {
          const prompt = `[sim:tokens=9,${fault}]`;
          const response = await text.ask(format, modelVia(upstream), prompt, { stream: true });
          expect(response.status).to.equal(200);
          const stream = await response.text();
          expect(stream).to.contain('alpha');
          expect(lastCodeOf(format, stream)).to.be.oneOf([
            'processing_failed',
            'processing_unavailable',
            'result_transfer_failed',
          ]);
          expect(stream).to.not.match(/\[DONE\]|message_stop|response\.completed|finishReason/);
          await text.idle();
          expect(text.outcomes.splice(0).map((outcome) => outcome.status)).to.deep.equal(['failed']);
        }
      });
    }
  }

  it('an upstream is unavailable if it cannot be reached', async () => {
    // contract 7.2:14 7.2:33
    await expectFailure(await text.ask('responses', 'texta-dead', 'Hi'), 'responses', 503, ['processing_unavailable']);
    await expectFailure(await text.ask('responses', 'texta-unknown', 'Hi'), 'responses', 503, [
      'processing_unavailable',
    ]);
  });

  it('an upstream is reported as failed if it closes the connection without an answer', async () => {
    // contract 7.2:16 7.2:35
    script = (request) => request.socket.destroy();
    const response = await text.ask('messages', 'texta-scripted', 'Hi', { stream: true });
    await expectFailure(response, 'messages', 503, ['processing_failed']);
  });

  for (const ending of ['drop', 'event: error\ndata: {"type":"error","code":"server_error"}\n\n']) {
    it(`leaves the numbering of events to the final error if it breaks off a response stream (${ending.slice(0, 5)})`, async () => {
      // contract 4.8.2:30
      script = (_request, response) => {
        const events = ['response.created', 'response.in_progress', 'response.output_text.delta'].map(
          (type, index) =>
            `event: ${type}\ndata: {"type":"${type}","sequence_number":${index},"delta":"Hi"}\n\n: still here\n\n`,
        );
        response.write(`: hello\n\n${events.join('')}`);
        if (ending === 'drop') setTimeout(() => response.destroy(), 20);
        else response.end(ending);
      };
      const response = await text.ask('responses', 'texta-scripted-responses', 'Hi', { stream: true });
      const events = eventsOfText(await response.text()).map(({ data }) => JSON.parse(data) as JsonObject);
      expect(events.map((event) => event['sequence_number'])).to.deep.equal([0, 1, 2, 3]);
      expect(events.at(-1)).to.have.property('type', 'error');
    });
  }

  it('gets no tool call ids that it would refuse, even in forwarded requests', async () => {
    const id = `call.${'x'.repeat(80)}`;
    script = (_request, response) => response.end('{}');
    await text.post('/v1/chat/completions', {
      model: 'texta-scripted',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: 'seen' },
      ],
    });
    await text.post('/v1/messages', {
      model: 'texta-scripted-messages',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id, name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'seen' }] },
      ],
    });
    expect(bodies.map((body) => body.match(/"call_x{59}"/g)?.length)).to.deep.equal([2, 2]);
  });

  it('an upstream is reported as timed out if it is silent before or in a whole answer', async () => {
    // contract 7.2:15
    script = () => {};
    const expectTimeout = async (): Promise<void> => {
      const response = await impatient.ask('messages', 'texta-scripted', 'Hi');
      await expectFailure(response, 'messages', 503, ['processing_timeout'], impatient);
    };
    await expectTimeout();
    script = (_request, response) => response.writeHead(200).write('{');
    await expectTimeout();
  });

  it('an upstream is reported as timed out if it is silent in the middle of a stream, which ends with an error', async () => {
    script = (_request, response) => {
      response.writeHead(200).write('data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n');
    };
    const expectTimeout = async (format: WireFormatName): Promise<void> => {
      const response = await impatient.ask(format, 'texta-scripted', 'Hi', { stream: true });
      expect(lastCodeOf(format, await response.text())).to.equal('processing_timeout');
    };
    const expectTimeoutOfArray = async (): Promise<void> => {
      const { body } = ASK['generate-content']('texta-scripted', 'Hi', true);
      const array = await impatient.post('/v1beta/models/texta-scripted:streamGenerateContent', body);
      expect(listOf(await array.json()).at(-1)).to.have.nested.property('error.status', 'processing_timeout');
    };
    await Promise.all([...WIRE_FORMAT_NAMES.map(expectTimeout), expectTimeoutOfArray()]);
    await impatient.idle();
    expect(impatient.outcomes.map(({ errorCode }) => errorCode)).to.deep.equal(Array(5).fill('processing_timeout'));
  });

  it('an upstream is reported as failed if it returns no valid answer', async () => {
    // contract 7.2:16
    for (const body of ['', 'null', '[]', '<html>', '{"choices":"many"}', '{}', '\u0000']) {
      script = (_request, response) => response.end(body);
      for (const stream of [false, true]) {
        const response = await text.ask('messages', 'texta-scripted', 'Hi', { stream });
        await expectFailure(response, 'messages', 503, ['processing_failed', 'result_transfer_failed']);
      }
    }
  });

  it('the wait that an upstream requests is passed on as a number', async () => {
    // contract 7.2:32
    const waits: readonly [string, string][] = [
      ['7', '7'],
      ['1.5', '2'],
      ['Wed, 21 Oct 2026 07:28:00 GMT', '5'],
      ['-3', '5'],
    ];
    for (const [given, told] of waits) {
      script = (_request, response) => response.writeHead(429, { 'retry-after': given }).end('{}');
      const response = await text.ask('responses', 'texta-scripted', 'Hi');
      expect(response.headers.get('retry-after')).to.equal(told);
      // contract 7.1:5
      expect(await response.clone().json()).to.have.nested.property('error.retry_after_seconds', Number(told));
      await expectFailure(response, 'responses', 429, ['rate_limit_exceeded']);
    }
  });

  it('an upstream is not trusted if it counts no tokens for an answer with text', async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const choice = { index: 0, finish_reason: 'stop' };
    const said = { role: 'assistant', content: 'and so it went on and on '.repeat(10) };
    script = (_request, response) => {
      const isStream = bodies.at(-1)?.includes('"stream":true') === true;
      const answer = { id: 'x', usage, choices: [{ ...choice, [isStream ? 'delta' : 'message']: said }] };
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      response.end(isStream ? `data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n` : JSON.stringify(answer));
    };
    for (const client of WIRE_FORMAT_NAMES) {
      for (const stream of [false, true]) {
        const response = await text.ask(client, 'texta-scripted', 'Hi', { stream });
        await response.text();
        await text.idle();
        await text.idle();
        const last = await text.database('text_requests').orderBy('id', 'desc').first('input_tokens', 'output_tokens');
        expect(Number(last.input_tokens)).to.be.within(1, 20);
        expect(Number(last.output_tokens)).to.be.within(60, 90);
      }
    }
  });

  it('whose answer is too long to deliver is paid for by a client that requested several answers or probabilities', async () => {
    // contract 8.3:13
    script = (_request, response) => {
      const head = bodies.at(-1)?.includes('"stream":true') === true ? 'data: {"choices":[' : '{"choices":[';
      response.on('error', () => {});
      response.write(head);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(2 ** 20, 'x')));
      };
      response.on('drain', more);
      more();
    };
    const several: readonly JsonObject[] = [{ n: 3 }, { logprobs: true }];
    for (const wish of several) {
      for (const stream of [false, true]) {
        const { path, body } = ASK['chat-completions']('texta-scripted', 'Hi', stream);
        const response = await text.post(path, { ...body, ...wish, max_tokens: 700 });
        expect(response.status).to.equal(400);
        expect(codeOf('chat-completions', await response.text())).to.equal('bad_request');
        await text.idle();
        await text.idle();
        const last = await text.database('text_requests').orderBy('id', 'desc').first('outcome', 'output_tokens');
        const tokens = String(700 * Number(wish['n'] ?? 1));
        expect(last).to.deep.equal({ outcome: 'disconnected', output_tokens: tokens });
      }
    }
  });

  it('an upstream is cut off if it never stops sending', async () => {
    script = (_request, response) => {
      response.on('error', () => {});
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(2 ** 20, 'x')));
      };
      response.on('drain', more);
      more();
    };
    for (const stream of [false, true]) {
      const response = await text.ask('chat-completions', 'texta-scripted', 'Hi', { stream });
      // On a busy machine the time of the answer may end before its bytes reach the limit.
      await expectFailure(response, 'chat-completions', 503, ['processing_failed', 'processing_timeout']);
    }
  });

  it('an upstream is followed by the next, also in another format, if it cannot be found or reached', async () => {
    const response = await text.ask('messages', 'texta-lost', 'Say exactly: from the third', { stream: true });
    expect(await response.text()).to.contain('third');
    await text.idle();
    expect(text.outcomes.pop()?.upstream).to.deep.equal({
      provider: 'simulator',
      format: 'generate-content',
      model: 'texta-lost',
    });
  });

  it('calls the model by the name of its route, which no client sees', async () => {
    for (const format of WIRE_FORMAT_NAMES) {
      for (const stream of [false, true]) {
        const response = await text.ask(format, 'texta-renamed', 'Hi', { stream });
        expect(await response.text())
          .to.contain('texta-renamed')
          .and.not.contain('secret-name');
        expect((await text.seen(1))[0]?.body['model']).to.equal('secret-name');
      }
    }
  });

  it('gets its own credentials and none of the client’s', async () => {
    for (const upstream of WIRE_FORMAT_NAMES) {
      await text.ask('messages', modelVia(upstream), 'Hi', { headers: { 'x-api-key': text.apiKey, cookie: 'a=b' } });
      const [seen] = await text.seen(1);
      expect(JSON.stringify(seen?.headers)).to.contain('sk-of-the-simulator');
      expect(JSON.stringify(seen)).to.not.contain(text.apiKey).and.not.contain('a=b');
    }
  });

  it('is named in the log when it fails, without keys and prompts', async () => {
    await text.ask('messages', modelVia('responses'), 'A secret wish [sim:status=500]');
    expect(text.logged()).to.contain('"upstream":"simulator"');
    expect(text.logged()).to.not.match(/sk-|secret wish/);
  });
});

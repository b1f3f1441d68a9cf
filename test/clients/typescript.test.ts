import { createHmac, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { findFreePort } from '../../bin/stack/ports.ts';
import { clientSchemas, TYPESCRIPT_FILE, writeTypeScript } from '../../bin/tools/client-types.ts';
import * as genway from '../../clients/typescript/src/index.ts';
import { pngFile } from '../support/media-files.ts';
import { type LocalServer, serveLocally } from '../../lab/stack/local-server.ts';
import { rejectionOf } from '../support/rejection.ts';
import { useTestStack } from '../support/stack.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGE = join(ROOT, 'clients/typescript');
const { Genway } = genway;

/** The row of an option in a table, alone or beside another option. */
const rowOf = (name = ''): RegExp => new RegExp(`^\\| [^|]*\`${name}\``, 'm');

describe('clients/typescript', () => {
  it('has types of answers generated from the API description', async () => {
    expect(await readFile(TYPESCRIPT_FILE, 'utf8')).to.equal(await writeTypeScript(clientSchemas()));
  });

  it('lists every option of the client, of a call and of a wait in its README', async () => {
    const readme = await readFile(join(PACKAGE, 'README.md'), 'utf8');
    for (const file of ['http.ts', 'tasks.ts']) {
      const source = await readFile(join(PACKAGE, 'src', file), 'utf8');
      for (const [, options = ''] of source.matchAll(/^export interface \w+Options \{\n(.*?)^\}/gms))
        for (const [, name] of options.matchAll(/^ {2}readonly (\w+)\?:/gm)) expect(readme).to.match(rowOf(name));
    }
  });

  describe('against a whole Genway', () => {
    const stack = useTestStack();
    let apiKey = '';
    const client = (options: genway.ClientOptions = {}) =>
      new Genway({ apiKey, baseUrl: stack.baseUrl, textBaseUrl: stack.textBaseUrl, ...options });

    before(async () => {
      await Promise.all([stack.api.start(), stack.text.start(), stack.worker.start()]);
      ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
    });

    it('continues through all pages of a list', async () => {
      const { apiKey: key } = await stack.createAccount({ fundedUsd: 10 });
      const own = client({ apiKey: key });
      const made = [];
      for (let count = 0; count < 5; count += 1) {
        made.push((await own.images.create({ model: 'imagea-2.5-sunburst', prompt: 'A fox' })).id);
      }
      const listed = [];
      for await (const { id } of own.images.list({ limit: 2 })) listed.push(id);
      expect(listed).to.deep.equal(made.toReversed());
    });

    it('uploads bytes and streams', async () => {
      const bytes = pngFile({ width: 64, height: 64 });
      async function* chunks() {
        yield bytes.subarray(0, 10);
        yield bytes.subarray(10);
      }
      for (const file of [bytes, new Blob([new Uint8Array(bytes)]), chunks()]) {
        const { id, mime_type: type } = await client().files.upload(file, { name: 'a "fox".png' });
        expect(type).to.equal('image/png');
        expect((await client().files.delete(id)).deleted).to.equal(true);
      }
    });

    it('waits for a task while the API is restarted', async () => {
      const created = await client().images.create({ model: 'imagea-2.5-sunburst', prompt: 'A fox' });
      const seen: string[] = [];
      const waiting = client({ maxRetries: 0 }).tasks.wait(created, {
        pollMs: 100,
        onProgress: ({ status }) => seen.push(status),
      });
      await stack.api.stop();
      await stack.api.start();
      expect((await waiting).output?.media[0]?.mime_type).to.equal('image/png');
      expect(seen.at(-1)).to.equal('succeeded');
    });

    it('reports a task that is not final in time, and stops waiting when aborted', async () => {
      const stuck = await client().videos.create({ model: 'vidone-3.0', prompt: 'x [sim:stuck]' });
      expect(await rejectionOf(client().tasks.wait(stuck, { timeoutMs: 200, pollMs: 50 }))).to.be.instanceOf(
        genway.WaitTimeoutError,
      );
      const reason = new Error('no longer needed');
      expect(await rejectionOf(client().tasks.wait(stuck, { signal: AbortSignal.abort(reason) }))).to.equal(reason);
    });

    it('streams text, and reports an error of the stream', async () => {
      const messages = [{ role: 'user', content: 'Say exactly: hello' }];
      const events = [];
      for await (const event of await client().messages.create({
        model: 'texth-4-argon',
        max_tokens: 100,
        stream: true,
        messages,
      })) {
        events.push(event['type']);
      }
      expect([events[0], events.at(-1)]).to.deep.equal(['message_start', 'message_stop']);
      const broken = [{ role: 'user', content: 'x [sim:fail=processing_failed,fail_after=4]' }];
      const read = async (): Promise<void> => {
        const stream = await client().chat.completions.create({ model: 'textg-6-sol', stream: true, messages: broken });
        for await (const event of stream) expect(event).to.have.property('choices');
      };
      expect(await rejectionOf(read())).to.be.instanceOf(genway.APIError);
    });

    it('ranks documents', async () => {
      const documents = ['Boats sail.', { text: 'Gannets nest on cliffs.' }];
      const request = { model: 'textm-rerank', query: 'Gannets nest on cliffs?', documents, top_n: 1 };
      const { results } = await client().rerank(request);
      expect(results.map(({ index }) => index)).to.deep.equal([1]);
    });

    const ERRORS: readonly (readonly [string, () => Promise<unknown>, typeof genway.APIError])[] = [
      ['a wrong key', () => client({ apiKey: 'sk-x' }).balance.get(), genway.AuthenticationError],
      ['a wrong field', async () => client().videos.create({ model: 'x', prompt: 'x' }), genway.BadRequestError],
      ['an unknown task', () => client().tasks.get('task_x'), genway.NotFoundError],
      [
        'too little money',
        async () =>
          client({ apiKey: (await stack.createAccount({ fundedUsd: 0.01 })).apiKey }).videos.create({
            model: 'vidone-3.0',
            prompt: 'x',
          }),
        genway.InsufficientCreditsError,
      ],
    ];
    for (const [what, call, type] of ERRORS) {
      it(`throws ${type.name} for ${what}, with the id of the request`, async () => {
        const error = await rejectionOf(call());
        expect(error).to.be.instanceOf(type).and.include({ isRetryable: false });
        expect(error instanceof genway.APIError && error.requestId).to.match(/^req_/);
      });
    }
  });

  describe('when the API fails for a moment', () => {
    let server: LocalServer;
    let answers: (number | 'reset' | 'break off' | 'stall' | 'page')[] = [];
    let keys: (string | undefined)[] = [];

    before(async () => {
      server = await serveLocally((request, response) => {
        keys.push(request.headers['idempotency-key']?.toString());
        const answer = answers.shift() ?? 200;
        if (answer === 'reset') {
          request.socket.destroy();
          return;
        }
        if (typeof answer === 'string') {
          response.writeHead(200, { 'content-length': '100' }).write('{');
          if (answer === 'page') response.end('x'.repeat(99));
          if (answer === 'break off') setImmediate(() => request.socket.destroy());
          return;
        }
        response.writeHead(answer, { 'content-type': 'application/json', 'retry-after': '0' });
        if (answer === 504) {
          response.end('<html>');
          return;
        }
        const code = answer === 409 ? 'idempotency_conflict' : 'processing_unavailable';
        const body = answer < 400 ? { data: { id: 'task_1', status: 'succeeded' } } : { error: { code, message: 'x' } };
        response.end(JSON.stringify(body));
      });
    });
    beforeEach(() => ([answers, keys] = [[], []]));
    after(() => server.close());

    const client = () => new Genway({ apiKey: 'sk-x', baseUrl: server.url });
    const create = () => client().images.create({ model: 'm', prompt: 'p' });

    for (const [what, failures] of [
      ['503 and 429', [503, 429]],
      ['lost answers', ['reset', 'break off']],
      ['answers of a proxy', [504, 'page']],
      ['a lost answer whose request is still being processed', ['reset', 409]],
    ] as const) {
      it(`creates a task with one idempotency key in spite of ${what}`, async () => {
        answers = [...failures];
        expect((await create()).id).to.equal('task_1');
        expect(keys).to.have.length(3);
        expect(new Set(keys).size).to.equal(1);
        expect(keys[0]).to.be.a('string');
      });
    }

    it('repeats reads by POST after a dropped connection', async () => {
      answers = ['reset', 200, 'break off', 200];
      await client().capabilities.search({ query: 'a' });
      await client().capabilities.inspect('vidone-3.0');
      expect(keys).to.deep.equal([undefined, undefined, undefined, undefined]);
    });

    for (const [what, call] of [
      ['a change without an idempotency key', (to) => to.webhooks.rotateSecret('we_1')],
      ['text', (to) => to.chat.completions.create({ model: 'm' })],
      ['an upload', (to) => to.files.upload(new Uint8Array(1))],
    ] as const satisfies readonly (readonly [string, (to: genway.Genway) => Promise<unknown>])[]) {
      it(`repeats ${what} when no connection was made, so that nothing was sent`, async () => {
        let attempts = 0;
        const closed = `http://127.0.0.1:${await findFreePort()}`;
        const counted: typeof fetch = (...request) => {
          attempts += 1;
          return fetch(...request);
        };
        const refused = call(new Genway({ apiKey: 'sk-x', baseUrl: closed, maxRetries: 1, fetch: counted }));
        expect(await rejectionOf(refused)).to.be.instanceOf(genway.APIConnectionError);
        expect(attempts).to.equal(2);
      });
    }

    it('names the path of a file that is missing, and sends nothing', async () => {
      const missing = join(tmpdir(), 'no-such-picture.png');
      const error = await rejectionOf(client().files.upload(missing));
      expect(error).to.include({ code: 'ENOENT' }).and.have.property('message').that.includes(missing);
      expect(keys).to.deep.equal([]);
    });

    it('gives up after three retries', async () => {
      answers = [503, 503, 503, 503];
      expect(await rejectionOf(Promise.resolve(create()))).to.be.instanceOf(genway.UnavailableError);
      expect(keys).to.have.length(4);
    });

    it('does not repeat a call that may have taken effect and has no idempotency key', async () => {
      answers = ['reset'];
      expect(await rejectionOf(client().webhooks.rotateSecret('we_1'))).to.be.instanceOf(genway.APIConnectionError);
      expect(keys).to.deep.equal([undefined]);
    });

    for (const [what, failure, call] of [
      ['text that a proxy gave up', 504, () => client().chat.completions.create({ model: 'm' })],
      ['a call that ended with 500', 500, () => client().webhooks.rotateSecret('we_1')],
    ] as const) {
      it(`does not repeat ${what}, which may have taken effect`, async () => {
        answers = [failure];
        expect(await rejectionOf(call())).to.be.instanceOf(genway.APIError);
        expect(keys).to.have.length(1);
      });
    }

    it('repeats text that Genway could not have answered', async () => {
      answers = [503, 200];
      await client().chat.completions.create({ model: 'm' });
      expect(keys).to.have.length(2);
    });

    it('limits the time of an answer that stalls', async () => {
      answers = ['stall'];
      const call = client().balance.get({ timeoutMs: 100, maxRetries: 0 });
      expect(await rejectionOf(call)).to.be.instanceOf(genway.APITimeoutError);
    });

    it('ends a stalled answer when the caller aborts, with the caller’s reason', async () => {
      answers = ['stall'];
      const [caller, reason] = [new AbortController(), new Error('no longer needed')];
      setTimeout(() => caller.abort(reason), 100);
      expect(await rejectionOf(client().balance.get({ signal: caller.signal }))).to.equal(reason);
    });

    it('waits for a task no longer than the caller’s limit, whatever the API asks for', async () => {
      answers = Array.from({ length: 20 }, () => 503);
      const task = Object.assign(Object.create(null), { id: 'task_1', status: 'processing' });
      expect(await rejectionOf(client().tasks.wait(task, { timeoutMs: 300, pollMs: 50 }))).to.be.instanceOf(
        genway.WaitTimeoutError,
      );
    });

    it('accepts time limits beyond the longest timer', async () => {
      const task = Object.assign(Object.create(null), { id: 'task_1', status: 'processing' });
      const patient = new Genway({ apiKey: 'sk-x', baseUrl: server.url, timeoutMs: Infinity, maxRetries: 0 });
      expect(await patient.tasks.get('task_1')).to.include({ id: 'task_1' });
      const waited = await patient.tasks.wait(task, { timeoutMs: Infinity, pollMs: 10 });
      expect([waited.status, keys.length]).to.deep.equal(['succeeded', 2]);
    });

    it('does not repeat refused calls', async () => {
      answers = [409];
      expect(await rejectionOf(Promise.resolve(create()))).to.be.instanceOf(genway.ConflictError);
      expect(keys).to.have.length(1);
    });
  });

  describe('the verification of webhooks', () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    const body = '{"id":"evt_1","type":"task.succeeded"}';
    const signed = (timestamp = Math.floor(Date.now() / 1000), key = secret) => ({
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,AAAA v1,${createHmac('sha256', Buffer.from(key.slice(6), 'base64'))
        .update(`evt_1.${timestamp}.${body}`)
        .digest('base64')}`,
    });
    const refusalOf = (...args: Parameters<typeof genway.verifyWebhook>) => rejectionOf(genway.verifyWebhook(...args));

    it('accepts payloads signed with the secret, with headers of any framework', async () => {
      for (const headers of [signed(), new Headers(signed())]) {
        expect(await genway.verifyWebhook(Buffer.from(body), headers, secret)).to.include({ id: 'evt_1' });
      }
    });

    it('refuses an empty secret, which would accept forgeries', async () => {
      for (const empty of ['', 'whsec_']) expect(await refusalOf(body, signed(), empty)).to.be.instanceOf(TypeError);
    });

    for (const [what, headers, sent] of [
      ['a changed body', signed(), `${body} `],
      ['another secret', signed(undefined, `whsec_${randomBytes(24).toString('base64')}`), body],
      ['an old timestamp', signed(Math.floor(Date.now() / 1000) - 301), body],
      ['a timestamp of 400 digits', { ...signed(), 'webhook-timestamp': '9'.repeat(400) }, body],
      ['half a character', { ...signed(), 'webhook-id': '\ud800', 'webhook-signature': 'v1,\ud800' }, body],
      ['no headers', {}, body],
    ] as const) {
      it(`refuses ${what}`, async () => {
        expect(await refusalOf(sent, headers, secret)).to.be.instanceOf(genway.WebhookVerificationError);
      });
    }
  });
});

/** OpenAI's own SDK against its image and video endpoints, with real workflows behind them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import OpenAI, { APIError, BadRequestError, NotFoundError, toFile } from 'openai';
import { waitForSucceeded } from '../../../api/routes/tasks/task-of-request.ts';
import { createReadWaitedTask } from '../../../services/tasks/waited-task.ts';
import { DEFAULT_CATALOGUE } from '../../../catalogue/load.ts';
import { findTask } from '../../../db/queries/tasks.ts';
import { newId } from '../../../domain/ids.ts';
import { FORM_HEADERS, formOf } from '../../support/forms.ts';
import { pngFile } from '../../support/media-files.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { call, useTestStack } from '../../support/stack.ts';
import { createTask, taskWhenFinal, transfersOf } from '../../support/tasks.ts';
import { uploadImage } from '../../support/uploads.ts';

const IMAGE = 'imagea-2.5-sunburst';
const VIDEO = 'vidone-3.0';
/** A model with a mask of its own name. */
const MASKED = 'imageb-2';

describe('OpenAI’s media endpoints', () => {
  let client: OpenAI;
  let key: string;
  const folder = mkdtempSync(join(tmpdir(), 'genway-mask-'));
  const catalogue = join(folder, 'catalogue.yaml');
  const own = `
      parameters: { properties: { mask: { type: string, format: uri } } }
      route: { provider: simulator, model: ${MASKED}, parameters: { mask: edit.mask_url } }`;
  const written = readFileSync(DEFAULT_CATALOGUE, 'utf8');
  writeFileSync(catalogue, written.replace(`\n      route: { provider: simulator, model: ${MASKED} }`, own));
  const stack = useTestStack({ env: { GENWAY_CATALOGUE: catalogue } });
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey: key } = await stack.createAccount({ fundedUsd: 100 }));
    client = new OpenAI({ apiKey: key, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  });
  after(() => rmSync(folder, { recursive: true }));

  const tasksOf = async (): Promise<{ id: string; model: string }[]> =>
    (await call<{ data: { id: string; model: string }[] }>(`${stack.baseUrl}/v1/tasks`, { key })).body.data;

  it('create a picture, and answer when it is ready, as a link and in base64', async () => {
    // contract 4.14:1
    const both = await client.images.generate({ model: IMAGE, prompt: 'A lighthouse', size: '1024x1024' });
    const [picture] = both.data ?? [];
    const stored = Buffer.from(await (await fetch(picture?.url ?? '')).arrayBuffer());
    expect(Buffer.from(picture?.b64_json ?? '', 'base64').equals(stored)).to.equal(true);
    const link = await client.images.generate({ model: IMAGE, prompt: 'x', response_format: 'url' });
    expect(Object.keys(link.data?.[0] ?? {})).to.deep.equal(['url']);
    const bytes = await client.images.generate({ model: IMAGE, prompt: 'x', response_format: 'b64_json' });
    expect(Object.keys(bytes.data?.[0] ?? {})).to.deep.equal(['b64_json']);
    const [latest] = await tasksOf();
    expect(await transfersOf(stack, latest?.id ?? '')).to.deep.equal(['reservation', 'settlement']);
  });

  it('stream one event for each finished picture', async () => {
    // contract 4.14:13
    const generated = await client.images.generate({ model: IMAGE, prompt: 'A lighthouse', n: 2, stream: true });
    const events = [];
    for await (const event of generated) events.push(event);
    expect(events.map(({ type }) => type)).to.deep.equal(Array(2).fill('image_generation.completed'));
    for (const event of events) {
      const link: unknown = Object(event).url;
      const stored = Buffer.from(await (await fetch(String(link))).arrayBuffer());
      expect(Buffer.from(event.b64_json, 'base64').equals(stored)).to.equal(true);
      expect(event).to.include({ output_format: 'png', size: '1024x1024' });
    }
    const image = await toFile(pngFile({ width: 64, height: 64 }), 'a.png', { type: 'image/png' });
    const edited = await client.images.edit({ model: IMAGE, prompt: 'At night', image, stream: true });
    const types = [];
    for await (const { type } of edited) types.push(type);
    expect(types).to.deep.equal(['image_edit.completed']);
  });

  it('refuse a stream like a whole answer before its first picture', async () => {
    // contract 4.14:13
    const prompt = 'x [sim:fail=content_policy_violation]';
    const refused = await rejectionOf(client.images.generate({ model: IMAGE, prompt, stream: true }));
    expect(refused).to.be.instanceOf(BadRequestError).with.property('code', 'content_policy_violation');
  });

  it('work from uploaded pictures', async () => {
    // contract 4.14:9
    const picture = async (name: string) => toFile(pngFile({ width: 64, height: 64 }), name, { type: 'image/png' });
    const image = [await picture('a.png'), await picture('b.png')];
    const edited = await client.images.edit({ model: IMAGE, prompt: 'At night', image });
    expect(edited.data?.[0]?.url).to.match(/^http/);
    const mask = await picture('mask.png');
    const refused = await client.images
      .edit({ model: IMAGE, prompt: 'x', image, mask })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(BadRequestError).with.property('message').that.contains('"mask"');
  });

  it('refuse a picture in a part that they do not know', async () => {
    const picture = pngFile({ width: 64, height: 64 });
    const parts = [
      { name: 'model', content: IMAGE },
      { name: 'prompt', content: 'At night' },
      { name: 'image', filename: 'a.png', type: 'image/png', content: picture },
      { name: 'picture', filename: 'b.png', type: 'image/png', content: picture },
    ];
    const response = await fetch(`${stack.baseUrl}/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...FORM_HEADERS },
      body: formOf(...parts),
    });
    expect(response.status).to.equal(400);
    expect(await response.text()).to.contain('unknown field: picture');
  });

  it('keep the uploads of a call that creates a task, and remove those of a call that is refused or repeated', async () => {
    // contract 4.14:10
    const { apiKey } = await stack.createAccount({ fundedUsd: 10 });
    const own = new OpenAI({ apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
    const uploads = async (): Promise<number> =>
      (await call<{ data: readonly unknown[] }>(`${stack.baseUrl}/v1/files`, { key: apiKey })).body.data.length;
    const image = await toFile(pngFile({ width: 64, height: 64 }), 'a.png', { type: 'image/png' });
    const tooMany = Array.from({ length: 17 }, () => image);
    const calls = [
      () => own.images.edit({ model: 'none', prompt: 'x', image }),
      () => own.images.edit({ model: IMAGE, prompt: 'x', image: tooMany }),
      () => own.videos.create({ model: 'none', prompt: 'x', input_reference: image }),
    ];
    for (const refused of calls) expect(await rejectionOf(refused())).to.be.instanceOf(BadRequestError);
    expect(await uploads()).to.equal(0);
    const headers = { 'Idempotency-Key': 'once' };
    const edits = [1, 2].map(() => () => own.images.edit({ model: IMAGE, prompt: 'x', image }, { headers }));
    const videos = [1, 2].map(
      () => () =>
        own.videos.create(
          { model: VIDEO, prompt: 'x', input_reference: image },
          { headers: { 'Idempotency-Key': 'video' } },
        ),
    );
    for (const create of edits) await create();
    expect(await uploads()).to.equal(1);
    for (const create of videos) await create();
    expect(await uploads()).to.equal(2);
  });

  it('create one task for one Idempotency-Key, and answer each repetition with its picture', async () => {
    // contract 4.14:11
    const before = (await tasksOf()).length;
    const body = { model: IMAGE, prompt: 'Once', response_format: 'url' as const };
    const headers = { 'Idempotency-Key': 'once' };
    const first = await client.images.generate(body, { headers });
    const second = await client.images.generate(body, { headers });
    expect(second).to.deep.equal(first);
    expect((await tasksOf()).length).to.equal(before + 1);
  });

  const refusalOf = async (path: string, body: object) => {
    const answer = await call<{ error: { message: string } }>(`${stack.baseUrl}/v1/${path}`, { key, body });
    return [answer.status, answer.body.error.message];
  };

  it('name fields without effect, and refuse those that cannot be expressed in words', async () => {
    // contract 4.14:12
    const { response } = await client.images.generate({ model: IMAGE, prompt: 'x', quality: 'high' }).withResponse();
    expect(response.headers.get('x-genway-ignored')).to.equal('quality');
    for (const [body, words] of [
      [{ n: 11 }, '"n" is outside its supported range'],
      [{ n: 0 }, '"n" is outside its supported range'],
      [{ n: 1.5 }, '"n" is outside its supported range'],
      [{ n: '11' }, '"n" must be a whole number from 1 to 10'],
    ] as const) {
      const refused = await refusalOf('images/generations', { model: IMAGE, prompt: 'x', ...body });
      expect(refused).to.deep.equal([400, words]);
    }
    expect(await refusalOf('images/edits', { model: IMAGE, prompt: 'x' })).to.deep.equal([
      400,
      '"image" is required: upload it in a form, or name pictures as "images" in JSON',
    ]);
  });

  it('edit the pictures that JSON names by links and by ids of uploads', async () => {
    // contract 4.14:15
    const [first, second] = [await uploadImage(stack, key, 'first'), await uploadImage(stack, key, 'second')];
    const images = [{ file_id: first.id }, { image_url: second.url }];
    const body = { model: IMAGE, prompt: 'At night', images, response_format: 'url' };
    const edited = await call<{ data: { url: string }[] }>(`${stack.baseUrl}/v1/images/edits`, { key, body });
    expect(edited.body.data[0]?.url).to.match(/^http/);
    const [latest] = await tasksOf();
    const task = await findTask(stack.database, latest?.id ?? '');
    expect(task?.request.images).to.deep.equal([first.url, second.url]);
    const input_reference = { file_id: first.id };
    const video = await client.videos.create({ model: VIDEO, prompt: 'x [sim:stuck]', input_reference });
    expect((await findTask(stack.database, video.id))?.request.images).to.deep.equal([first.url]);
    await client.videos.delete(video.id);
  });

  for (const [path, body, refusal] of [
    ['videos', { model: VIDEO, seconds: 4.5 }, '"seconds" is outside its supported range'],
    ['videos', { model: 'vidtwo-1.1' }, '"input_reference" is required'],
    [
      'videos',
      { model: VIDEO, input_reference: { image_url: 'data:image/png;base64,AA==' } },
      '"input_reference.image_url" must be a public HTTPS URL. Send the picture itself as a file in a form',
    ],
    [
      'videos',
      { model: VIDEO, input_reference: { file_id: newId('file') } },
      '"input_reference.file_id" is not an uploaded picture of this account',
    ],
    ['videos', { model: VIDEO, input_reference: {} }, '"input_reference" must have either "image_url" or "file_id"'],
    [
      'images/edits',
      { model: IMAGE, images: [{ image_url: 'ftp://a.test/b.png' }] },
      '"images[0].image_url" must be a public HTTPS URL',
    ],
    [
      'images/edits',
      { model: IMAGE, images: [{ file_id: 'x' }] },
      '"images[0].file_id" is not an uploaded picture of this account',
    ],
  ] as const) {
    it(`refuse a field by the name that the client sent: ${refusal}`, async () => {
      // contract 4.14:16
      expect(await refusalOf(path, { prompt: 'x', ...body })).to.deep.equal([400, refusal]);
    });
  }

  it('accept null for each field with a default, as the type of OpenAI’s SDK does', async () => {
    const nothing = { n: null, size: null, background: null, response_format: null, stream: null, quality: null };
    const { data, response } = await client.images.generate({ model: IMAGE, prompt: 'x', ...nothing }).withResponse();
    expect(data.data).to.have.length(1);
    expect(response.headers.get('x-genway-ignored')).to.equal(null);
  });

  it('create a task for each of several pictures, once for one Idempotency-Key', async () => {
    // contract 4.14:11 4.14:3
    const before = (await tasksOf()).length;
    const body = { model: IMAGE, prompt: 'Three', n: 3, response_format: 'url' as const };
    const headers = { 'Idempotency-Key': 'three' };
    const generate = async () => client.images.generate(body, { headers }).catch((error: unknown) => error);
    const [one, other] = await Promise.all([generate(), generate()]);
    const conflict = [one, other].find((answer) => answer instanceof Error);
    if (conflict !== undefined) expect(conflict).to.be.instanceOf(APIError).with.property('status', 409);
    const again = await client.images.generate(body, { headers });
    expect(new Set(again.data?.map(({ url }) => url)).size).to.equal(3);
    expect(await client.images.generate(body, { headers })).to.deep.equal(again);
    const tasks = (await tasksOf()).slice(0, 3);
    expect((await tasksOf()).length).to.equal(before + 3);
    for (const { id } of tasks) expect(await transfersOf(stack, id)).to.deep.equal(['reservation', 'settlement']);
  });

  it('create no picture if the balance does not cover all', async () => {
    // contract 4.14:3
    const poor = await stack.createAccount({ fundedUsd: 0.1 });
    const { status, body } = await call<{ error: { code: string } }>(`${stack.baseUrl}/v1/images/generations`, {
      key: poor.apiKey,
      body: { model: IMAGE, prompt: 'x', n: 10 },
    });
    expect([status, body.error.code]).to.deep.equal([402, 'insufficient_credits']);
    const { body: list } = await call<{ data: unknown[] }>(`${stack.baseUrl}/v1/tasks`, { key: poor.apiKey });
    expect(list.data).to.deep.equal([]);
  });

  it('answer with the pictures that succeeded, and with the error only if none did', async () => {
    // contract 4.14:3
    const prompts = ['x', 'x [sim:fail=bad_request]', 'x [sim:fail=content_policy_violation]'];
    const tasks = [];
    for (const prompt of prompts) {
      const { id } = await createTask(stack, key, prompt);
      tasks.push((await findTask(stack.database, id)) ?? expect.fail('the task is gone'));
    }
    const reading = { readWaitedTask: createReadWaitedTask(stack.database) };
    const wait = { untilMs: performance.now() + 60_000, socket: { destroyed: false } };
    expect((await waitForSucceeded(tasks, wait, reading)).map(({ id }) => id)).to.deep.equal([tasks[0]?.id]);
    const failure = await waitForSucceeded(tasks.slice(1), wait, reading).catch((error: unknown) => error);
    expect(failure).to.include({ code: 'bad_request' });
  });

  it('answer the failure of a picture with its code, refunded', async () => {
    // contract 4.14:2
    const failure = await client.images
      .generate({ model: IMAGE, prompt: 'x [sim:fail=content_policy_violation]' })
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(BadRequestError).with.property('code', 'content_policy_violation');
    const [latest] = await tasksOf();
    expect(await transfersOf(stack, latest?.id ?? '')).to.deep.equal(['reservation', 'refund']);
  });

  it('create a video, wait for it, download it and delete it', async () => {
    // contract 4.14:6 4.14:7
    // The SDK's type lists OpenAI's own sizes and seconds.
    const order = { model: VIDEO, prompt: 'A lighthouse', seconds: '4', size: '720x1280' } as const;
    const { id } = await client.videos.create(order);
    await taskWhenFinal(stack, key, id);
    const video = await client.videos.retrieve(id);
    expect(video).to.include({ object: 'video', status: 'completed', progress: 100, seconds: '4', size: '720x1280' });
    const content = await client.videos.downloadContent(video.id);
    expect(content.headers.get('content-type')).to.equal('video/mp4');
    expect((await content.arrayBuffer()).byteLength).to.be.greaterThan(1_000);
    const listed = await client.videos.list({ limit: 1 });
    expect(listed.data[0]?.id).to.equal(video.id);
    expect(await client.videos.delete(video.id)).to.include({ id: video.id, deleted: true });
    expect((await fetch(content.url)).status).to.equal(404);
    expect(await stack.database('deleted_results').select('task_id')).to.deep.include({ task_id: video.id });
  });

  it('forget a deleted video, whether it was rendered, failed or cancelled, and keep its task', async () => {
    // contract 4.14:14
    const order = { model: VIDEO, prompt: 'A lighthouse', seconds: '4' } as const;
    for (const [directive, status] of [
      ['', 'succeeded'],
      ['[sim:fail=content_policy_violation]', 'failed'],
      ['[sim:stuck]', 'failed'],
    ] as const) {
      const { id } = await client.videos.create({ ...order, prompt: `A lighthouse ${directive}` });
      if (directive !== '[sim:stuck]') await taskWhenFinal(stack, key, id);
      expect(await client.videos.delete(id)).to.include({ deleted: true });
      for (const read of [() => client.videos.retrieve(id), () => client.videos.downloadContent(id)]) {
        const gone = await read().catch((error: unknown) => error);
        expect(gone, directive).to.be.instanceOf(NotFoundError).with.property('code', 'not_found');
      }
      const listed = await client.videos.list({ limit: 10 });
      expect(listed.data.map((video) => video.id)).to.not.include(id);
      expect(await taskWhenFinal(stack, key, id)).to.include({ id, status });
      expect(await client.videos.delete(id), 'a second call').to.include({ deleted: true });
    }
  });

  it('list videos with the starts of their prompts', async () => {
    // contract 4.14:8
    const prompt = `${'a'.repeat(199)}${'🏠'.repeat(100)}`;
    const { id } = await client.videos.create({ model: VIDEO, prompt });
    const { data } = await client.videos.list({ limit: 1 });
    expect(data[0]).to.include({ id, prompt: `${'a'.repeat(199)}…` });
    expect((await client.videos.retrieve(id)).prompt).to.equal(prompt);
  });

  it('start a video from a picture, and cancel it when it is deleted before it completes', async () => {
    // contract 4.14:7 4.14:9
    const input_reference = await toFile(pngFile({ width: 64, height: 64 }), 'start.png', { type: 'image/png' });
    const video = await client.videos.create({ model: VIDEO, prompt: 'x [sim:stuck]', input_reference });
    expect(video.status).to.equal('queued');
    expect(await client.videos.delete(video.id)).to.include({ deleted: true });
    expect(await transfersOf(stack, video.id)).to.deep.equal(['reservation', 'refund']);
  });

  it('answer 503 for a picture that is not ready in time, and name its task', async () => {
    // contract 4.14:4
    const { id } = await createTask(stack, key, 'x [sim:stuck]');
    const task = await findTask(stack.database, id);
    if (task === null) throw new Error('the task is gone');
    const reading = { readWaitedTask: createReadWaitedTask(stack.database) };
    const wait = { untilMs: performance.now() + 500, socket: { destroyed: false } };
    const late = await waitForSucceeded([task], wait, reading).catch((error: unknown) => error);
    expect(late).to.include({ code: 'processing_timeout', status: 503, retryable: false });
    expect(String(late)).to.contain(`GET /v1/tasks/${id}`);
  });

  it('start a video from the link of a picture, in JSON and in a form', async () => {
    const input_reference = { image_url: `${stack.baseUrl}/docs/favicon-32x32.png` };
    const order = { model: VIDEO, prompt: 'x [sim:stuck]', input_reference };
    for (const { id } of [
      await client.videos.create(order),
      (await call<{ id: string }>(`${stack.baseUrl}/v1/videos`, { key, body: order })).body,
    ]) {
      const task = await findTask(stack.database, id);
      expect(task?.request.images).to.deep.equal([input_reference.image_url]);
      await client.videos.delete(id);
    }
  });

  it('list the sizes of a model when another size is requested', async () => {
    const refused = await client.videos
      .create({ model: VIDEO, prompt: 'x', size: '1792x1024' })
      .catch((error: unknown) => error);
    expect(String(refused)).to.contain('1280x720').and.to.contain('1080x1920');
  });

  it('pass the mask of an edit on to the vendor of a model with fields of its own, by the vendor’s name for it', async () => {
    const picture = async (name: string) => toFile(pngFile({ width: 64, height: 64 }), name, { type: 'image/png' });
    const [image, mask] = [await picture('a.png'), await picture('mask.png')];
    const { data } = await client.images.edit({ model: MASKED, prompt: 'A window', image, mask });
    expect(data?.[0]?.url).to.match(/^http/);
    const { body } = await call<{ data: { body: { prompt?: string; edit?: { mask_url: string } } | null }[] }>(
      `${stack.simulatorUrl}/_sim/requests?limit=50`,
    );
    const sent = body.data.find(({ body: submission }) => submission?.prompt === 'A window');
    expect(sent?.body?.edit?.mask_url).to.match(/^http/);
  });
});

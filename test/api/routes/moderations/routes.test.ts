import { expect } from 'chai';
import OpenAI from 'openai';
import { createHttpModerator } from '../../../../providers/moderation.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { useSimulator } from '../../../support/simulator.ts';
import { call } from '../../../support/stack.ts';

describe('POST /v1/moderations', () => {
  const simulator = useSimulator();
  const closed: (() => Promise<void>)[] = [];
  // The simulator's address is known only once it runs.
  const moderatorAt = (url: () => string) => {
    const open = () => {
      const moderator = createHttpModerator({ url: url(), key: 'secret' });
      closed.push(() => moderator.close());
      return moderator;
    };
    return { check: open, judge: (content: Parameters<ReturnType<typeof open>['judge']>[0]) => open().judge(content) };
  };
  const moderator = moderatorAt(() => `${simulator.url}/v1/moderations`);
  const app = useTestApp({ moderator: { ...moderator, check: (input) => moderator.check().check(input) } });
  const silent = moderatorAt(() => 'http://127.0.0.1:1/');
  const without = useTestApp();
  const unanswered = useTestApp({ moderator: { ...silent, check: (input) => silent.check().check(input) } });
  after(() => Promise.all(closed.map((close) => close())));

  it('judges a text, several texts and parts, as the OpenAI SDK sends them', async () => {
    // contract 4.13:1 4.13:2
    const { apiKey } = await app.createAccount();
    const client = new OpenAI({ apiKey, baseURL: `${app.baseUrl}/v1` });
    const one = await client.moderations.create({ input: 'please flag me', model: 'omni-moderation-latest' });
    expect(one).to.include({ model: 'omni-moderation-latest' });
    expect(one.results[0]).to.deep.include({ flagged: true });
    expect(one.results[0]?.categories.violence).to.equal(true);
    expect(one.results[0]?.category_scores.violence).to.equal(0.99);
    expect(one.results[0]?.category_applied_input_types.violence).to.deep.equal(['text']);
    const several = await client.moderations.create({ input: ['kind words', 'flag me'] });
    expect(several.results.map(({ flagged }) => flagged)).to.deep.equal([false, true]);
    const parts = await client.moderations.create({
      input: [
        { type: 'text', text: 'kind words' },
        { type: 'image_url', image_url: { url: 'https://images.example.com/a.png' } },
      ],
    });
    expect(parts.results).to.have.lengthOf(1);
    expect(parts.results[0]?.category_applied_input_types.hate).to.deep.equal(['text', 'image']);
  });

  for (const [what, input] of [
    ['a body without input', undefined],
    ['an empty list', []],
    ['two images', [1, 2].map((n) => ({ type: 'image_url', image_url: { url: `https://example.com/${n}.png` } }))],
    ['more than 100 texts', Array.from({ length: 101 }, () => 'x')],
    ['a link-local address', [{ type: 'image_url', image_url: { url: 'https://169.254.169.254/a.png' } }]],
    ['an address of another scheme', [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }]],
  ] as const) {
    it(`refuses ${what}`, async () => {
      // contract 4.13:1 4.13:3
      const { apiKey: key } = await app.createAccount();
      const { status, body } = await call(`${app.baseUrl}/v1/moderations`, { key, body: { input } });
      expect(status).to.equal(400);
      expect(body).to.nested.include({
        'error.code': 'bad_request',
        'error.type': 'svc_error',
        'error.param': null,
        'error.retryable': false,
      });
    });
  }

  it('renders a refused key in the same envelope', async () => {
    const { status, body } = await call(`${app.baseUrl}/v1/moderations`, { key: 'sk-wrong', body: { input: 'x' } });
    expect(status).to.equal(401);
    expect(body).to.nested.include({ 'error.code': 'invalid_api_key', 'error.param': null });
  });

  it('answers 503 while the service gives no verdict, and 404 with a remedy without a service', async () => {
    // contract 4.13:3 4.13:4
    for (const [service, status, code, retryable] of [
      [unanswered, 503, 'processing_unavailable', true],
      [without, 404, 'not_found', false],
    ] as const) {
      const { apiKey: key } = await service.createAccount();
      const answer = await call<ErrorBody>(`${service.baseUrl}/v1/moderations`, { key, body: { input: 'x' } });
      expect([answer.status, answer.body.error.code]).to.deep.equal([status, code]);
      expect(answer.body).to.nested.include({ 'error.retryable': retryable, 'error.param': null });
      if (status === 404) expect(answer.body.error.message).to.include('GENWAY_MODERATION_URL');
    }
  });
});

import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import { badRequest } from '../../domain/errors.ts';
import { FormError, problemMessage } from '../../console/form-problem.ts';
import { textsIn } from '../../console/texts/texts.ts';
import { UNLIMITED, useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createEndpoint } from '../support/factories.ts';

/** A form with a wrong entry, and its message for a reader of Chinese. */
interface Refused {
  readonly form: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The name of the wrong field in the form; null where a set of boxes is wrong. */
  readonly field: string | null;
  readonly told: string;
}

const ADJUSTMENT = { amount_usd: '1', reason: '多收' };
const LIST = { name: 'partners', factor: '0.9', rules: '', valid_from: '', reason: '长期客户' };

// oxfmt-ignore
const REFUSED: readonly Refused[] = [
  { form: 'keys', fields: { ...UNLIMITED, unlimited: '', usage_limit_usd: 'much' }, field: 'usage_limit_usd', told: '支出上限（USD）：请输入不小于 0 的美元金额，例如 25 或 25.50。' },
  { form: 'keys', fields: { all_models: 'on' }, field: 'usage_limit_usd', told: '请设置支出上限，或勾选“不限”。' },
  { form: 'keys', fields: { ...UNLIMITED, rate_limit_rpm: '0' }, field: 'rate_limit_rpm', told: '每分钟请求数：请输入不小于 1 的数。' },
  { form: 'keys', fields: { ...UNLIMITED, rate_limit_rpm: '1.5' }, field: 'rate_limit_rpm', told: '每分钟请求数：请输入整数。' },
  { form: 'keys', fields: { ...UNLIMITED, rate_limit_rpm: 'x' }, field: 'rate_limit_rpm', told: '每分钟请求数：请输入数字。' },
  { form: 'keys', fields: { ...UNLIMITED, name: 'x'.repeat(201) }, field: 'name', told: '名称：请输入 0 至 200 个字符。' },
  { form: 'keys', fields: { ...UNLIMITED, ip_allowlist: '127.0.0.1 x' }, field: 'ip_allowlist', told: '允许的 IP 地址第 2 项：请输入 IP 地址或网段，例如 203.0.113.0/24。' },
  { form: 'keys', fields: { ...UNLIMITED, expires_on: '1969-01-01' }, field: 'expires_on', told: '到期时间：请输入 1970 至 9999 年之间的日期。' },
  { form: 'keys', fields: { ...UNLIMITED, expires_on: '2020-01-01' }, field: 'expires_on', told: '请选择今天或以后的日期。' },
  { form: 'keys', fields: { ...UNLIMITED, limit_period: 'year' }, field: 'limit_period', told: '上限重置：请选择其中之一：day, week, month。' },
  { form: 'webhooks', fields: { events: 'task.failed' }, field: 'url', told: '地址：请填写此项。' },
  { form: 'webhooks', fields: { url: 'https://127.0.0.1/hooks', events: 'task.failed' }, field: 'url', told: '地址：请输入公开的 HTTPS 链接。' },
  { form: 'webhooks', fields: { url: 'https://a.example' }, field: null, told: '事件：请至少选择 1 项。' },
  { form: 'billing/low-balance', fields: { low_balance_usd: '-1' }, field: 'low_balance_usd', told: '余额偏低的界限（USD）：请输入大于 0 的美元金额，例如 25 或 25.50。' },
  { form: 'end-users', fields: { usage_limit_usd: '1', limit_period: 'day' }, field: 'end_user', told: '终端用户：请填写此项。' },
  { form: 'playground', fields: { model: 'vidone-3.0', prompt: '灯塔', duration: '1000' }, field: 'duration', told: '秒数：请输入不大于' },
  { form: 'playground', fields: { model: 'vidone-3.0', prompt: '灯塔', duration: '5', images: 'ftp://x' }, field: 'images', told: '图片链接第 1 项：请输入公开的 HTTPS 链接。' },
  { form: 'playground', fields: { model: 'none' }, field: null, told: '没有这个模型，请另选一个。' },
  { form: 'staff/suspend', fields: { reason: ' ' }, field: 'reason', told: '原因：请填写此项。' },
  { form: 'staff/adjust', fields: { ...ADJUSTMENT, amount_usd: '0' }, field: 'amount_usd', told: '金额：请输入不为 0 且不含千位分隔符的美元金额，例如 2500 或 -1.50；负数表示扣款。' },
  { form: 'staff/adjust', fields: { ...ADJUSTMENT, amount_usd: '1000000000000.01' }, field: 'amount_usd', told: '金额：请输入不超过 1,000,000,000,000 美元的金额。' },
  { form: 'end-users', fields: { end_user: 'ann', usage_limit_usd: '1000000000001', limit_period: 'day' }, field: 'usage_limit_usd', told: '支出上限（USD）：请输入不超过 1,000,000,000,000 美元的金额。' },
  { form: 'staff/adjust', fields: { ...ADJUSTMENT, amount_usd: '' }, field: 'amount_usd', told: '金额：请' },
  { form: 'staff/corrections', fields: { ...ADJUSTMENT, account_id: 'acc_wrong' }, field: 'account_id', told: '账户：没有这个账户，请核对编号。' },
  { form: 'staff/adjust', fields: { ...ADJUSTMENT, amount_usd: '-26' }, field: 'amount_usd', told: '金额：账户的已充值余额不足以扣除此金额，请减少金额。' },
  { form: 'staff/details', fields: { name: '风筝', email: 'kite' }, field: 'email', told: '电子邮箱：请输入电子邮箱' },
  { form: 'staff/price-lists', fields: { ...LIST, name: 'P!' }, field: 'name', told: '名称：请使用小写字母、数字和连字符，最多 63 个字符。' },
  { form: 'staff/price-lists', fields: { ...LIST, factor: 'x' }, field: 'factor', told: '系数：请输入大于 0 且小于 1000 的数' },
  { form: 'staff/price-lists', fields: { ...LIST, rules: 'x' }, field: 'rules', told: '规则第 1 行应类似' },
  { form: 'staff/price-lists', fields: { ...LIST, valid_from: 'x' }, field: 'valid_from', told: '生效时间：请输入 1970 至 9999 年之间的日期。' },
  { form: 'staff/price-lists', fields: { ...LIST, valid_from: '2020-01-01T00:00' }, field: 'valid_from', told: '生效时间：请选择更晚的时间，或留空以尽快生效。' },
  { form: 'staff/rest', fields: { upstream: 'simulator', minutes: '0', reason: '维护' }, field: 'minutes', told: '请输入 1 至 43200 之间的整数分钟。' },
];

describe('a refused form', () => {
  const app = useTestConsole();
  let paths: Readonly<Record<string, string>>;
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  const operator = useVisitor(app, () => ({ email: 'operator@example.com', staff_role: 'operator' }));

  before(async () => {
    const { accountId } = customer;
    const { id } = await createEndpoint(app.database, { id: accountId });
    const [account, staff] = [`/console/accounts/${accountId}`, `/console/staff/accounts/${accountId}`];
    paths = {
      keys: `${account}/keys`,
      webhooks: `${account}/webhooks/${id}`,
      'billing/low-balance': `${account}/billing/low-balance`,
      'end-users': `${account}/end-users`,
      playground: `${account}/playground`,
      'staff/suspend': `${staff}/suspend`,
      'staff/adjust': `${staff}/adjust`,
      'staff/corrections': '/console/staff/corrections',
      'staff/details': `${staff}/details`,
      'staff/price-lists': '/console/staff/price-lists',
      'staff/rest': '/console/staff/upstreams/rest',
    };
    for (const visitor of [owner, operator]) await visitor.setLanguage('zh');
    // Forms over stored fields are accepted only from opened pages.
    for (const page of [`${account}/billing`, `${account}/webhooks/${id}`]) await owner.get(page);
    await operator.get(`${staff}?tab=details`);
  });

  for (const { form, fields, field, told } of REFUSED) {
    it(`shows in Chinese: ${told}`, async () => {
      const { status, text } = await (form.startsWith('staff') ? operator : owner).send(paths[form] ?? '', fields);
      expect(status).to.be.within(400, 404);
      const [, alert = ''] = /role="alert">(.*?)<\/p>/s.exec(text) ?? [];
      expect(alert).to.include(told).and.not.include('英文说明');
      const wrong = [...text.matchAll(/<(?:input|select|textarea)[^>]*aria-invalid="true"[^>]*>/g)].map(([tag]) => tag);
      expect(wrong.map((tag) => /name="([^"]+)"/.exec(tag)?.[1])).to.deep.equal(field === null ? [] : [field]);
      for (const tag of wrong) {
        const [, notes = ''] = /aria-describedby="([^"]+)"/.exec(tag) ?? [];
        const fault = notes.split(' ').find((id) => id.endsWith('-fault')) ?? 'none';
        expect(text).to.match(new RegExp(`class="fault" id="${fault}">[^<]+<`));
      }
    });
  }

  it('keeps its entries, which no other form of the page shows', async () => {
    const { 'billing/low-balance': lowBalance = '', 'staff/rest': rest = '' } = paths;
    const { text: billing } = await owner.send(lowBalance, { low_balance_usd: '-1' });
    expect(/name="low_balance_usd"[^>]* value="([^"]*)"/.exec(billing)?.[1]).to.equal('-1');
    const { text: upstreams } = await operator.send(rest, { upstream: 'simulator', minutes: '0', reason: '维护' });
    const reasons = [...upstreams.matchAll(/name="reason"[^>]* value="([^"]*)"/g)].map(([, reason]) => reason);
    expect(reasons).to.deep.equal(['维护', '']);
  });

  it('shows the message in English to a reader of English, with the label of the field', async () => {
    const { accountId } = await app.createAccount();
    const visitor = await Visitor.invited(app, { email: 'english@example.com', account_id: accountId });
    const at = `/console/accounts/${accountId}/keys`;
    const { text } = await visitor.send(at, { ...UNLIMITED, rate_limit_rpm: '0' });
    expect(text).to.include('>Requests per minute: Enter 1 or more.<').and.include('>Enter 1 or more.<');
  });

  it('repeats the message of the API, marked as English, where the console has no other message', () => {
    const refusal = badRequest('The moon is full.', { path: ['moon'], kind: 'moon.full', values: {} });
    expect(problemMessage(refusal, textsIn('zh', OWN_SITE.name))).to.deep.equal({
      message: '请修改后重试。系统的英文说明：',
      english: 'The moon is full.',
    });
    expect(problemMessage(refusal, textsIn('en', OWN_SITE.name))).to.deep.equal({
      message: 'The moon is full.',
      english: null,
    });
    expect(problemMessage(new FormError('月圆了。'), textsIn('zh', OWN_SITE.name))).to.deep.equal({
      message: '月圆了。',
      english: null,
    });
  });
});

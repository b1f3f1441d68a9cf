/** Attacks on the money: whatever a client sends, it costs the operator at most a little beyond what the account has. */
import { formatUsd, parseUsd, type PicoUsd } from '../../domain/money.ts';
import {
  type Account,
  type Answer,
  type Call,
  call,
  openAccount,
  settledCharge,
  tolerance,
  vendorsBill,
  type Victim,
} from './attacker.ts';
import { type AttackCase, holds } from './case.ts';

const DEAR = 'textg-6-astra';
const CHAT_MODEL = 'textf3.8-max';
const NATIVE_MODEL = 'texth-4-argon';
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';

interface Theft {
  readonly name: string;
  readonly balanceUsd: number;
  readonly keyLimitUsd?: number;
  readonly model: string;
  readonly requests: number;
  readonly path: string;
  readonly call: Call;
}

function chat(model: string, order: string, more: object = {}): Call {
  return { body: { model, messages: [{ role: 'user', content: `[vendor:${order}]` }], ...more } };
}

function responses(model: string, order: string, more: object = {}): Call {
  return { body: { model, input: `[vendor:${order}]`, ...more } };
}

function native(order: string, more: object = {}, parts: readonly object[] = []): Call {
  return { body: { contents: [{ role: 'user', parts: [{ text: `[vendor:${order}]` }, ...parts] }], ...more } };
}

const VIDEO_LINK = { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/long.mp4' } };
const NATIVE = `/v1beta/models/${NATIVE_MODEL}:generateContent`;

const UNREAD = {
  model: CHAT_MODEL,
  messages: [
    { role: 'user', content: '[vendor:input=200000,tokens=10]' },
    { role: 'assistant', content: 'a', reasoning_content: 'a', reasoning: 'word '.repeat(200_000) },
  ],
};

const THEFTS: readonly Theft[] = [
  {
    name: '128 choices on 0.04 USD',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=6000', { n: 128, max_tokens: 6000 }),
  },
  {
    name: '128 choices on a key with a limit of 0.04 USD',
    balanceUsd: 100,
    keyLimitUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=6000', { n: 128, max_tokens: 6000 }),
  },
  {
    name: '8 candidates on 0.04 USD',
    balanceUsd: 0.04,
    model: NATIVE_MODEL,
    requests: 1,
    path: NATIVE,
    call: native('tokens=7000', { generationConfig: { candidateCount: 8, maxOutputTokens: 7000 } }),
  },
  {
    name: 'a stream without a bound on 0.04 USD',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=200000', { stream: true }),
  },
  {
    name: 'a whole answer without a bound on 0.04 USD',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=200000'),
  },
  {
    name: 'hidden reasoning without a bound on 0.2 USD',
    balanceUsd: 0.2,
    model: DEAR,
    requests: 1,
    path: RESPONSES,
    call: responses(DEAR, 'hidden=120000,tokens=10'),
  },
  {
    name: '40 streams at once without a bound on 0.2 USD',
    balanceUsd: 0.2,
    model: CHAT_MODEL,
    requests: 40,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=60000', { stream: true }),
  },
  {
    name: '40 whole answers with hidden reasoning at once on 0.5 USD',
    balanceUsd: 0.5,
    model: DEAR,
    requests: 40,
    path: RESPONSES,
    call: responses(DEAR, 'hidden=60000,tokens=10'),
  },
  {
    name: '40 links of long videos at once on 1 USD',
    balanceUsd: 1,
    model: NATIVE_MODEL,
    requests: 40,
    path: NATIVE,
    call: native('input=1000000,tokens=10', { generationConfig: { maxOutputTokens: 16 } }, [VIDEO_LINK]),
  },
  {
    name: 'both bounds, the small one first',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=100000', { max_tokens: 16, max_completion_tokens: 100000 }),
  },
  {
    name: 'both bounds, the large one first',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: chat(CHAT_MODEL, 'tokens=100000', { max_tokens: 100000, max_completion_tokens: 16 }),
  },
  {
    name: 'text in a field that the gateway does not read on 0.04 USD',
    balanceUsd: 0.04,
    model: CHAT_MODEL,
    requests: 1,
    path: CHAT,
    call: { body: UNREAD },
  },
];

/** Returns the amount that the operator has to pay. */
function shortfall(bill: PicoUsd, spendable: PicoUsd): PicoUsd {
  return bill > spendable ? bill - spendable : 0n;
}

function theftCase({ name, balanceUsd, keyLimitUsd, model, requests, path, call: question }: Theft): AttackCase {
  return {
    name,
    run: async (victim) => {
      victim.vendor.forget();
      const account = await openAccount(
        victim,
        balanceUsd,
        keyLimitUsd === undefined ? {} : { usage_limit_usd: keyLimitUsd },
      );
      const send = async (): Promise<void> => void (await ask(victim, account, path, question));
      await Promise.all(Array.from({ length: requests }, send));
      await settledCharge(victim, account);
      const bill = vendorsBill(victim);
      const loss = shortfall(bill, parseUsd(Math.min(balanceUsd, keyLimitUsd ?? balanceUsd)));
      const allowed = BigInt(requests) * tolerance(victim, model);
      return holds(
        loss <= allowed,
        `the vendor's bill is ${formatUsd(bill)} USD, ${formatUsd(loss)} beyond what there was (${formatUsd(allowed)} allowed)`,
      );
    },
  };
}

function ask(victim: Victim, { apiKey }: Account, path: string, question: Call): Promise<Answer> {
  return call(victim.stack.text_base_url + path, apiKey, question);
}

/** A client that leaves pays what it would have paid had it stayed, or nearly. */
interface Departure {
  readonly name: string;
  readonly model: string;
  readonly path: string;
  readonly call: Call;
}

const CHINESE =
  '人工智能是计算机科学的一个分支它企图了解智能的实质并生产出一种新的能以人类智能相似的方式做出反应的智能机器该领域的研究包括机器人语言识别图像识别自然语言处理和专家系统等';

const DEPARTURES: readonly Departure[] = [
  {
    name: 'leaving before response.completed, after hidden reasoning',
    model: DEAR,
    path: RESPONSES,
    call: {
      ...responses(DEAR, 'hidden=49900,tokens=100,tail_ms=500', { stream: true }),
      leave: { when: (received) => received.includes('response.output_item.done') },
    },
  },
  {
    name: 'leaving before a whole answer to 200,000 tokens',
    model: CHAT_MODEL,
    path: CHAT,
    call: { ...chat(CHAT_MODEL, 'input=200000,tokens=500,tail_ms=2000'), leave: { afterMs: 800 } },
  },
  {
    name: 'leaving before the end of a Chinese answer',
    model: CHAT_MODEL,
    path: CHAT,
    call: {
      ...chat(CHAT_MODEL, `text=${CHINESE.repeat(8)},tokens=440,pause_ms=2,tail_ms=3000`, { stream: true }),
      leave: { when: (received) => received.split('"content":"').length > CHINESE.length * 7.8 },
    },
  },
];

/** An upstream that says nothing, in numbers, of what it made. */
const UNCOUNTED: Departure = {
  name: 'usage of nothing but zeros',
  model: CHAT_MODEL,
  path: CHAT,
  call: chat(CHAT_MODEL, 'input=0,tokens=2000,usage=0'),
};

const LEAST_SHARE_PERCENT = 85n;

function departureCase({ name, path, call: question }: Departure): AttackCase {
  return {
    name,
    run: async (victim) => {
      victim.vendor.forget();
      const account = await openAccount(victim, 100);
      await ask(victim, account, path, question);
      const charged = await settledCharge(victim, account);
      const bill = vendorsBill(victim);
      return holds(
        charged * 100n >= bill * LEAST_SHARE_PERCENT,
        `charged ${formatUsd(charged)} of ${formatUsd(bill)} USD`,
      );
    },
  };
}

const HONEST: readonly AttackCase[] = [
  {
    name: 'a long answer without a bound, for an account that has the money, is whole',
    run: async (victim) => {
      const account = await openAccount(victim, 100);
      const { status, text } = await ask(victim, account, CHAT, chat(CHAT_MODEL, 'tokens=40000'));
      const words = text.split(' word').length - 1;
      return holds(
        status === 200 && words === 40_000 && !text.includes('"length"'),
        `${status}, ${words} of 40000 words`,
      );
    },
  },
  {
    name: '8 requests at once that cost cents, for an account with 1 USD, are all answered',
    run: async (victim) => {
      const account = await openAccount(victim, 1);
      const send = (): Promise<Answer> => ask(victim, account, RESPONSES, responses(DEAR, 'hidden=300,tokens=100'));
      const answers = await Promise.all(Array.from({ length: 8 }, send));
      const statuses = answers.map(({ status }) => status);
      return holds(
        statuses.every((status) => status === 200),
        statuses.join(' '),
      );
    },
  },
  {
    name: 'usage that cannot be meant is not charged',
    run: async (victim) => {
      const account = await openAccount(victim, 100);
      await ask(victim, account, CHAT, chat(CHAT_MODEL, 'tokens=10,usage=9000000000000000', { max_tokens: 100 }));
      const charged = await settledCharge(victim, account);
      return holds(charged < parseUsd('0.01'), `charged ${formatUsd(charged)} USD`);
    },
  },
];

export const MONEY_CASES: readonly AttackCase[] = [
  ...THEFTS.map(theftCase),
  ...[...DEPARTURES, UNCOUNTED].map(departureCase),
  ...HONEST,
  {
    name: 'a failed stream of a free model takes the slot of its minute',
    run: async (victim) => {
      const account = await openAccount(victim, 0);
      const question = chat('textl-v4.1-flash-free', 'tokens=2000,drop', { stream: true });
      await ask(victim, account, CHAT, question).catch(() => undefined);
      await settledCharge(victim, account);
      const { status } = await ask(victim, account, CHAT, question);
      return holds(status === 429, `the second request was answered ${status}`);
    },
  },
];

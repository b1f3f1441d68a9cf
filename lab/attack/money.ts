/** Attacks on money: whatever a client sends, it costs the operator at most slightly more than the balance. */
import { formatUsd, parseUsd, type PicoUsd } from '../../domain/money.ts';
import { openAccount, type OpenedAccount } from '../stack/accounts.ts';
import { type Answer, type Call, call, settledCharge, tolerance, vendorsBill, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';

const DEAR = 'textg-6-astra';
const CHAT_MODEL = 'textf3.8-max';
const NATIVE_MODEL = 'texth-4-argon';

/** The request of a client. */
interface Question {
  readonly model: string;
  readonly path: string;
  readonly call: Call;
}

function chat(model: string, order: string, more: object = {}): Question {
  const messages = [{ role: 'user', content: `[vendor:${order}]` }];
  return { model, path: '/v1/chat/completions', call: { body: { model, messages, ...more } } };
}

function responses(model: string, order: string, more: object = {}): Question {
  return { model, path: '/v1/responses', call: { body: { model, input: `[vendor:${order}]`, ...more } } };
}

function native(order: string, more: object = {}, parts: readonly object[] = []): Question {
  const contents = [{ role: 'user', parts: [{ text: `[vendor:${order}]` }, ...parts] }];
  const path = `/v1beta/models/${NATIVE_MODEL}:generateContent`;
  return { model: NATIVE_MODEL, path, call: { body: { contents, ...more } } };
}

function thenLeaving(question: Question, leave: Required<Call>['leave']): Question {
  return { ...question, call: { ...question.call, leave } };
}

interface Theft extends Question {
  readonly name: string;
  readonly balanceUsd: number;
  readonly keyLimitUsd?: number;
  /** The number of concurrent requests; one by default. */
  readonly requests?: number;
}

const VIDEO_LINK = { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/long.mp4' } };

const MANY_CHOICES = chat(CHAT_MODEL, 'tokens=6000', { n: 128, max_tokens: 6000 });

const UNREAD = { role: 'assistant', content: 'a', reasoning_content: 'a', reasoning: 'word '.repeat(200_000) };

const THEFTS: readonly Theft[] = [
  { name: '128 choices on 0.04 USD', balanceUsd: 0.04, ...MANY_CHOICES },
  { name: '128 choices on a key with a limit of 0.04 USD', balanceUsd: 100, keyLimitUsd: 0.04, ...MANY_CHOICES },
  {
    name: '8 candidates on 0.04 USD',
    balanceUsd: 0.04,
    ...native('tokens=7000', { generationConfig: { candidateCount: 8, maxOutputTokens: 7000 } }),
  },
  {
    name: 'a stream without a bound on 0.04 USD',
    balanceUsd: 0.04,
    ...chat(CHAT_MODEL, 'tokens=200000', { stream: true }),
  },
  { name: 'a whole answer without a bound on 0.04 USD', balanceUsd: 0.04, ...chat(CHAT_MODEL, 'tokens=200000') },
  {
    name: 'hidden reasoning without a bound on 0.2 USD',
    balanceUsd: 0.2,
    ...responses(DEAR, 'hidden=120000,tokens=10'),
  },
  {
    name: '40 streams at once without a bound on 0.2 USD',
    balanceUsd: 0.2,
    requests: 40,
    ...chat(CHAT_MODEL, 'tokens=60000', { stream: true }),
  },
  {
    name: '40 whole answers with hidden reasoning at once on 0.5 USD',
    balanceUsd: 0.5,
    requests: 40,
    ...responses(DEAR, 'hidden=60000,tokens=10'),
  },
  {
    name: '40 links of long videos at once on 1 USD',
    balanceUsd: 1,
    requests: 40,
    ...native('input=1000000,tokens=10', { generationConfig: { maxOutputTokens: 16 } }, [VIDEO_LINK]),
  },
  {
    name: 'both bounds, the small one first',
    balanceUsd: 0.04,
    ...chat(CHAT_MODEL, 'tokens=100000', { max_tokens: 16, max_completion_tokens: 100000 }),
  },
  {
    name: 'both bounds, the large one first',
    balanceUsd: 0.04,
    ...chat(CHAT_MODEL, 'tokens=100000', { max_tokens: 100000, max_completion_tokens: 16 }),
  },
  {
    name: 'text in a field that the gateway does not read on 0.04 USD',
    balanceUsd: 0.04,
    ...chat(CHAT_MODEL, '', { messages: [{ role: 'user', content: '[vendor:input=200000,tokens=10]' }, UNREAD] }),
  },
];

/** Returns the operator's cost. */
function shortfall(bill: PicoUsd, spendable: PicoUsd): PicoUsd {
  return bill > spendable ? bill - spendable : 0n;
}

function theftCase(theft: Theft): AttackCase {
  const { name, balanceUsd, keyLimitUsd, requests = 1, model } = theft;
  return {
    name,
    run: async (victim) => {
      victim.vendor.forget();
      const account = await openAccount(
        victim,
        balanceUsd,
        keyLimitUsd === undefined ? {} : { usage_limit_usd: keyLimitUsd },
      );
      const send = async (): Promise<void> => void (await ask(victim, account, theft));
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

function ask(victim: Victim, { apiKey }: OpenedAccount, question: Question): Promise<Answer> {
  return call(victim.textUrl + question.path, apiKey, question.call);
}

/** A client that leaves pays about as much as a client that stays. */
interface Departure extends Question {
  readonly name: string;
}

const CHINESE =
  '人工智能是计算机科学的一个分支它企图了解智能的实质并生产出一种新的能以人类智能相似的方式做出反应的智能机器该领域的研究包括机器人语言识别图像识别自然语言处理和专家系统等';

const DEPARTURES: readonly Departure[] = [
  {
    name: 'leaving before response.completed, after hidden reasoning',
    ...thenLeaving(responses(DEAR, 'hidden=49900,tokens=100,tail_ms=500', { stream: true }), {
      when: (received) => received.includes('response.output_item.done'),
    }),
  },
  {
    name: 'leaving before a whole answer to 200,000 tokens',
    ...thenLeaving(chat(CHAT_MODEL, 'input=200000,tokens=500,tail_ms=2000'), { afterMs: 800 }),
  },
  {
    name: 'leaving before the end of a Chinese answer',
    ...thenLeaving(chat(CHAT_MODEL, `text=${CHINESE.repeat(8)},tokens=440,pause_ms=2,tail_ms=3000`, { stream: true }), {
      when: (received) => received.split('"content":"').length > CHINESE.length * 7.8,
    }),
  },
];

/** An upstream that does not report its output in numbers. */
const UNCOUNTED: Departure = {
  name: 'usage of nothing but zeros',
  ...chat(CHAT_MODEL, 'input=0,tokens=2000,usage=0'),
};

const LEAST_SHARE_PERCENT = 85n;

function departureCase(departure: Departure): AttackCase {
  return {
    name: departure.name,
    run: async (victim) => {
      victim.vendor.forget();
      const account = await openAccount(victim, 100);
      await ask(victim, account, departure);
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
      const { status, text } = await ask(victim, account, chat(CHAT_MODEL, 'tokens=40000'));
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
      const send = (): Promise<Answer> => ask(victim, account, responses(DEAR, 'hidden=300,tokens=100'));
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
      await ask(victim, account, chat(CHAT_MODEL, 'tokens=10,usage=9000000000000000', { max_tokens: 100 }));
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
      await ask(victim, account, question).catch(() => undefined);
      await settledCharge(victim, account);
      const { status } = await ask(victim, account, question);
      return holds(status === 429, `the second request was answered ${status}`);
    },
  },
];

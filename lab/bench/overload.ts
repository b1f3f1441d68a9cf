/**
 * Measures a text process at three times the requests that it can answer: its useful answers a second beside its
 * maximum, their latency, and its memory; first without protection from overload. The process has one core, and the
 * rest of the system the other, so each request is a long conversation in another format than the model's: it costs
 * the process far more time than its upstream and its clients. Prints a JSON line for each.
 */
import { Agent, request } from 'undici';
import { percentile, rounded } from './statistics.ts';
import { keepOnCore, residentMegabytesOf } from './load/processes.ts';
import { arriveAt } from './load/steady.ts';
import { type LoadTarget, putLoad } from './load/wrk.ts';
import { MODEL, startTextStack, type Target } from './text-stack.ts';

const CLIENTS = 32;
const TURNS = 250;
/** A load balancer keeps its connections, and queues requests when each has one in progress. */
const balancer = new Agent({ connections: 2_000 });
const SATURATION_SECONDS = 10;
const OVERLOAD_SECONDS = 20;
/** By then the process has detected the overload, and has answered the waiting requests. */
const SETTLED_AFTER_SECONDS = 8;
const MEASURED_SECONDS = OVERLOAD_SECONDS - SETTLED_AFTER_SECONDS;
const TIMES = 3;
/** An answer is useful if it takes at most this multiple of the p99 at saturation. */
const USEFUL_WITHIN = 5;
const [SERVING_CORE, OTHER_CORE] = [0, 1];

await keepOnCore(process.pid, OTHER_CORE);
const stack = await startTextStack();
try {
  for (const name of ['unguarded.js', undefined]) {
    const gateway = await stack.startGateway(name);
    await keepOnCore(gateway.pid, SERVING_CORE);
    console.log(JSON.stringify({ is_protected: name === undefined, ...(await overload(gateway)) }));
  }
} finally {
  await stack.stop();
}

async function overload(gateway: Target & { readonly pid: number }): Promise<Readonly<Record<string, number>>> {
  const conversation = conversationWith(gateway);
  await putLoad(conversation, CLIENTS, SATURATION_SECONDS);
  const saturation = await putLoad(conversation, CLIENTS, SATURATION_SECONDS);
  const perSecond = saturation.requestsPerSecond * (1 - saturation.failed / saturation.requests);
  const memory = residentMegabytesOf(gateway.pid);
  const settledAtMs = performance.now() + SETTLED_AFTER_SECONDS * 1000;
  const answers = await arriveAt(TIMES * perSecond, OVERLOAD_SECONDS, () => statusOf(conversation));
  const settled = answers.filter(({ dueAtMs }) => dueAtMs > settledAtMs);
  const acceptedMs = settled.filter(({ result }) => result === 200).map(({ latencyMs }) => latencyMs);
  const useful = acceptedMs.filter((latencyMs) => latencyMs <= USEFUL_WITHIN * saturation.p99Ms);
  const usefulPerSecond = useful.length / MEASURED_SECONDS;
  return {
    saturation_per_second: rounded(perSecond),
    saturation_p99_ms: rounded(saturation.p99Ms),
    arriving_per_second: rounded(settled.length / MEASURED_SECONDS),
    useful_per_second: rounded(usefulPerSecond),
    useful_share: rounded(usefulPerSecond / perSecond, 2),
    accepted_p99_ms: rounded(percentile(acceptedMs, 0.99)),
    refused: settled.filter(({ result }) => result === 503).length,
    failed: settled.filter(({ result }) => result !== 200 && result !== 503).length,
    resident_mb_before: rounded(memory),
    resident_mb_after: rounded(residentMegabytesOf(gateway.pid)),
  };
}

/** A request in the format of messages with a history. */
function conversationWith(gateway: Target): LoadTarget {
  const text = 'Tell me more.';
  const turn = [
    { role: 'user', content: text },
    { role: 'assistant', content: [{ type: 'text', text }] },
  ];
  const messages = [...Array.from({ length: TURNS }, () => turn).flat(), { role: 'user', content: text }];
  return {
    url: gateway.url.replace('chat/completions', 'messages'),
    headers: { ...gateway.headers, 'content-type': 'application/json', 'msgfmt-version': '2023-06-01' },
    body: JSON.stringify({ model: MODEL, max_tokens: 500, messages }),
  };
}

/** @returns the status of a whole answer; 0 if the connection broke, or could not be made in time */
async function statusOf({ url, headers, body }: LoadTarget): Promise<number> {
  try {
    const answer = await request(url, { dispatcher: balancer, method: 'POST', headers, body });
    await answer.body.dump({ limit: Infinity });
    return answer.statusCode;
  } catch {
    return 0;
  }
}

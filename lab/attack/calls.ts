/** Attacks on calls over WebRTC: calls of others, descriptions of media that are bombs, and responses without money. */
import { OFFER } from '../stack/offer.ts';
import { newId } from '../../domain/ids.ts';
import { openRealtime, refusalOfRealtime } from '../../test/support/realtime.ts';
import { openAccount } from '../stack/accounts.ts';
import { REALTIME_MODEL } from '../drill/realtime-prices.ts';
import { type Answer, call, settledCharge, type Victim } from './attacker.ts';
import { type AttackCase, holds } from './case.ts';
import { watchSessions } from './realtime.ts';
import { staysQuick } from './stall.ts';

const SDP = { 'content-type': 'application/sdp' };
const MODEL_QUERY = `?model=${REALTIME_MODEL}`;

function createCall(
  { apiUrl }: Victim,
  key: string,
  body: string | object = OFFER,
  headers: Readonly<Record<string, string>> = SDP,
): Promise<Answer> {
  return call(`${apiUrl}/v1/realtime/calls${MODEL_QUERY}`, key, { body, headers });
}

/** @returns the id of the call, and the upstream's */
async function openCall(victim: Victim, key: string): Promise<{ readonly id: string; readonly vendorId: string }> {
  const { status, headers, text } = await createCall(victim, key);
  if (status !== 201) throw new Error(`the call was answered ${status}: ${text}`);
  return {
    id: String(headers['location']).replace('/v1/realtime/calls/', ''),
    vendorId: victim.vendor.realtime.calls.ids.at(-1) ?? '',
  };
}

async function hangUp({ apiUrl }: Victim, key: string, id: string): Promise<number> {
  return (await call(`${apiUrl}/v1/realtime/calls/${id}/hangup`, key, { method: 'POST' })).status;
}

const GUESSES = 200;

const foreignCalls: AttackCase = {
  name: 'calls: a call of another account, guessed ids, and replays',
  run: async (victim) => {
    const { apiUrl, vendor } = victim;
    const [owner, other] = await Promise.all([openAccount(victim, 10), openAccount(victim, 10)]);
    const { id, vendorId } = await openCall(victim, owner.apiKey);
    const changed = [
      id.slice(0, -1),
      `${id}x`,
      id.toUpperCase(),
      vendorId,
      '..',
      '%2e%2e%2fclient_secrets',
      `${id}%00`,
    ];
    const guessed = Array.from({ length: GUESSES }, () => newId('realtimeCall'));
    const ids = [id, ...changed, ...guessed];
    const statuses = await Promise.all(ids.map((one) => hangUp(victim, other.apiKey, one)));
    const wrong = ids.filter((_, index) => ![400, 404].includes(statuses[index] ?? 0));
    if (wrong.length > 0) throw new Error(`hang-ups of others were accepted: ${wrong.slice(0, 3).join(', ')}`);
    const attach = async (bearer: string): Promise<number> =>
      (await refusalOfRealtime(`${apiUrl}/v1/realtime?call_id=${id}`, { bearer })).status;
    const attached = await attach(other.apiKey);
    const lives = vendor.realtime.calls.ids.includes(vendorId);
    const ended = [await hangUp(victim, owner.apiKey, id), await hangUp(victim, owner.apiKey, id)];
    const after = await attach(owner.apiKey);
    return holds(
      attached === 404 && lives && ended.every((status) => status === 200) && after === 410,
      `${ids.length} hang-ups refused; a foreign WebSocket: ${attached}; the call ${lives ? 'went on' : 'ended'}; its own hang-ups: ${ended.join(', ')}; a WebSocket after its end: ${after}`,
    );
  },
};

/** Bodies that are expensive to read, or that a parser of media may choke on. */
const BOMBS: readonly [body: () => string, contentType: string][] = [
  [() => `v=0\r\n${'a=x\r\n'.repeat(12_000)}`, 'application/sdp'],
  [() => `${OFFER}${'m=audio 9 RTP/AVP 0\r\n'.repeat(2_500)}`, 'application/sdp'],
  [() => `v=0${'x'.repeat(2 ** 20)}`, 'application/sdp'],
  [() => `v=0\r\n\0\r\n${String.fromCharCode(0xd8_00)}`, 'application/sdp'],
  [() => JSON.stringify({ sdp: `v=0${'\n'.repeat(400_000)}` }), 'application/json'],
  [() => `{"sdp":"v=0","session":${'['.repeat(500_000)}`, 'application/json'],
  [() => `{"sdp":"v=0","session":{"tools":[${'{},'.repeat(300_000)}{}]}}`, 'application/json'],
  [
    () => `--b\r\n${'Content-Disposition: form-data; name="sdp"\r\n\r\nv=0\r\n--b\r\n'.repeat(15_000)}`,
    'multipart/form-data; boundary=b',
  ],
  [() => `--b${'-'.repeat(2 ** 20)}`, `multipart/form-data; boundary=${'-'.repeat(5_000)}`],
];

const REPEATS = 5;

const sdpBombs: AttackCase = {
  name: 'calls: descriptions of media that are bombs',
  run: async (victim) => {
    const { apiKey } = await openAccount(victim, 10);
    return staysQuick(victim, victim.apiUrl, async () => {
      const bombs = Array.from({ length: REPEATS }, () => BOMBS).flat();
      const answers = await Promise.all(
        bombs.map(([body, type]) => createCall(victim, apiKey, body(), { 'content-type': type })),
      );
      const statuses = [...new Set(answers.map(({ status }) => status))].toSorted((one, other) => one - other);
      // Too many large bodies at once are refused with 503.
      const isRefused = statuses.every((status) => [201, 400, 402, 413, 503].includes(status));
      // The upstream must not look as if it failed.
      await openCall(victim, (await openAccount(victim, 10)).apiKey);
      return holds(isRefused, `${statuses.join(', ')}; then a call of another account was opened`);
    });
  },
};

/** The price of the most that a response of a call can use is 1.29 USD. */
const BALANCE_USD = 1.3;

const unpaidCalls: AttackCase = {
  name: `calls: responses that the client requests from the vendor until the money is gone, on ${BALANCE_USD} USD`,
  run: async (victim) => {
    const account = await openAccount(victim, BALANCE_USD);
    const lossOf = watchSessions(victim, BALANCE_USD);
    const { vendorId } = await openCall(victim, account.apiKey);
    const second = await createCall(victim, account.apiKey);
    const client = await openRealtime(`${victim.vendor.url}/v1/realtime?call_id=${vendorId}`, { bearer: 'none' });
    for (let count = 0; count < 40; count += 1) {
      const isAnswered = await client.ask('[sim:tokens=4000,prompt=20000,cached=0]').catch(() => null);
      if (isAnswered === null) break;
    }
    await client.closed;
    await settledCharge(victim, account);
    const { isBounded, told } = lossOf();
    return holds(second.status === 402 && isBounded, `a second call: ${second.status}; ${told}`);
  },
};

export const CALL_CASES: readonly AttackCase[] = [foreignCalls, sdpBombs, unpaidCalls];

/** Checks whether upstreams answer and accept their keys, with one harmless request for each address and key. */
import { Agent, type Dispatcher } from 'undici';
import type { UpstreamFormatName } from '../domain/wire-format-name.ts';
import { CredentialsError } from './credentials/credentials.ts';
import { openCredentials } from './credentials/open.ts';
import { type Answer, exchange, isSuccess } from './media/exchange.ts';
import { shownCredential } from './media/credentials.ts';
import { valueIn } from './media/json.ts';
import { createMediaUpstream, type MediaUpstreamSettings } from './media/upstream.ts';
import type { TextUpstreamSettings } from './text/settings.ts';
import type { Upstreams } from './upstreams.ts';

export interface Probe {
  readonly upstream: string;
  readonly address: string;
  /** The last four characters of the key; null for credentials that expire. */
  readonly key: string | null;
  /** `unclear`: the upstream answers, but the answer does not show whether it accepts the key. */
  readonly verdict: 'accepted' | 'unclear' | 'refused' | 'unreachable';
  /** The status, or why there was no answer. */
  readonly detail: string;
  /** The models of routes that the upstream no longer has. */
  readonly retiredModels: readonly RetiredModel[];
}

export interface RetiredModel {
  readonly model: string;
  /** For example `2026-10-22`; null if the upstream only no longer lists the model. */
  readonly retiredOn: string | null;
}

export interface ProbeOptions {
  /** The formats in which to probe a text upstream, by the upstream's name. */
  readonly formatsOf: (upstream: string) => readonly UpstreamFormatName[];
  /** The models of routes to a media upstream, by the upstream's name. */
  readonly modelsOf: (upstream: string) => readonly string[];
  /** Limits each request; all run at the same time. */
  readonly timeoutMs: number;
}

/** A list of models may be long. */
const MAX_ANSWER_BYTES = 16 * 2 ** 20;
const REFUSED_STATUSES: readonly number[] = [401, 403];

export async function probeUpstreams(upstreams: Upstreams, options: ProbeOptions): Promise<readonly Probe[]> {
  const dispatcher = new Agent();
  try {
    return await Promise.all([
      ...upstreams.media.map((settings) => probeMedia(settings, dispatcher, options)),
      ...upstreams.text.flatMap((settings) => probeText(settings, dispatcher, options)),
    ]);
  } finally {
    await dispatcher.close();
  }
}

async function probeMedia(
  settings: MediaUpstreamSettings,
  dispatcher: Dispatcher,
  { modelsOf, timeoutMs }: ProbeOptions,
): Promise<Probe> {
  const timings = { answerTimeoutMs: timeoutMs, maxResponseBytes: MAX_ANSWER_BYTES };
  const upstream = createMediaUpstream(settings, { dispatcher, timings });
  const key = 'auth' in settings.credential ? null : shownCredential(settings.credential);
  const address = settings.baseUrl ?? settings.adapter.baseUrl ?? '';
  return judge(
    { upstream: settings.name, address, key },
    () => upstream.probe(new AbortController().signal),
    (answer) => retiredModels(settings, modelsOf(settings.name), answer),
  );
}

/** Finds retired models in the upstream's list, or in its adapter's table if there is no list. */
function retiredModels(
  { adapter }: MediaUpstreamSettings,
  models: readonly string[],
  answer: Answer | null,
): readonly RetiredModel[] {
  const listed = answer && isSuccess(answer) ? (adapter.modelsIn?.(answer.document) ?? null) : null;
  return models.flatMap((model) => {
    const retiredOn = valueIn(adapter.retiredModels ?? {}, model) ?? null;
    const isRetired = listed ? !listed.includes(model) : retiredOn !== null;
    return isRetired ? [{ model, retiredOn }] : [];
  });
}

function probeText(
  { name, apiKeys, auth, platform, baseUrls, headers = {} }: TextUpstreamSettings,
  dispatcher: Dispatcher,
  { formatsOf, timeoutMs }: ProbeOptions,
): readonly Promise<Probe>[] {
  const credentials = auth === undefined ? null : openCredentials(auth, { region: platform?.region ?? undefined });
  // All formats of a cloud have the same address.
  const formats = platform === undefined ? formatsOf(name) : formatsOf(name).slice(0, 1);
  const addresses = formats.flatMap((format) => {
    const address = baseUrls[format];
    return address === undefined ? [] : [{ address, format }];
  });
  return addresses.flatMap(({ address, format }) =>
    apiKeys.map((key) => {
      const url = new URL(`${address}${platform?.name === 'azure' ? '/openai/v1' : ''}/models`);
      const keyOf = async () => {
        if (credentials !== null) return credentials.headersFor({ method: 'GET', url, headers, body: '' });
        return platform?.name === 'azure' ? { 'api-key': key } : CREDENTIALS[format](key);
      };
      const ask = async () =>
        exchange(
          {
            method: 'GET',
            url,
            headers: { ...headers, ...(await keyOf()) },
            dispatcher,
            timeoutMs,
            maxResponseBytes: MAX_ANSWER_BYTES,
          },
          new AbortController().signal,
        );
      return judge({ upstream: name, address, key: credentials === null ? key : null }, ask);
    }),
  );
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

const CREDENTIALS: Readonly<Record<UpstreamFormatName, (key: string) => Readonly<Record<string, string>>>> = {
  'chat-completions': bearer,
  responses: bearer,
  messages: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  'generate-content': (key) => ({ 'x-goog-api-key': key }),
  converse: bearer,
};

async function judge(
  { upstream, address, key }: Pick<Probe, 'upstream' | 'address' | 'key'>,
  ask: () => Promise<Answer>,
  retiredIn: (answer: Answer | null) => readonly RetiredModel[] = () => [],
): Promise<Probe> {
  const subject = { upstream, address, key: key && key.slice(-4) };
  try {
    const answer = await ask();
    const detail = `it answers ${answer.status}`;
    return { ...subject, verdict: verdictOf(answer), detail, retiredModels: retiredIn(answer) };
  } catch (error) {
    const verdict = error instanceof CredentialsError && error.isRefused ? 'refused' : 'unreachable';
    return { ...subject, verdict, detail: reasonOf(error), retiredModels: retiredIn(null) };
  }
}

function verdictOf(answer: Answer): Probe['verdict'] {
  if (isSuccess(answer)) return 'accepted';
  if (answer.status >= 500) return 'unreachable';
  // Google answers with 400 if the key is wrong.
  const isRefused =
    REFUSED_STATUSES.includes(answer.status) || /API_KEY_INVALID/.test(JSON.stringify(answer.document) ?? '');
  return isRefused ? 'refused' : 'unclear';
}

/** The innermost cause is the most precise: a refused connection, an unknown name, a certificate. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message || error.name : reasonOf(error.cause);
}

/** What a text request goes through before its model is called: specification sections 4.8, 5 and 8. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TextModel } from '../../catalogue/types.ts';
import type { Caller } from '../../db/queries/api-keys.ts';
import { assertNotExhausted, assertUsable, refusedKey } from '../../domain/api-key.ts';
import { badRequest, ServiceError } from '../../domain/errors.ts';
import { BODIES } from '../../domain/policy.ts';
import { readObject } from '../../text/read.ts';
import { addressRefusal, credentialOf, isAllowedAddress, MAX_KEY_LENGTH } from '../middlewares/authenticate.ts';
import { readJsonBody } from '../middlewares/json-body.ts';
import type { TextHold } from '../../db/text-money/billing.ts';
import { mostInputTokens } from './bound-input.ts';
import { checkEarly } from './check-early.ts';
import { chooseModel } from './choose-model.ts';
import type { TextEndpoint, TextTarget } from './endpoints.ts';
import { estimateInputTokens } from './estimate-tokens.ts';
import type { ReadRequest } from './exchange.ts';
import { clientAddress, queryOf } from './http.ts';
import type { TextServices } from './services.ts';

/** One call of a text endpoint. */
export interface TextCall {
  readonly target: TextTarget;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** By the clock of the database, in milliseconds since 1970: decides about prices, and whether the key has expired. */
  readonly startedAtMs: number;
  /** The same moment of `performance.now()`, for how long things take. */
  readonly timedFromMs: number;
  /** What every answer to the call carries, errors included. */
  readonly headers: Record<string, string>;
}

/** A call whose model may be called. */
export interface AdmittedCall extends TextCall {
  readonly accountId: string;
  readonly read: ReadRequest;
  readonly model: TextModel;
  readonly hold: TextHold;
}

/** @throws ServiceError for every reason not to call the model */
export async function admit(call: TextCall, services: TextServices): Promise<AdmittedCall> {
  const { endpoint, parseContext } = call.target;
  const caller = await authenticate(call, services);
  await limit(call, caller, services);
  requireVersion(endpoint, call.request);
  const announcedBytes = Number(call.request.headers['content-length'] ?? 0);
  await checkEarly(endpoint, parseContext.address?.model ?? null, announcedBytes, caller, services);
  const { value } = await readJsonBody(call.request, BODIES.text, (sizer, bytes) =>
    checkEarly(endpoint, parseContext.address?.model ?? sizer.model, bytes, caller, services),
  );
  const body = readObject(value, '');
  const request = endpoint.format.client.parseRequest(body, parseContext);
  const model = chooseModel(endpoint.format.name, body, request, caller.key, services.catalogue);
  const hold = await services.billing.hold({
    caller,
    model,
    format: endpoint.format.name,
    streamed: request.stream,
    requestId: call.requestId,
    startedAtMs: call.startedAtMs,
    estimatedInputTokens: estimateInputTokens(request),
    mostInputTokens: mostInputTokens(request, body, model),
    maxOutputTokens: request.sampling.maxOutputTokens ?? null,
    choiceCount: request.sampling.choiceCount ?? 1,
  });
  return { ...call, accountId: caller.account.id, read: { format: endpoint.format, body, request }, model, hold };
}

async function authenticate({ target, request, startedAtMs }: TextCall, services: TextServices): Promise<Caller> {
  const { credentialHeaders, credentialParameter } = target.endpoint;
  const inQuery = credentialParameter === null ? '' : (queryOf(request).get(credentialParameter) ?? '');
  const apiKey = credentialOf(request.headers, credentialHeaders, inQuery);
  const caller = apiKey.length <= MAX_KEY_LENGTH ? await services.findCaller(apiKey) : null;
  if (caller === null) throw refusedKey('key_unknown');
  assertUsable(caller.key, new Date(startedAtMs));
  assertNotExhausted(caller.key);
  const address = clientAddress(request, services.settings.trustedProxies);
  if (!isAllowedAddress(caller.key, address)) throw new ServiceError('access_denied', addressRefusal(address));
  return caller;
}

async function limit(call: TextCall, { key }: Caller, services: TextServices): Promise<void> {
  const { headers, refusal } = await services.countRequest(key);
  Object.assign(call.headers, headers);
  if (refusal !== null) throw refusal;
}

/** Specification section 9. */
function requireVersion({ versionHeaders }: TextEndpoint, { headers }: IncomingMessage): void {
  const [specified] = versionHeaders;
  if (specified === undefined || versionHeaders.some((name) => headers[name])) return;
  throw badRequest(`the header "${specified}" is required, for example "${specified}: 2023-06-01"`);
}

/** Realtime sessions: contract 4.16. */
import Joi from 'joi';
import { WebSocketServer } from 'ws';
import { badRequest } from '../../../domain/errors.ts';
import {
  ANY_OBJECT,
  component,
  exactly,
  idOf,
  integer,
  type JsonSchema,
  object,
  text,
} from '../../../domain/json-schema.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { newId } from '../../../domain/ids.ts';
import { REALTIME } from '../../../domain/policy.ts';
import { normalizeOrigin, TRANSPORTS, type Transport } from '../../../domain/realtime.ts';
import { toUnixSeconds } from '../../../domain/unix-time.ts';
import { json } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { textParameter } from '../../endpoint/query.ts';
import { acceptSocket, assertUpgrade } from '../../accept-socket.ts';
import type { OpeningRequest } from '../../../services/realtime/open-session.ts';
import { endUserOfSessions } from '../../../services/text/end-user.ts';
import { allowOrigin } from '../../middlewares/cross-origin.ts';
import type { ApiServices } from '../../services.ts';
import type { Context } from '../../state.ts';
import { callBody, laterIgnoredBody, readCallBody, SDP } from './call-body.ts';
import { list } from '../../../services/input/validation.ts';
import { checkOpener, type SessionOpener } from './credential.ts';

interface SecretBody {
  readonly expires_after: { readonly anchor: 'created_at'; readonly seconds: number };
  readonly session: JsonObject & { readonly type: 'realtime'; readonly model: string };
  readonly allowed_origins: readonly string[];
  readonly transports: readonly Transport[];
  readonly session_seconds: number;
}

const { min, max, default: usual } = REALTIME.secretSeconds;

/** OpenAI's: https://platform.openai.com/docs/guides/safety-best-practices */
const SAFETY_IDENTIFIER: JsonSchema = {
  name: 'OpenAI-Safety-Identifier',
  in: 'header',
  description:
    'Names the end user of the sessions, whose budget pays for their responses. With a client secret, the name that its creator sent counts.',
  schema: text(),
};

const secretBody = jsonBody<SecretBody>(
  'CreateClientSecretRequest',
  Joi.object<SecretBody>({
    expires_after: Joi.object({
      anchor: Joi.valid('created_at').default('created_at'),
      seconds: Joi.number().integer().min(min).max(max).default(usual),
    }).default({ anchor: 'created_at', seconds: usual }),
    session: Joi.object({ type: Joi.valid('realtime').required(), model: Joi.string().max(200).required() })
      .unknown()
      .required()
      .description('The settings that each session starts with, as in `session.update`'),
    allowed_origins: list(Joi.string().max(300).custom(checkOrigin), { max: REALTIME.maxOrigins })
      .default([])
      .description('The origins of pages that may use the secret, such as `https://app.example.com`; all if empty'),
    transports: list(Joi.valid(...TRANSPORTS), { max: TRANSPORTS.length })
      .default([])
      .description('The transports that the secret allows; all if empty'),
    session_seconds: Joi.number()
      .integer()
      .min(1)
      .max(REALTIME.maxSessionSeconds)
      .default(REALTIME.maxSessionSeconds)
      .description('How long a session may last'),
  }),
  { secret: { value: { session: { type: 'realtime', model: 'demo-realtime', instructions: 'Be brief.' } } } },
);

function checkOrigin(given: string): string {
  const origin = normalizeOrigin(given);
  if (origin === null) throw new RangeError(`not an origin such as https://app.example.com: ${given}`);
  return origin;
}

const socketServer = new WebSocketServer({
  noServer: true,
  maxPayload: REALTIME.maxMessageBytes,
  perMessageDeflate: false,
  handleProtocols: (protocols) => (protocols.has('realtime') ? 'realtime' : false),
});

export const realtimeEndpoints = endpoints('Realtime', {
  createClientSecret: endpoint({
    request: 'POST /v1/realtime/client_secrets',
    access: 'realtime-key',
    headers: [SAFETY_IDENTIFIER],
    summary: 'Create a client secret',
    description:
      'A client secret opens realtime sessions in browsers and apps, until it expires or its API key no longer works. Send it as a bearer ' +
      'token, or as the subprotocol `openai-insecure-api-key.{secret}` beside `realtime`.',
    body: secretBody,
    answers: {
      200: {
        description: 'The secret, which is shown once',
        content: json(
          component(
            'ClientSecret',
            object({
              value: text('The secret'),
              expires_at: integer('When the secret expires, in Unix seconds'),
              session: { ...ANY_OBJECT, description: 'The settings of its sessions' },
            }),
          ),
        ),
      },
    },
    refusals: ['not_found', 'processing_unavailable'],
    handle: async ({ caller, body, context }, { text: { realtime } }) => {
      const { session, expires_after: expiry, allowed_origins: allowedOrigins, transports, session_seconds } = body;
      const { type, model } = session;
      const { value, expiresAt, settings } = await realtime.secrets.create(caller, {
        model,
        session,
        endUser: endUserOfSessions(context.headers),
        seconds: expiry.seconds,
        allowedOrigins,
        transports,
        sessionSeconds: session_seconds,
      });
      const shown = { ...settings, id: newId('realtimeSession'), object: 'realtime.session', type, model };
      return { value, expires_at: toUnixSeconds(expiresAt), session: shown };
    },
  }),
  openRealtimeSession: endpoint({
    request: 'GET /v1/realtime',
    access: 'realtime',
    summary: 'Open a realtime session',
    description:
      "A WebSocket with the events of OpenAI's realtime protocol. The page of the API has the [table of events](https://github.com/genway/genway/blob/main/docs/contract.md#416-realtime).",
    headers: [SAFETY_IDENTIFIER],
    query: {
      model: textParameter('A model whose `formats` are `realtime`'),
      call_id: textParameter('A call over WebRTC, to follow and control instead of opening a session'),
    },
    answers: { 101: { description: 'The WebSocket' } },
    refusals: [
      'bad_request',
      'insufficient_credits',
      'not_found',
      'realtime_session_expired',
      'processing_unavailable',
    ],
    handle: async ({ query: { model, call_id: callId }, context }, services) => {
      const opener = await checkOpener(context, 'websocket', services);
      assertUpgrade(context);
      const { realtime } = services.text;
      const accept = async () => (await acceptSocket(context, socketServer)).peer;
      const request = { ...openingBy(opener, context, services), accept };
      if (callId !== undefined) return realtime.attach({ ...request, callId });
      await realtime.open({ ...request, model: modelOf(model, opener.secret?.model) });
    },
  }),
  createRealtimeCall: endpoint({
    request: 'POST /v1/realtime/calls',
    access: 'realtime',
    summary: 'Create a call over WebRTC',
    description:
      'Answers the description of media of a browser or an app, whose audio then does not pass through Genway. A client secret has the settings of the session; ' +
      'with an API key, `session` or the query has the model.',
    headers: [SAFETY_IDENTIFIER],
    query: { model: textParameter('The model, unless `session` or the client secret has it') },
    body: callBody,
    answers: {
      201: {
        description: 'The description of the media of the model; `Location` ends with the id of the call',
        content: { [SDP]: { schema: text() } },
        headers: ['Location'],
      },
    },
    refusals: ['insufficient_credits', 'not_found', 'processing_unavailable'],
    handle: async ({ query: { model: inQuery }, body: request, context }, services) => {
      allowOrigin(context);
      const opener = await checkOpener(context, 'webrtc', services);
      const opening = openingBy(opener, context, services);
      // The body may be large, so the limit comes first.
      await opening.count();
      const { sdp, session } = await readCallBody(request);
      const { model: inSession } = session;
      const model = modelOf(inQuery ?? (typeof inSession === 'string' ? inSession : undefined), opener.secret?.model);
      const { realtime } = services.text;
      const call = await realtime.call({ ...opening, count: async () => undefined, model, sdp, settings: session });
      if (context.req.socket.destroyed) await realtime.hangUp(opener.caller, call.id);
      context.set('Location', `/v1/realtime/calls/${call.id}`);
      context.type = SDP;
      context.body = call.sdp;
    },
  }),
  hangUpRealtimeCall: endpoint({
    request: 'POST /v1/realtime/calls/{call_id}/hangup',
    access: 'realtime',
    summary: 'End a call over WebRTC',
    description:
      'The key or client secret must belong to the key that created the call. A call that has ended stays ended.',
    answers: {
      200: {
        description: 'The call ends',
        content: json(object({ id: idOf('realtimeCall'), object: exactly('realtime.call') })),
      },
    },
    body: laterIgnoredBody,
    handle: async ({ params: { call_id: id }, body: readBody, context }, services) => {
      allowOrigin(context);
      const { caller } = await checkOpener(context, 'webrtc', services);
      await services.http.requestLimit.enforce(context, caller);
      await readBody();
      await services.text.realtime.hangUp(caller, id);
      return { id, object: 'realtime.call' };
    },
  }),
});

/** The facts about a request for a session that do not depend on its transport. */
function openingBy(
  { caller, secret, endUser }: SessionOpener,
  context: Context,
  { http: { requestLimit } }: ApiServices,
): Omit<OpeningRequest, 'model'> {
  return {
    requestId: context.state.requestId,
    caller,
    secret,
    endUser,
    count: () => requestLimit.enforce(context, caller),
    requestLimit: requestLimit.limitOf(caller),
  };
}

/** The model of the request, or that of the secret. @throws ServiceError `bad_request` */
function modelOf(given: string | undefined, ofSecret: string | undefined): string {
  const model = given ?? ofSecret;
  if (model === undefined) throw badRequest('"model" is required');
  if (ofSecret !== undefined && model !== ofSecret) {
    throw badRequest(`"model" must be "${ofSecret}", the model of the client secret`);
  }
  return model;
}

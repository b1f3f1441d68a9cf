/** Realtime sessions: contract 4.16. */
import Joi from 'joi';
import { type WebSocket, WebSocketServer } from 'ws';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { ANY_OBJECT, component, integer, object, text } from '../../../domain/json-schema.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { newId } from '../../../domain/ids.ts';
import { REALTIME } from '../../../domain/policy.ts';
import { normalizeOrigin, TRANSPORTS, type Transport } from '../../../domain/realtime.ts';
import { json } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { textParameter } from '../../endpoint/query.ts';
import { asksForUpgrade, takeUpgrade } from '../../http-server.ts';
import type { Context } from '../../state.ts';
import { checkOpener } from './credential.ts';

interface SecretBody {
  readonly expires_after: { readonly anchor: 'created_at'; readonly seconds: number };
  readonly session: JsonObject & { readonly type: 'realtime'; readonly model: string };
  readonly allowed_origins: readonly string[];
  readonly transports: readonly Transport[];
  readonly session_seconds: number;
}

const { min, max, default: usual } = REALTIME.secretSeconds;

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
    allowed_origins: Joi.array()
      .items(Joi.string().max(300).custom(checkOrigin))
      .max(REALTIME.maxOrigins)
      .default([])
      .description('The origins of pages that may use the secret, such as `https://app.example.com`; all if empty'),
    transports: Joi.array()
      .items(Joi.valid(...TRANSPORTS))
      .max(TRANSPORTS.length)
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
    handle: async ({ caller, body }, { text: { realtime } }) => {
      const { session, expires_after: expiry, allowed_origins: allowedOrigins, transports, session_seconds } = body;
      const { type, model } = session;
      const { value, expiresAt, settings } = await realtime.secrets.create(caller, {
        model,
        session,
        seconds: expiry.seconds,
        allowedOrigins,
        transports,
        sessionSeconds: session_seconds,
      });
      const shown = { id: newId('realtimeSession'), object: 'realtime.session', type, model, ...settings };
      return { value, expires_at: Math.floor(expiresAt.getTime() / 1000), session: shown };
    },
  }),
  openRealtimeSession: endpoint({
    request: 'GET /v1/realtime',
    access: 'realtime',
    summary: 'Open a realtime session',
    description:
      "A WebSocket with the events of OpenAI's realtime protocol. The page of the API has the [table of events](https://github.com/genway/genway/blob/main/docs/contract.md#416-realtime).",
    query: { model: textParameter('A model whose `formats` are `realtime`') },
    answers: { 101: { description: 'The WebSocket' } },
    refusals: ['bad_request', 'insufficient_credits', 'not_found', 'processing_unavailable'],
    handle: async ({ query: { model }, context }, services) => {
      const { caller, secret } = await checkOpener(context, 'websocket', services);
      if (!asksForUpgrade(context.req)) throw needsUpgrade();
      const { requestLimit } = services.http;
      context.state.isRead = false;
      await services.text.realtime.open({
        requestId: context.state.requestId,
        caller,
        secret,
        model: modelOf(model, secret?.model),
        count: () => requestLimit.enforce(context, caller),
        requestLimit: requestLimit.limitOf(caller),
        accept: () => accept(context),
      });
    },
  }),
});

/** The model in the query, or that of the secret. @throws ServiceError `bad_request` */
function modelOf(inQuery: string | undefined, ofSecret: string | undefined): string {
  const model = inQuery ?? ofSecret;
  if (model === undefined) throw badRequest('"model" is required in the query');
  if (ofSecret !== undefined && model !== ofSecret) {
    throw badRequest(`"model" must be "${ofSecret}", the model of the client secret`);
  }
  return model;
}

/** @throws ServiceError if the client left, or its request is no valid handshake */
function accept(context: Context): Promise<WebSocket> {
  const upgrade = takeUpgrade(context.req, context.res);
  if (upgrade === null) throw badRequest('The client closed the connection.');
  context.respond = false;
  const { socket, head } = upgrade;
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(badRequest('The client closed the connection.')));
    socketServer.handleUpgrade(context.req, socket, head, resolve);
  });
}

function needsUpgrade(): ServiceError {
  return new ServiceError('bad_request', 'Open this address as a WebSocket.', {
    status: 426,
    headers: { Upgrade: 'websocket' },
  });
}

/** The bodies of calls over WebRTC: the client's description of its media, alone or with the settings of the session. */
import type { IncomingMessage } from 'node:http';
import { badRequest } from '../../../domain/errors.ts';
import { ANY_OBJECT, component, object, optional, text } from '../../../domain/json-schema.ts';
import { isObject, type JsonObject, objectOf } from '../../../domain/json.ts';
import { BODIES } from '../../../domain/policy.ts';
import { MAX_SDP_BYTES } from '../../../providers/text/realtime-call.ts';
import { json } from '../../endpoint/answers.ts';
import type { RequestBody } from '../../endpoint/body.ts';
import { readBody, readJsonBody } from '../../middlewares/json-body.ts';

/** The media type of a description of media: RFC 8866. */
export const SDP = 'application/sdp';

export interface CallBody {
  readonly sdp: string;
  /** The session in the form of `session.update`; empty for none. */
  readonly session: JsonObject;
}

const offer = text('The description of the client’s media', { pattern: '^v=0' });
const schema = component(
  'CreateCallRequest',
  object({
    sdp: offer,
    session: optional({ ...ANY_OBJECT, description: 'The settings of the session, as in `session.update`' }),
  }),
);

/** The handler reads the body after it has checked the caller. */
export const callBody: RequestBody<IncomingMessage> = {
  description: {
    required: true,
    content: { [SDP]: { schema: offer }, 'multipart/form-data': { schema }, ...json(schema) },
  },
  read: async (request) => request,
};

/** A JSON body that some clients send needlessly, which the handler reads after it has checked the caller. */
export const laterIgnoredBody: RequestBody<() => Promise<unknown>> = {
  description: null,
  read: async (request) => () => readJsonBody(request, BODIES.common),
};

/** @throws ServiceError for a body that is too large, too slow or wrong */
export async function readCallBody(request: IncomingMessage): Promise<CallBody> {
  const contentType = request.headers['content-type'] ?? '';
  const { sdp, session } = await readParts(request, contentType);
  if (typeof sdp !== 'string' || !sdp.startsWith('v=0')) {
    throw badRequest(`The body must be a description of media, sent with "Content-Type: ${SDP}", or have it in "sdp".`);
  }
  if (Buffer.byteLength(sdp) > MAX_SDP_BYTES) throw badRequest(`"sdp" must have at most ${MAX_SDP_BYTES} bytes`);
  if (session !== undefined && session !== null && !isObject(session)) throw badRequest('"session" must be an object');
  return { sdp, session: session ?? {} };
}

async function readParts(request: IncomingMessage, contentType: string): Promise<JsonObject> {
  if (/^multipart\//i.test(contentType)) {
    return readForm(await readBody(request, BODIES.common.maxBytes), contentType);
  }
  if (/^application\/sdp\b/i.test(contentType)) return { sdp: (await readBody(request, MAX_SDP_BYTES)).toString() };
  const { value } = await readJsonBody(request, BODIES.common);
  return objectOf(value);
}

/** @throws ServiceError `bad_request` */
async function readForm(body: Buffer, contentType: string): Promise<JsonObject> {
  let form: FormData;
  try {
    form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw badRequest('The body is not a valid form.');
  }
  const session = await partOf(form, 'session');
  return { sdp: await partOf(form, 'sdp'), session: session === null ? undefined : parseSession(session) };
}

async function partOf(form: FormData, name: string): Promise<string | null> {
  const part = form.get(name);
  return part === null || typeof part === 'string' ? part : part.text();
}

function parseSession(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('"session" must be JSON');
  }
}

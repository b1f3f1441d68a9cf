/**
 * Calls over WebRTC: sessions whose description of media is answered, but which have no media. Connections with
 * `?call_id=` drive a call, and stand in for its client.
 */
import { objectOf, stringOf } from '../../domain/json.ts';
import { parseDirectives, wholeNumber } from '../directives.ts';
import { Refusal, type Route, route, sendJson, type SimulatorRequest } from '../router.ts';
import { newId } from '../text/format.ts';
import { type FinishedResponse, SimulatedSession } from './session.ts';

export class SimulatedCalls {
  readonly #sessions = new Map<string, SimulatedSession>();
  readonly #finished: (response: FinishedResponse) => void;

  constructor(finished: (response: FinishedResponse) => void) {
    this.#finished = finished;
  }

  /** The calls in progress, oldest first. */
  get ids(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** @param session the settings of the session in JSON @returns the id of the call */
  create(session: string): string {
    const parsed: unknown = JSON.parse(session);
    const settings = objectOf(parsed);
    const model = stringOf(settings['model']);
    const status = wholeNumber(parseDirectives(model), 'status');
    if (status !== undefined) throw new Refusal(status, 'scripted', 'The simulator refused.');
    const id = newId('rtc_');
    this.#sessions.set(id, new SimulatedSession(model, settings, this.#finished, true));
    return id;
  }

  find(id: string): SimulatedSession | undefined {
    return this.#sessions.get(id);
  }

  /** @returns false if there is no such call */
  end(id: string): boolean {
    this.#sessions.get(id)?.end();
    return this.#sessions.delete(id);
  }
}

/** @param apiKey the credential that clients must send; any is accepted when undefined */
export function callRoutes(apiKey: string | undefined, calls: SimulatedCalls): readonly Route[] {
  const assertKey = ({ headers }: SimulatorRequest): void => {
    if (apiKey === undefined || headers.authorization === `Bearer ${apiKey}`) return;
    throw new Refusal(401, 'invalid_api_key', 'The API key is wrong.');
  };
  return [
    route('POST', '/v1/realtime/calls', async (request, response) => {
      assertKey(request);
      const form = await formOf(request);
      const [offer, session] = ['sdp', 'session'].map((name) => form.get(name));
      if (typeof offer !== 'string' || typeof session !== 'string') {
        throw new Refusal(400, 'bad_request', 'The form needs the parts sdp and session.');
      }
      const id = calls.create(session);
      response.writeHead(201, { 'content-type': 'application/sdp', location: `/v1/realtime/calls/${id}` });
      response.end(answerTo(offer));
    }),
    route('POST', '/v1/realtime/calls/{id}/hangup', (request, response) => {
      assertKey(request);
      if (!calls.end(request.parameters['id'] ?? '')) throw new Refusal(404, 'not_found', 'There is no such call.');
      sendJson(response, 200, {});
    }),
  ];
}

async function formOf({ body, headers }: SimulatorRequest): Promise<FormData> {
  const contentType = headers['content-type'] ?? '';
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw new Refusal(400, 'bad_request', 'The body is not a form.');
  }
}

const FINGERPRINT = Array.from({ length: 32 }, () => '00').join(':');

/** Accepts each medium of an offer: RFC 8829, section 5.3. */
function answerTo(offer: string): string {
  const media = offer.split(/\r?\n(?=m=)/).slice(1);
  const mids = media.map((section, index) => /^a=mid:(\S+)/m.exec(section)?.[1] ?? String(index));
  return [
    ['v=0', 'o=Simulator 1 1 IN IP4 127.0.0.1', 's=Simulator', 'i=A call at the Simulator', 't=0 0'],
    ['a=tool:Simulator', `a=group:BUNDLE ${mids.join(' ')}`],
    ...media.map((section, index) => [
      section.split(/\r?\n/, 1)[0],
      'c=IN IP4 0.0.0.0',
      `a=mid:${mids[index]}`,
      'a=ice-ufrag:simulator',
      'a=ice-pwd:simulator-simulator-simulator',
      `a=fingerprint:sha-256 ${FINGERPRINT}`,
      'a=setup:active',
      ...(section.startsWith('m=audio')
        ? ['a=sendrecv', 'a=rtcp-mux', ...(section.match(/^a=rtpmap:.*$/gm) ?? [])]
        : ['a=sctp-port:5000']),
    ]),
  ]
    .flat()
    .map((line) => `${line}\r\n`)
    .join('');
}

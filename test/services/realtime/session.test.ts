/** Sessions between a client and the simulator, over real WebSockets. */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import { WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '../../../db/queries/api-keys.ts';
import type { ResponseBounds } from '../../../services/realtime/responses.ts';
import { Peer } from '../../../services/realtime/peer.ts';
import { Session } from '../../../services/realtime/session.ts';
import { createSimulator, type Simulator } from '../../../simulator/simulator.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { listenLocally } from '../../../lab/stack/local-server.ts';
import { openRealtime, type TestSession } from '../../support/realtime.ts';

/** 37 seconds. */
const LONG_AUDIO = Buffer.alloc(1_800_000, 'sound').toString('base64');

describe('A realtime session', () => {
  let simulator: Simulator;
  let server: Awaited<ReturnType<typeof listenLocally>>;
  let client: TestSession;
  let held: ResponseBounds[];

  beforeEach(async () => {
    simulator = createSimulator();
    const upstreamUrl = (await simulator.listen(0, '127.0.0.1')).replace('http', 'ws');
    held = [];
    const http = createServer();
    new WebSocketServer({ server: http }).on('connection', (socket, request) =>
      openSession(socket, request.socket, upstreamUrl),
    );
    server = await listenLocally(http);
    client = await openRealtime(server.url);
    await client.next('session.created');
  });
  afterEach(async () => {
    client.close();
    await server.close();
    await simulator.close();
  });

  function openSession(socket: WebSocket, below: Socket, upstreamUrl: string): void {
    const model = CATALOGUE.textModels.get('demo-realtime');
    const [route] = model?.routes ?? [];
    if (model === undefined || route === undefined) throw new Error('the catalogue has the model with a route');
    const headers = { authorization: 'Bearer any' };
    const upstream = new WebSocket(`${upstreamUrl}/v1/realtime?model=demo`, { headers });
    const openWith = (connection: Socket) => () => {
      const session = new Session({
        requestId: 'req_1',
        caller: {} as Caller,
        model,
        client: new Peer(socket, below),
        upstream: { socket: upstream, connection, start: () => undefined, route, failed: () => undefined },
        settings: null,
        expiresAtMs: Date.now() + 60_000,
        hold: async (bounds) => {
          held.push(bounds);
          return { settle: async () => undefined, release: () => undefined };
        },
        reserve: null,
        hangUp: null,
        transcription: null,
        log: pino({ level: 'silent' }),
      });
      session.start();
    };
    upstream.once('upgrade', ({ socket: connection }) => upstream.once('open', openWith(connection)));
  }

  const message = (audio: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_audio', audio }] });

  it('passes long audio on unchanged, also back, and holds it with the next response', async () => {
    client.send({ type: 'conversation.item.create', event_id: 'mine', item: message(LONG_AUDIO) });
    const { item } = await client.next('conversation.item.done');
    expect(item).to.deep.include(message(LONG_AUDIO));
    client.send({ type: 'response.create' });
    await client.next('response.done');
    expect(held[0]).to.include({ hasAudioInput: true });
    expect(held[0]?.prompt.max).to.be.within(2_048 + 750, 2_048 + 3_000);
  });

  it('passes long audio of a response’s own input on, and holds it', async () => {
    client.send({ type: 'response.create', response: { conversation: 'none', input: [message(LONG_AUDIO)] } });
    expect((await client.next('response.done'))['response']).to.include({ status: 'completed' });
    expect(held[0]).to.include({ hasAudioInput: true });
    expect(held[0]?.prompt.max).to.be.within(2_048 + 750, 2_048 + 3_000);
  });
});

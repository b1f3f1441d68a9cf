import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { Peer } from '../../../services/realtime/peer.ts';

const LARGE = Buffer.alloc(8 * 2 ** 20);

describe('A peer of a realtime session', () => {
  let server: WebSocketServer;
  const open: WebSocket[] = [];
  before(async () => {
    server = new WebSocketServer({ port: 0 });
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate();
  });
  after(() => {
    server.close();
  });

  async function connect(options: { autoPong?: boolean } = {}): Promise<{ client: WebSocket; peer: Peer }> {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    const client = new WebSocket(`ws://127.0.0.1:${address.port}`, options);
    const accepted = once(server, 'connection');
    await once(client, 'open');
    const [socket, request] = (await accepted) as [WebSocket, IncomingMessage];
    open.push(client, socket);
    const peer = new Peer(socket, request.socket);
    peer.listen(
      () => undefined,
      () => undefined,
      () => undefined,
    );
    return { client, peer };
  }

  it('is gone if it answers no ping', async () => {
    // contract 4.16:27
    const { client, peer } = await connect({ autoPong: false });
    expect(peer.ping()).to.equal(true);
    await once(client, 'ping');
    expect(peer.ping()).to.equal(false);
  });

  it('is not gone if it answers pings and sends nothing else', async () => {
    const { client, peer } = await connect();
    for (let count = 0; count < 3; count += 1) {
      expect(peer.ping()).to.equal(true);
      await once(client, 'ping');
      // The answer precedes the message.
      client.send('x');
      await new Promise((resolve) => {
        const [socket] = [...server.clients].slice(-1);
        socket?.once('message', resolve);
      });
    }
  });

  it('is gone if it reads nothing more of what waits for it, even if it goes on to send', async () => {
    const { client, peer } = await connect();
    client.pause();
    peer.send(LARGE);
    expect(peer.ping()).to.equal(true);
    const [socket] = [...server.clients].slice(-1);
    client.send('still here');
    if (socket) await once(socket, 'message');
    expect(peer.ping()).to.equal(false);
  });

  it('is not gone if it reads slowly', async () => {
    const { client, peer } = await connect();
    client.pause();
    const chunk = LARGE.subarray(0, LARGE.length / 16);
    for (let count = 0; count < 16; count += 1) peer.send(chunk);
    expect(peer.ping()).to.equal(true);
    client.resume();
    await once(client, 'message');
    client.pause();
    expect(peer.ping()).to.equal(true);
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';
import { UnfinishedMessages } from '../../api/unfinished-messages.ts';
import { eventually } from '../support/eventually.ts';

const KIB = 1024;

describe('UnfinishedMessages', () => {
  const http = createServer();
  const server = new WebSocketServer({ noServer: true });
  const unfinished = new UnfinishedMessages(100 * KIB);
  let received = 0;
  /** The turn of the event loop in which each message of more than 1 MB was whole. */
  const turnsOfLarge: number[] = [];
  let turn = 0;
  const connections: Socket[] = [];
  before(async () => {
    http.on('upgrade', (request, socket: Socket, head) => {
      server.handleUpgrade(request, socket, head, (client) => {
        connections.push(socket);
        unfinished.add(client, socket);
        client.on('message', ({ length }: Buffer) => {
          received += 1;
          if (length > 1024 * KIB) turnsOfLarge.push(turn);
        });
      });
    });
    await once(http.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => {
    for (const connection of connections) connection.destroy();
    http.close();
  });

  async function connect(): Promise<{ client: WebSocket; connection: Socket }> {
    const address = http.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    const client = new WebSocket(`ws://127.0.0.1:${address.port}`);
    await once(client, 'open');
    const connection = connections.at(-1);
    if (connection === undefined) throw new Error('no connection');
    return { client, connection };
  }

  it('closes the connection with the largest unfinished message beyond the bound, and counts no whole messages', async () => {
    const [whole, small, large] = [await connect(), await connect(), await connect()];
    for (let count = 0; count < 3; count += 1) whole.client.send(Buffer.alloc(90 * KIB));
    small.client.send(Buffer.alloc(30 * KIB), { fin: false });
    await eventually(() => received === 3 && small.connection.bytesRead > 30 * KIB);
    unfinished.enforce();
    expect(connections.filter(({ destroyed }) => destroyed)).to.have.length(0);
    large.client.send(Buffer.alloc(80 * KIB), { fin: false });
    await eventually(() => large.connection.bytesRead > 80 * KIB);
    unfinished.enforce();
    expect(connections.filter(({ destroyed }) => destroyed)).to.deep.equal([large.connection]);
  });

  it('completes no two large messages in the same turn of the event loop', async () => {
    const clients: WebSocket[] = [];
    while (clients.length < 8) clients.push((await connect()).client);
    let isCounting = true;
    const count = (): void => {
      turn += 1;
      if (isCounting) setImmediate(count);
    };
    count();
    for (const client of clients) for (const bytes of [6, 4]) client.send(Buffer.alloc(bytes * 1024 * KIB));
    await eventually(() => turnsOfLarge.length === 2 * clients.length);
    isCounting = false;
    expect(new Set(turnsOfLarge).size).to.equal(2 * clients.length);
  });
});

/** The minimum cost of a gateway: a Node server that forwards requests and answers. Arguments: port, target. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'undici';

const [port = '', target = ''] = process.argv.slice(2);
const pool = new Pool(target, { connections: 1_024 });

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { statusCode, headers, body } = await pool.request({
    method: 'POST',
    path: request.url ?? '/',
    headers: { 'content-type': 'application/json' },
    body: request,
  });
  response.writeHead(statusCode, headers);
  await pipeline(body, response);
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  pass(request, response).catch(() => response.destroy());
});
server.listen(Number(port), '127.0.0.1');

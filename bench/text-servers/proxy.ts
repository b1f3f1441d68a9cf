/** What a gateway costs at the least: a Node server that passes requests on and answers back. Arguments: port, target. */
import { createServer } from 'node:http';
import { pipeline } from 'node:stream';
import { Pool } from 'undici';

const [port = '', target = ''] = process.argv.slice(2);
const pool = new Pool(target, { connections: 1_024 });

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  const headers = { 'content-type': 'application/json' };
  pool.request({ method: 'POST', path: request.url ?? '/', headers, body: request }).then(
    ({ statusCode, headers, body }) => {
      response.writeHead(statusCode, headers);
      pipeline(body, response, () => {});
    },
    () => response.writeHead(503).end(),
  );
});
server.listen(Number(port), '127.0.0.1');

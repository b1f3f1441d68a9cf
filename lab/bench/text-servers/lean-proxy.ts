/** The same as `proxy.ts`, over plain sockets of Node: the minimum cost on Node. Arguments: port, target. */
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';

const [port = '', target = ''] = process.argv.slice(2);
const { hostname, port: targetPort } = new URL(target);
const agent = new Agent({ keepAlive: true, maxSockets: 1_024 });

function pass(incoming: IncomingMessage, response: ServerResponse): void {
  const { url: path, headers } = incoming;
  const { 'content-length': length = '0' } = headers;
  const outgoing = request(
    {
      hostname,
      port: targetPort,
      path,
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': length },
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
}

createServer({ keepAliveTimeout: 65_000 }, pass).listen(Number(port), '127.0.0.1');

/** TCP ports on this machine. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems give to outgoing connections and to servers that take any (32768 and up on Linux, 49152 and up
 * elsewhere), so that none of these takes a port between its choice and its use.
 */
const FREE_PORTS = { from: 20_000, to: 32_000 };

/** A port, chosen at random, on which nothing listens. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FREE_PORTS.from, FREE_PORTS.to);
    if (await isPortFree(port)) return port;
  }
}

/** Whether nothing listens on the port, so that a server could. */
async function isPortFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * Checks that servers can be started on all of the ports.
 *
 * @param ports each port by the name of the variable that moves it
 * @throws Error naming that variable
 */
export async function checkPorts(ports: Readonly<Record<string, number>>): Promise<void> {
  const users = new Map<number, string>();
  for (const [variable, port] of Object.entries(ports)) {
    const other = users.get(port);
    if (other) throw new Error(`${variable} and ${other} are both ${port}: give one of them another port.`);
    users.set(port, variable);
    if (!(await isPortFree(port))) {
      throw new Error(`Port ${port} is taken. Stop what listens there, or set ${variable} to another port.`);
    }
  }
}

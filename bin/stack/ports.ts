/** TCP ports on this machine. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems assign to outgoing connections and to servers that accept any port (from 32768 on Linux,
 * from 49152 elsewhere), so that none of these takes a port between its choice and its use.
 */
const FREE_PORTS = { from: 20_000, to: 32_000 };

/** The ports that this process has returned. Their servers may not listen yet. */
const returned = new Set<number>();

/** Returns a random port on which nothing listens, and never the same port twice in a process. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FREE_PORTS.from, FREE_PORTS.to);
    if (returned.has(port)) continue;
    returned.add(port);
    if (await isPortFree(port)) return port;
  }
}

/** Whether a server could listen on the port. */
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
 * Checks that all ports are free.
 *
 * @param ports each port by the name of the variable that sets it
 * @throws Error naming that variable
 */
export async function checkPorts(ports: Readonly<Record<string, number>>): Promise<void> {
  const users = new Map<number, string>();
  for (const [variable, port] of Object.entries(ports)) {
    const other = users.get(port);
    if (other) throw new Error(`${variable} and ${other} are both ${port}. Set one of them to another port.`);
    users.set(port, variable);
    if (!(await isPortFree(port))) {
      throw new Error(`Port ${port} is in use. Stop what listens there, or set ${variable} to another port.`);
    }
  }
}

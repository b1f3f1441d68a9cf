/** TCP ports on this machine. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port that was free a moment ago. */
export async function findFreePort(host = '127.0.0.1'): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port');
  return address.port;
}

/** Whether nothing listens on the port, so that a server could. */
async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer().listen(port, host);
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

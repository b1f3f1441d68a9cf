/**
 * A client that sends one request again and again over plain sockets. It takes a fraction of the CPU of a general
 * client, which would compete with the server for the cores and delay the answers that it measures.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { LoadTarget } from './wrk.ts';

export interface PlainClient {
  /**
   * Sends the request over a connection that is free, or over a new one. Resolves once the answer is complete.
   *
   * @returns the status
   * @throws Error if the connection breaks, or the answer has no Content-Length
   */
  send(): Promise<number>;
  close(): void;
}

const END_OF_HEAD = '\r\n\r\n';

export function createPlainClient({ url, headers, body }: LoadTarget): PlainClient {
  const { host, hostname, port, pathname } = new URL(url);
  const fields = { host, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = Buffer.from(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  const sockets = new Set<Socket>();
  const free: Socket[] = [];

  async function open(): Promise<Socket> {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    sockets.add(socket);
    await once(socket, 'connect');
    return socket;
  }

  return {
    send: async () => {
      const socket = free.pop() ?? (await open());
      const answered = readAnswer(socket);
      socket.write(request);
      const status = await answered;
      free.push(socket);
      return status;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Reads an answer to its end. @returns its status */
function readAnswer(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let head = '';
    let status = 0;
    let bytesLeft = Infinity;
    const end = (settle: () => void): void => {
      socket.off('data', take).off('close', breakOff).off('error', reject);
      settle();
    };
    const breakOff = (): void => end(() => reject(new Error('the connection closed before the answer was complete')));
    const take = (chunk: Buffer): void => {
      if (status === 0) {
        head += chunk.toString('latin1');
        const headLength = head.indexOf(END_OF_HEAD);
        if (headLength === -1) return;
        status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
        const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, headLength))?.[1];
        bytesLeft = Number(length) - (head.length - headLength - END_OF_HEAD.length);
      } else bytesLeft -= chunk.byteLength;
      if (Number.isNaN(bytesLeft)) end(() => reject(new Error('the answer has no Content-Length')));
      else if (bytesLeft === 0) end(() => resolve(status));
    };
    socket.on('data', take).on('close', breakOff).on('error', reject);
  });
}

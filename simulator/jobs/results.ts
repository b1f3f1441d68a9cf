/** Sends a file of a job, or simulates the fault in its directive. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { renderMp4 } from '../render/mp4.ts';
import { renderPng } from '../render/png.ts';
import { Refusal } from '../router.ts';
import type { Job } from './job.ts';
import type { Rendering } from './submission.ts';

const MAX_CACHED_FILES = 16;
const SLOW_PIECES = 20;
const SLOW_WAIT_MS = 50;
const STALL_MS = 18_500;

export interface ResultSender {
  send(job: Job, response: ServerResponse): Promise<void>;
  /** The file itself. */
  fileOf(rendering: Rendering): Promise<Buffer>;
}

/** Renders on demand. Jobs of the same size and duration share one file, and the most recent files are kept. */
export function createResultSender(): ResultSender {
  const files = new Map<string, Promise<Buffer>>();

  const fileOf = (rendering: Rendering): Promise<Buffer> => {
    const key = JSON.stringify(rendering);
    const file = files.get(key) ?? render(rendering);
    files.delete(key);
    files.set(key, file);
    for (const oldest of files.keys()) {
      if (files.size > MAX_CACHED_FILES) files.delete(oldest);
    }
    return file;
  };

  return {
    fileOf,
    async send(job, response) {
      const { rendering, directives } = job.submission;
      switch (directives.result) {
        case 'missing':
          throw new Refusal(404, 'not_found', 'the file is gone');
        case 'wrong_type':
          response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Not a file</title>');
          return;
        case 'truncated':
          return sendHalf(await fileOf(rendering), rendering, response);
        case 'slow':
          return sendSlowly(await fileOf(rendering), rendering, response);
        case 'stalled':
          return sendStalling(await fileOf(rendering), job, response);
        case undefined:
          writeHead(await fileOf(rendering), rendering, response).end(await fileOf(rendering));
      }
    },
  };
}

async function render(rendering: Rendering): Promise<Buffer> {
  return rendering.kind === 'video' ? renderMp4(rendering) : renderPng(rendering);
}

function writeHead(file: Buffer, rendering: Rendering, response: ServerResponse): ServerResponse {
  const contentType = rendering.kind === 'video' ? 'video/mp4' : 'image/png';
  return response.writeHead(200, { 'content-type': contentType, 'content-length': file.length });
}

/** Announces the length of the whole file, and closes the connection halfway. */
function sendHalf(file: Buffer, rendering: Rendering, response: ServerResponse): void {
  const half = file.subarray(0, Math.floor(file.length / 2));
  writeHead(file, rendering, response).write(half, () => response.destroy());
}

/** The first download stalls in the middle, long enough for its step to count as dead; later ones do not. */
async function sendStalling(file: Buffer, { submission, downloads }: Job, response: ServerResponse): Promise<void> {
  const half = Math.floor(file.length / 2);
  writeHead(file, submission.rendering, response).write(file.subarray(0, half));
  if (downloads === 1) await sleep(STALL_MS, undefined, { ref: false });
  response.end(file.subarray(half));
}

async function sendSlowly(file: Buffer, rendering: Rendering, response: ServerResponse): Promise<void> {
  writeHead(file, rendering, response);
  const pieceBytes = Math.ceil(file.length / SLOW_PIECES);
  for (let start = 0; start < file.length && !response.destroyed; start += pieceBytes) {
    response.write(file.subarray(start, start + pieceBytes));
    await sleep(SLOW_WAIT_MS, undefined, { ref: false });
  }
  response.end();
}

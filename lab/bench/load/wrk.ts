/** Puts load on a server with `wrk` (https://github.com/wg/wrk), which uses little CPU compared with the server. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childEnvironment } from '../../../config.ts';

const run = promisify(execFile);

/** The request that is repeated. */
export interface LoadTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Load {
  readonly requests: number;
  /** The requests that were refused or broken off. */
  readonly failed: number;
  readonly requestsPerSecond: number;
  /** Until an answer is complete. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

interface Report {
  readonly requests: number;
  readonly seconds: number;
  readonly refused: number;
  readonly broken: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const SCRIPT = join(import.meta.dirname, 'report.lua');

/**
 * Makes clients send requests, each the next one once it has its answer.
 *
 * @throws Error when `wrk` is not installed
 */
export async function putLoad(target: LoadTarget, clients: number, seconds: number): Promise<Load> {
  const { stdout } = await runWrk(target, clients, seconds);
  const report: Report = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{')));
  const { requests, refused, broken, p50Ms, p99Ms } = report;
  return { requests, failed: refused + broken, requestsPerSecond: requests / report.seconds, p50Ms, p99Ms };
}

async function runWrk(
  { url, headers, body }: LoadTarget,
  clients: number,
  seconds: number,
): Promise<{ stdout: string }> {
  const args = [
    '--threads=1',
    `--connections=${clients}`,
    `--duration=${seconds}s`,
    '--timeout=30s',
    '-s',
    SCRIPT,
    url,
  ];
  const lines = Object.entries(headers).map(([name, value]) => `${name}=${value}`);
  try {
    return await run('wrk', args, {
      env: { ...childEnvironment({}), BENCH_BODY: body, BENCH_HEADERS: lines.join('\n') },
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    throw new Error('wrk, which generates the load, is not installed. Install it, for example with apt install wrk.', {
      cause: error,
    });
  }
}

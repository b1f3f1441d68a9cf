/** Sends a scripted answer, with its scripted faults. */
import type { TextFailure } from './failure.ts';
import type { Exchange, StreamedAnswer, SimulatedFormat } from './format.ts';
import type { PacedWriter } from './paced-writer.ts';
import type { Faults, Script } from './script.ts';

export async function sendAnswer(
  format: SimulatedFormat,
  exchange: Exchange,
  script: Script,
  writer: PacedWriter,
): Promise<void> {
  const { faults } = script;
  const isStream = exchange.conversation.stream;
  await writer.pause(faults.delayMs);
  if (!writer.isOpen) return;
  if (faults.failure !== null && (faults.failAfter === null || !isStream)) {
    return sendFailure(format, faults.failure, isStream, writer);
  }
  if (!isStream) return sendWhole(format, textOf(exchange.renderWhole(script)), faults, writer);
  const contentType = exchange.file?.contentType ?? format.contentTypes.stream;
  const headers = { ...format.headers(), 'content-type': contentType, 'cache-control': 'no-cache' };
  writer.start(200, headers, exchange.file === undefined ? 'utf8' : 'latin1');
  await sendStream(exchange.renderStream(script), faults, writer);
}

function textOf(answer: object | string): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}

export function sendFailure(
  format: SimulatedFormat,
  failure: TextFailure,
  isStream: boolean,
  writer: PacedWriter,
): void {
  const { status, headers, body } = format.renderFailure(failure, isStream);
  writer.send(status, { ...format.headers(), 'content-type': format.contentTypes.whole, ...headers }, body);
}

/** A whole answer is dropped, or broken, in its middle. */
async function sendWhole(format: SimulatedFormat, body: string, faults: Faults, writer: PacedWriter): Promise<void> {
  const headers = { ...format.headers(), 'content-type': format.contentTypes.whole };
  const half = body.slice(0, body.length / 2);
  if (faults.dropAfter !== null) {
    writer.start(200, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
    writer.add(half);
    return writer.drop();
  }
  writer.send(200, headers, faults.malformedAfter === null ? body : half);
}

async function sendStream(stream: StreamedAnswer, faults: Faults, writer: PacedWriter): Promise<void> {
  let count = 0;
  writer.add(stream.opening);
  for (const chunk of stream.chunks) {
    if (await breaksOff(stream, faults, (after) => after === count, writer)) return;
    if (faults.chunkMs > 0 && count > 0) await writer.pause(faults.chunkMs);
    if (!writer.isOpen) return;
    count += 1;
    if (writer.add(chunk, 1)) await writer.flush();
  }
  // A fault that is due later happens now: a faulty answer must not look complete.
  if (await breaksOff(stream, faults, (after) => after >= count, writer)) return;
  if (!writer.isOpen) return;
  writer.add(stream.closing());
  writer.end();
}

/** Simulates the due faults. @returns whether the stream has ended */
async function breaksOff(
  stream: StreamedAnswer,
  { malformedAfter, dropAfter, failure, failAfter }: Faults,
  isDue: (after: number) => boolean,
  writer: PacedWriter,
): Promise<boolean> {
  if (malformedAfter !== null && isDue(malformedAfter)) writer.add(stream.malformed);
  if (dropAfter !== null && isDue(dropAfter)) {
    await writer.drop();
    return true;
  }
  if (failure === null || failAfter === null || !isDue(failAfter)) return false;
  writer.add(stream.renderFailure(failure));
  writer.end();
  return true;
}

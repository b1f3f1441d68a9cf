/**
 * Measures an answer as it passes: what to bill and how it ended. On the identity path a tap feeds it from the bytes; on
 * the converting path it sits between two stages.
 */
import { ServiceError } from '../domain/errors.ts';
import { UNREPORTED_USAGE, mergeUsage, type StreamEvent, type Usage } from './canonical.ts';
import { parseServerSentEvents } from './sse.ts';
import { chain, type Stage } from './stage.ts';
import type { UpstreamFormat } from './wire-format.ts';

/** The measurements; read them at any moment, also of an answer that broke off. */
export class Meter {
  usage: Usage = UNREPORTED_USAGE;
  /** UTF-16 units of text, reasoning and tool arguments so far: what an estimate goes by when no usage was reported. */
  outputLength = 0;
  /** Whether the answer came to its end. */
  finished = false;
  /** Why it failed, when it did. */
  error: ServiceError | null = null;

  see(event: StreamEvent): void {
    if (event.type === 'usage') this.usage = mergeUsage(this.usage, event.usage);
    else if (event.type === 'finish') this.finished = true;
    else if ('text' in event) this.outputLength += event.text.length;
  }

  /** The stage that lets events through unchanged and measures them. */
  stage(): Stage<StreamEvent, StreamEvent> {
    return {
      push: (event, emit) => {
        this.see(event);
        emit(event);
      },
      end() {},
    };
  }
}

/**
 * Yields the bytes of an upstream's stream unchanged and measures them on the way. What the tap cannot read it notes in
 * the meter's `error`; the bytes go on all the same.
 */
export async function* tapBytes(
  source: AsyncIterable<Uint8Array>,
  upstream: UpstreamFormat,
  meter: Meter,
): AsyncGenerator<Uint8Array, void, undefined> {
  const tap = chain(parseServerSentEvents(), upstream.parseStream());
  const see = (event: StreamEvent): void => meter.see(event);
  for await (const bytes of source) {
    noteFailure(meter, () => tap.push(bytes, see));
    yield bytes;
  }
  noteFailure(meter, () => tap.end(see));
}

function noteFailure(meter: Meter, step: () => void): void {
  if (meter.error !== null) return;
  try {
    step();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    meter.error = error;
  }
}

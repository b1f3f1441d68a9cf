/**
 * Stages: the pure machines that streams are made of. A stage is given inputs one at a time and hands out any number of
 * outputs; it never waits, so a chain of stages costs one await per read of the network, however many events it carries,
 * and whoever pulls the outputs sets the pace of the source.
 */

export type Emit<Output> = (output: Output) => void;

/** A stage keeps state: make a new one for each stream. It may throw a `ServiceError`, after which it is not used again. */
export interface Stage<Input, Output> {
  /** Takes one input and emits what follows from it. */
  push(input: Input, emit: Emit<Output>): void;
  /** The source has ended: emits what was held back. Called once, last. */
  end(emit: Emit<Output>): void;
}

/** The stage that feeds what `first` emits to `second`. */
export function chain<Input, Middle, Output>(
  first: Stage<Input, Middle>,
  second: Stage<Middle, Output>,
): Stage<Input, Output> {
  return {
    push(input, emit) {
      first.push(input, (middle) => second.push(middle, emit));
    },
    end(emit) {
      first.end((middle) => second.push(middle, emit));
      second.end(emit);
    },
  };
}

/** Runs a whole source through a stage and returns all that it emitted. */
export function runStage<Input, Output>(source: Iterable<Input>, stage: Stage<Input, Output>): Output[] {
  const outputs: Output[] = [];
  const emit = (output: Output): void => void outputs.push(output);
  for (const input of source) stage.push(input, emit);
  stage.end(emit);
  return outputs;
}

/**
 * Runs an asynchronous source through a stage, yielding outputs as they come. The source is read only when the consumer
 * pulls, and is told to return when the consumer stops early.
 */
export async function* streamStage<Input, Output>(
  source: AsyncIterable<Input>,
  stage: Stage<Input, Output>,
): AsyncGenerator<Output, void, undefined> {
  let outputs: Output[] = [];
  const emit = (output: Output): void => void outputs.push(output);
  for await (const input of source) {
    // What was made before a failure still goes out: the client has a right to the text that precedes the error.
    try {
      stage.push(input, emit);
    } catch (error) {
      yield* outputs;
      throw error;
    }
    yield* outputs;
    outputs = [];
  }
  try {
    stage.end(emit);
  } catch (error) {
    yield* outputs;
    throw error;
  }
  yield* outputs;
}

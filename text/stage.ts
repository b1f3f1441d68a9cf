/**
 * Stages: pure machines, chained into streams. A stage takes one input at a time and emits any number of
 * outputs. A stage never waits, so a chain of stages costs one await per network read, however many events that carries, and
 * the reader of the outputs sets the pace of the source.
 */

export type Emit<Output> = (output: Output) => void;

/** A stage has state: make a new one for each stream. After it has thrown a `ServiceError`, it is not used again. */
export interface Stage<Input, Output> {
  /** Takes an input and emits what follows from it. */
  push(input: Input, emit: Emit<Output>): void;
  /** The source has ended: emits what was held back. Called once, at the end. */
  end(emit: Emit<Output>): void;
}

/** The stage that feeds the output of `first` to `second`. */
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

/** {@link chain}, or only `first` if there is no second. */
export function chainIf<Input, Output>(
  first: Stage<Input, Output>,
  second: Stage<Output, Output> | null,
): Stage<Input, Output> {
  return second === null ? first : chain(first, second);
}

/** Runs a whole source through a stage. @returns everything that it emitted */
export function runStage<Input, Output>(source: Iterable<Input>, stage: Stage<Input, Output>): Output[] {
  const outputs: Output[] = [];
  const emit = (output: Output): void => void outputs.push(output);
  for (const input of source) stage.push(input, emit);
  stage.end(emit);
  return outputs;
}

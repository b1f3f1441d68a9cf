/** The form of a model's name. Other text that a client sends as a model may be anything. */
const MODEL_NAME = /^[\w.:/@-]{1,100}$/;

/** The model that a request names, for the log; undefined for anything that is no name. */
export function namedModel(given: unknown): string | undefined {
  return typeof given === 'string' && MODEL_NAME.test(given) ? given : undefined;
}

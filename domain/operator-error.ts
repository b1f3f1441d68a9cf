/**
 * Something that the operator wrote, named or left out keeps a process or a command from its work. The message says what, in
 * sentences, and what to change; where it came from in the code is of no help.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

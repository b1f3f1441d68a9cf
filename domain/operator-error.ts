/**
 * The operator's input or configuration prevents a process or command from working. The message says what to change, in
 * sentences; the stack trace is of no help.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

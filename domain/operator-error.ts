/**
 * The operator's input or configuration prevents a process or command from working. The message says in sentences what
 * to change; a stack trace would not help.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError';
}

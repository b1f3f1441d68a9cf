import { ServiceError } from '../../domain/errors.ts';

/**
 * Returns a function that returns the message with which `parse` refuses a body as a bad request, or `accepted`. The
 * function throws any other error, which is a bug.
 */
export function createRefusalReader(parse: (body: unknown) => unknown): (body: unknown) => string {
  return (body) => {
    try {
      parse(body);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'bad_request') return error.message;
      throw error;
    }
    return 'accepted';
  };
}

/** The limit of a key's requests per minute: contract 5. */
import { ServiceError } from './errors.ts';

/** The error for a request beyond the limit. @param secondsLeft until the minute ends */
export function tooManyRequests(limit: number, secondsLeft: number): ServiceError {
  return new ServiceError(
    'rate_limit_exceeded',
    `The API key may make ${limit} requests a minute. Wait ${secondsLeft} s and send fewer requests.`,
    { retryAfterSeconds: secondsLeft },
  );
}

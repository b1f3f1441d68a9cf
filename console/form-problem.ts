import { ServiceError } from '../domain/errors.ts';

/** Does what a form asks for. @returns why it was not done, for the form to be shown again; null when it was */
export async function problemOf(work: () => Promise<unknown>): Promise<ServiceError | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) return error;
    throw error;
  }
}

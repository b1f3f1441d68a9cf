import { ServiceError } from '../domain/errors.ts';
import type { Answer } from './page.ts';

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

/** Does what a form asks for, and leads to a page. @param showAgain shows the page of the form, with why it was not done */
export async function carryOut(
  work: () => Promise<unknown>,
  path: string,
  showAgain: (problem: ServiceError) => Answer | Promise<Answer>,
): Promise<Answer> {
  const problem = await problemOf(work);
  return problem ? showAgain(problem) : { kind: 'redirect', path };
}

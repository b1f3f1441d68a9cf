import { ServiceError } from '../domain/errors.ts';
import type { PageResult } from './page.ts';

/** Runs the work of a form. @returns why the form was refused, or null if the work was done */
export async function problemOf(work: () => Promise<unknown>): Promise<ServiceError | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) return error;
    throw error;
  }
}

/** Runs the work of a form, then redirects. @param showAgain shows the page of the form again, with the reason of a refusal */
export async function carryOut(
  work: () => Promise<unknown>,
  path: string,
  showAgain: (problem: ServiceError) => PageResult | Promise<PageResult>,
): Promise<PageResult> {
  const problem = await problemOf(work);
  return problem ? showAgain(problem) : { kind: 'redirect', path };
}

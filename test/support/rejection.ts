/** The error with which a promise is rejected. @throws Error when it is fulfilled */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    (): undefined => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error('expected the promise to be rejected with an error');
}

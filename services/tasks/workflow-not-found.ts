import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';

/** NOT_FOUND: https://grpc.io/docs/guides/status-codes/ */
const NOT_FOUND_CODES: ReadonlySet<number> = new Set([5]);

/** Whether Temporal has no such workflow. Some calls of the SDK throw a gRPC error instead of the SDK's own. */
export function isNotFound(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || (isGrpcServiceError(error) && NOT_FOUND_CODES.has(error.code));
}

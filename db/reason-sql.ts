/** SQL for why a task failed, as `reasonOf` in `domain/task.ts`; null if it did not. @param task the name of the row */
export function reasonSql(task: string): string {
  return `coalesce('cancelled_by_' || ${task}.cancelled_by, ${task}.error_code)`;
}

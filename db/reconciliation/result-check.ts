/** Are the results there that customers paid for? */
import type { Check } from './check.ts';

/** Each is a question to the store. */
const LATEST_TASKS = 500;
const AT_ONCE = 10;

export const RESULT_CHECK: Check = {
  name: 'results',
  question: `Is every file there that the latest ${LATEST_TASKS} tasks that succeeded name?`,
  remedy: 'Look for the file in the copies of the store. When it is lost, give the customer credit by an adjustment.',
  async *find({ database, results }) {
    const tasks = await database<{ id: string; output: { url: string }[] | null; status: string }>('tasks')
      .where({ status: 'succeeded' })
      .orderBy('id', 'desc')
      .limit(LATEST_TASKS)
      .select('id', 'output');
    const files = tasks.flatMap(({ id, output }) => (output ?? []).map(({ url }) => ({ id, url })));
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const some = files.slice(start, start + AT_ONCE);
      const found = await Promise.all(some.map(({ url }) => results.has(url)));
      for (const [index, { id, url }] of some.entries()) {
        if (!found[index]) yield { subject: id, detail: `the task succeeded, and its file ${url} is not there` };
      }
    }
  },
};

/** Stores the answers of lines before their settlements, many in one statement. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createBatcher } from '../../db/batcher.ts';
import { isConnectionLost, isUnavailable } from '../../db/connections.ts';
import { type Database, isPostgresError } from '../../db/database.ts';
import type { Encryption } from '../../db/encryption.ts';
import { storeBatchAnswers } from '../../db/queries/batch-lines.ts';

interface Answer {
  readonly id: string;
  readonly encryptedAnswer: Buffer;
}

const MAX_ANSWERS_AT_ONCE = 64;
/** A larger answer is stored alone. */
const LARGE_BYTES = 256 * 1024;
const RETRY_MS = 500;

/** @returns stores an answer, and tries again until the database answers: the vendor may charge for another answer */
export function createAnswerStore({
  database,
  encryption,
  log,
}: {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly log: Logger;
}): (id: string, answer: string) => Promise<void> {
  const answers = createBatcher<Answer, null>(
    async (items) => {
      await storeBatchAnswers(database, items);
      return items.map(() => null);
    },
    { maxItems: MAX_ANSWERS_AT_ONCE },
  );

  async function store(answer: Answer): Promise<void> {
    if (answer.encryptedAnswer.byteLength > LARGE_BYTES) await storeBatchAnswers(database, [answer]);
    else await answers.add(answer);
  }

  return async (id, answer) => {
    const encrypted = { id, encryptedAnswer: encryption.encryptCompact(answer, id) };
    for (;;) {
      try {
        return await store(encrypted);
      } catch (error) {
        if (isPostgresError(error) && !isConnectionLost(error) && !isUnavailable(error)) throw error;
        log.warn({ err: error, content: id }, 'could not store the answer of a line; trying again');
        await sleep(RETRY_MS);
      }
    }
  };
}

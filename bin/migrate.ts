/** Migrates the database in DATABASE_URL to the current schema, then exits. */
import { loadDatabaseConfig } from '../config.ts';
import { migrate } from '../db/migrate.ts';
import { describeError } from './parts/describe-error.ts';

try {
  const applied = await migrate(loadDatabaseConfig().url);
  console.log(applied.length === 0 ? 'the database schema is up to date' : `applied ${applied.join(', ')}`);
} catch (error) {
  console.error(describeError(error));
  process.exitCode = 1;
}

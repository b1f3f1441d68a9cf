/** Brings the database named by DATABASE_URL to the current schema, then exits. */
import { loadDatabaseConfig } from '../config.ts';
import { migrate } from '../db/migrate.ts';

const applied = await migrate(loadDatabaseConfig().url);
console.log(applied.length === 0 ? 'the database is current' : `applied ${applied.join(', ')}`);

/** Makes the processes' structured log lines readable in a terminal. */
import Joi from 'joi';
import { toOneLine } from '../parts/terminal-text.ts';

interface Entry extends Readonly<Record<string, unknown>> {
  readonly time: number;
  readonly level: number;
  readonly msg: string;
}

/** The levels of pino: https://getpino.io/#/docs/api?id=loggerlevels-object */
const LEVEL_NAMES: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };
const entrySchema = Joi.object<Entry>({
  time: Joi.number().required(),
  level: Joi.number().required(),
  msg: Joi.string().allow('').default(''),
}).unknown(true);
const NAME_WIDTH = 9;

/** Puts `name` before the line; writes a pino entry as time, level, message, and the other fields as `name=value`. */
export function formatLogLine(name: string, line: string): string {
  const prefix = name.padEnd(NAME_WIDTH);
  const { value: entry, error } = entrySchema.validate(parseJson(line), { convert: false });
  if (error || entry === undefined) return `${prefix} ${toOneLine(line)}`;
  const { time, level, msg, pid: _pid, hostname: _hostname, name: _name, ...fields } = entry;
  const details = Object.entries(fields).map(
    ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const clock = new Date(time).toISOString().slice(11, 23);
  return toOneLine([prefix, clock, (LEVEL_NAMES[level] ?? 'fatal').padEnd(5), msg, ...details].join(' '));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { hasExistingDay } from './day.ts';

/** A day of the years 0 to 9999, perhaps with a time: PostgreSQL writes offsets as `+02`. */
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/**
 * Reads an ISO 8601 day or time. Without an offset, it is in UTC, whatever the time zone of the process is.
 *
 * @returns null for any other text, and for a time that does not exist
 */
export function parseIsoTime(text: string): Date | null {
  const [, day, time = '00:00', offset = 'Z'] = ISO_TIME.exec(text) ?? [];
  if (day === undefined || !hasExistingDay(day)) return null;
  const read = new Date(`${day}T${time.replace(',', '.')}${longOffset(offset)}`);
  return Number.isNaN(read.getTime()) ? null : read;
}

/** The form that `Date` reads: `Z` or `+02:00`. */
function longOffset(offset: string): string {
  if (offset.length === 1) return 'Z';
  return `${offset.slice(0, 3)}:${offset.slice(3).replace(':', '') || '00'}`;
}

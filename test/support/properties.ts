/** How many cases of each property the tests try: `npm test -- --all` tries twelve times as many as `npm test`. */
import { configureGlobal } from 'fast-check';

/** Whether this run is `npm test -- --all`. */
export const runsAll = process.env['GENWAY_TEST_ALL'] === '1';
const FEWER = 12;

/** @param all the number with `--all` */
export function casesOf(all: number): number {
  return runsAll ? all : Math.ceil(all / FEWER);
}

/** Sets the number for properties that name none: 300, and without `--all` 25. */
export function configureProperties(): void {
  configureGlobal({ numRuns: casesOf(300) });
}

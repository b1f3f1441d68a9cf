/** How many cases of each property the tests try: `npm test -- --all` tries twelve times as many as `npm test`. */
import fc from 'fast-check';

const FEWER = 12;

/** @param all the number with `--all` */
export function casesOf(all: number): number {
  return process.env['GENWAY_TEST_ALL'] === '1' ? all : Math.ceil(all / FEWER);
}

/** Sets the number for properties that name none: 300, and without `--all` 25. */
export function configureProperties(): void {
  fc.configureGlobal({ numRuns: casesOf(300) });
}

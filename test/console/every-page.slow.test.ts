import { describeEveryPage, NARROW } from './every-page.ts';

describeEveryPage('every page of the console on a narrow, dark screen', () => [NARROW]);

/** The text process that takes every request, however many wait. */
import { serveBareText } from './bare-text.ts';

await serveBareText();

/** The text process that accepts every request, however many wait. */
import { serveBareText } from './bare-text.ts';

await serveBareText();

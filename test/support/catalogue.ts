import { loadCatalogue } from '../../catalogue/load.ts';

/** The catalogue of this repository, read once by each process that runs tests. */
export const CATALOGUE = loadCatalogue();

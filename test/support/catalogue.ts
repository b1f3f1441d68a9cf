import { loadCatalogue } from '../../catalogue/load.ts';

/** The catalogue of this repository, read once by each test process. */
export const CATALOGUE = loadCatalogue();

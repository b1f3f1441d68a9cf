import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type Joi from 'joi';
import { catalogueSchema } from '../../catalogue/schema.ts';
import { siteSchema } from '../../catalogue/site.ts';
import { isObject } from '../../domain/json.ts';
import { upstreamsSchema } from '../../providers/upstreams.ts';

const DOCS = join(import.meta.dirname, '../../docs');

/** The names of all keys that a file may have, at any depth. */
function keysOf(schema: Joi.Schema): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (description: unknown): void => {
    if (Array.isArray(description)) description.forEach(visit);
    if (!isObject(description)) return;
    if (isObject(description['keys'])) for (const key of Object.keys(description['keys'])) found.add(key);
    Object.values(description).forEach(visit);
  };
  visit(schema.describe());
  return found;
}

const FILES = [
  { page: 'upstreams.md', schema: upstreamsSchema },
  { page: 'catalogue.md', schema: catalogueSchema },
  { page: 'site.md', schema: siteSchema },
];

for (const { page, schema } of FILES) {
  describe(`docs/${page}`, () => {
    it('has every key of the file', () => {
      const text = readFileSync(join(DOCS, page), 'utf8');
      const keys = keysOf(schema);
      expect(keys.size).to.be.greaterThan(8);
      const missing = [...keys].filter((key) => !new RegExp(`(?<![\\w-])${key}(?![\\w-])`).test(text));
      expect(missing).to.deep.equal([]);
    });
  });
}

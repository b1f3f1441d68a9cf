/**
 * Bundles the workflows at build time, so that production workers start without bundling.
 *
 * Usage: npm run build:workflows [file] (default: dist/workflow-bundle.js)
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bundleWorkflows } from '../parts/workflow-bundle.ts';

const root = join(import.meta.dirname, '../..');
const file = resolve(process.argv[2] ?? join(root, 'dist/workflow-bundle.js'));

const { code } = await bundleWorkflows();
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, code);
console.log(`${file}: ${Math.round(code.length / 1024)} KiB`);

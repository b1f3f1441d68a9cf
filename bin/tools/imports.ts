/** Reads the imports of source files from their text. Paths of files start at the root of the project. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

export interface Import {
  /** The file that imports. */
  readonly file: string;
  /** The imported module, as the statement writes it. */
  readonly from: string;
  /** The text between `import` and `from`: the imported names. Empty for dynamic imports. */
  readonly names: string;
  /** The imported file; undefined for packages. */
  readonly target: string | undefined;
  readonly isTypeOnly: boolean;
  readonly isDynamic: boolean;
}

const root = join(import.meta.dirname, '../..');
const importStatement = /^(?:import|export)\s+(type\s+)?(?:([^'";]*?)\sfrom\s+)?'([^']+)'/gm;
const dynamicImport = /\bimport\(\s*'([^']+)'/g;
const SOURCE = /\.(ts|tsx|mts|mjs|js)$/;

const read = new Map<string, readonly Import[]>();

/** The imports of a file: first the statements, then the dynamic imports. Reads each file once. */
export function importsOf(file: string): readonly Import[] {
  const imports = read.get(file) ?? readImports(file);
  read.set(file, imports);
  return imports;
}

function readImports(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const targetOf = (from: string) =>
    from.startsWith('.') ? relative(root, resolve(root, dirname(file), from)) : undefined;
  const stated = [...text.matchAll(importStatement)].map(([, type, names = '', from = '']) => {
    return { file, from, names, target: targetOf(from), isTypeOnly: type !== undefined, isDynamic: false };
  });
  const dynamic = [...text.matchAll(dynamicImport)].map(([, from = '']) => {
    return { file, from, names: '', target: targetOf(from), isTypeOnly: false, isDynamic: true };
  });
  return [...stated, ...dynamic];
}

/**
 * The imports of a file, and of all files that it imports directly or indirectly.
 *
 * @param follows chooses the imports to follow
 */
export function findTransitiveImports(file: string, follows: (statement: Import) => boolean): Import[] {
  const reached = new Set([file]);
  const found: Import[] = [];
  for (const source of reached) {
    if (!SOURCE.test(source)) continue;
    for (const statement of importsOf(source).filter(follows)) {
      found.push(statement);
      if (statement.target !== undefined) reached.add(statement.target);
    }
  }
  return found;
}

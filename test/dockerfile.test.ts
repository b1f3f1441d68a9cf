import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { NODE_OPTIONS } from '../bin/stack/node-process.ts';
import { VARIABLE_GROUPS, type Variable } from '../config-variables.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Instruction {
  readonly name: string;
  readonly text: string;
}

interface Stage {
  /** Null for the last stage. */
  readonly name: string | null;
  readonly from: string;
  readonly instructions: readonly Instruction[];
}

const instructions = read('Dockerfile')
  .replaceAll(/^\s*#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line): Instruction => {
    const [name = '', ...words] = line.trim().split(/\s+/);
    return { name, text: words.join(' ') };
  });
const stages = instructions.reduce<readonly Stage[]>((known, instruction) => {
  if (instruction.name === 'FROM') {
    const [from = '', , name = null] = instruction.text.split(' ');
    return [...known, { name, from, instructions: [] }];
  }
  const last = known.at(-1);
  if (!last) throw new Error('a Dockerfile begins with FROM');
  return [...known.slice(0, -1), { ...last, instructions: [...last.instructions, instruction] }];
}, []);
/** The final images: of Genway, and of the simulator. */
const images = stages.filter(({ name }) => name === null || name === 'simulator');

/** The instructions of a stage, after those of the stages that it is built on. */
function allOf(stage: Stage): readonly Instruction[] {
  const base = stages.find(({ name }) => name === stage.from);
  return [...(base ? allOf(base) : []), ...stage.instructions];
}
const textsOf = (stage: Stage, name: string): readonly string[] =>
  allOf(stage).flatMap((one) => (one.name === name ? [one.text] : []));
const built = allOf(stages.find(({ name }) => name === 'build') ?? { name: '', from: '', instructions: [] });
const variables: ReadonlyMap<string, Variable> = new Map(Object.values(VARIABLE_GROUPS).flatMap(Object.entries));
const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
const ignored = read('.dockerignore').trim().split('\n');
/** Whether `COPY . .` excludes a file. The patterns are names of folders, and of files with or without a suffix. */
const isIgnored = (file: string): boolean =>
  ignored.some((pattern) =>
    pattern.startsWith('*.')
      ? !file.includes('/') && file.endsWith(pattern.slice(1))
      : file === pattern || file.startsWith(`${pattern}/`),
  );
/** The sources of the programs in `command` and in health checks. */
const sourceOf = (program: string): string => program.replace(/^dist\/(.*)\.js$/, '$1.ts');
const programsIn = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => [...text.matchAll(/"(dist\/[\w/]+\.js)"/g)].map(([, program = '']) => program));

/** Whether a path with `*` for a part of a name matches the file. */
function matchesGlob(path: string, file: string): boolean {
  return new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll('*', '[^/]*')}$`).test(file);
}

describe('the Dockerfile', () => {
  it('copies only files that exist and that Docker does not ignore, from earlier stages', () => {
    const seen: string[] = [];
    for (const { name, instructions: own } of stages) {
      for (const { text } of own.filter((instruction) => instruction.name === 'COPY')) {
        const [first = '', ...rest] = text.split(' ');
        const stage = /^--from=(.*)$/.exec(first)?.[1];
        if (stage !== undefined) expect(seen, text).to.include(stage);
        else {
          for (const source of [first, ...rest].slice(0, -1)) {
            expect(existsSync(join(root, source)) && !isIgnored(source), source).to.equal(true);
          }
        }
      }
      if (name !== null) seen.push(name);
    }
  });

  it('runs scripts of package.json', () => {
    const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'));
    const named = instructions.flatMap(({ text }) => [...text.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name));
    expect(named).to.deep.equal(['build', 'build:workflows', 'build:simulator']);
    expect(Object.keys(scripts)).to.include.members(named);
  });

  it('copies every file that processes read and that the compiler does not write', () => {
    const { exclude }: { exclude: string[] } = JSON.parse(read('tsconfig.build.json'));
    const product = new Set(
      tracked.filter((file) => /\.tsx?$/.test(file) && file.includes('/')).map((file) => file.split('/')[0] ?? ''),
    );
    for (const folder of exclude) product.delete(folder);
    const besides = tracked.filter((file) => product.has(file.split('/')[0] ?? '') && !/\.tsx?$/.test(file));
    const copied = built.flatMap(({ text }) =>
      [...text.matchAll(/cp (?:-r )?(\S+) dist\//g)].map(([, path = '']) => path),
    );
    const missing = besides.filter(
      (file) => !copied.some((path) => matchesGlob(path, file) || file.startsWith(`${path}/`)),
    );
    // `npm start` runs the one before anything is compiled; the other belongs to the linter.
    expect(missing).to.have.members(['bin/bootstrap.mjs', 'bin/tools/lint-expressions.js']);
  });

  it('includes every source of a program in the build', () => {
    const programs = images.flatMap((image) =>
      programsIn([...textsOf(image, 'CMD'), ...textsOf(image, 'HEALTHCHECK')]),
    );
    expect([...new Set(programs)]).to.have.members(['dist/bin/api.js', 'dist/bin/health.js', 'dist/bin/simulator.js']);
    for (const program of programs) {
      expect(existsSync(join(root, sourceOf(program))) && !isIgnored(sourceOf(program)), program).to.equal(true);
    }
  });

  it('gives processes the Node options of the benchmarks', () => {
    for (const image of images) expect(textsOf(image, 'ENV').join(' ')).to.include(`NODE_OPTIONS=${NODE_OPTIONS}`);
  });

  it('runs nothing as root, and makes only the folder of files writable', () => {
    for (const image of images) {
      expect(textsOf(image, 'USER')).to.deep.equal(['node']);
      expect(textsOf(image, 'RUN')).to.deep.equal([
        'mkdir -p /var/lib/genway/files && chown -R node:node /var/lib/genway',
      ]);
    }
  });

  it('sets only variables that Genway reads, and names the ports that it listens on', () => {
    const set = images.flatMap((image) =>
      textsOf(image, 'ENV').flatMap((text) => [...text.matchAll(/(?<=^|\s)(\w+)=/g)].map(([, name = '']) => name)),
    );
    expect(set.filter((name) => !name.startsWith('NODE_') && !variables.has(name))).to.deep.equal([]);
    const portOf = (name: string) => variables.get(name)?.defaultText;
    const exposed = images.map((one) => textsOf(one, 'EXPOSE').join(' '));
    expect(exposed).to.have.members([
      `${portOf('GENWAY_API_PORT')} ${portOf('GENWAY_TEXT_PORT')}`,
      portOf('GENWAY_SIMULATOR_PORT'),
    ]);
  });

  it('uses one version of Node, which package.json permits', () => {
    const { engines }: { engines: { node: string } } = JSON.parse(read('package.json'));
    const majors = new Set(stages.flatMap(({ from }) => /^node:(\d+)-slim$/.exec(from)?.[1] ?? []));
    expect(majors.size).to.equal(1);
    expect(Number([...majors][0])).to.be.at.least(Number(/^>=(\d+)/.exec(engines.node)?.[1]));
  });
});

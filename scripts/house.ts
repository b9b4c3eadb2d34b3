/**
 * `npm run house -- [--json] [--without-paths]`: the figures by which a change of structure is judged. Commits that
 * change structure report them before and after.
 *
 * Source files are all `.ts` and `.tsx` under src that Git knows or would add: the headers that are generated into a
 * committed file count, the kernels and the page that each build generates do not. A line is a line, blank or not.
 *
 * A path is counted by walking it: its files are those in which a function runs in every one of several short windows.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, readSource, type SourceFile } from '../test/source-files.ts';
import { type Counts, countsOf, filesNaming, roomsOf, type Size, sizesIn } from './house/counts.ts';

/** What stands for all of its kind: the files that name it are those that another one would touch. */
const ADDED = { 'text format': 'jsonl', layer: 'dropout', optimizer: 'adagrad' } as const;
const PATHS = {
  task: 'CSV line → finished task (trainer, master)',
  predict: 'predict on a CSV file (the whole command)',
  push: 'push with two copies (client, pservers)',
} as const;
const PSERVER = 'src/roles/pserver';
const FOLDERS = ['src/core/units', 'src/core/replicas'] as const;

type Path = keyof typeof PATHS;

interface House {
  readonly src: Counts;
  /** By path from the root. */
  readonly folders: Readonly<Record<string, Size>>;
  readonly added: Readonly<Record<string, { readonly counted: string; readonly files: readonly string[] }>>;
  /** The files that each path crosses. */
  readonly paths: Partial<Record<Path, readonly string[]>>;
}

function sources(): SourceFile[] {
  const names = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
    ...{ cwd: ROOT, encoding: 'utf8' },
  });
  const paths = names.split('\n').filter((path) => /\.tsx?$/.test(path) && existsSync(join(ROOT, path)));
  return paths.sort().map(readSource);
}

/** In a separate process. What is optimized does not count its calls. */
async function walk(path: Path): Promise<readonly string[]> {
  const child = fork(join(import.meta.dirname, 'house/walk.ts'), [path], {
    execArgv: ['--no-opt', '--no-maglev'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let crossed: readonly string[] | undefined;
  child.on('message', (files) => {
    crossed = files as readonly string[];
  });
  const [code] = await once(child, 'exit');
  if (crossed === undefined) throw new Error(`walking ${path} ended with ${code}`);
  return crossed;
}

async function measure(withPaths: boolean): Promise<House> {
  const files = sources();
  const pserver = sizesIn(files, PSERVER);
  const rooms = Object.entries(pserver.rooms).map(([room, size]) => [`${PSERVER}/${room}`, size] as const);
  const others = FOLDERS.map((folder) => [folder, sizesIn(files, folder).all] as const);
  const added = Object.entries(ADDED).map(([kind, name]) => [kind, { counted: name, files: filesNaming(files, name) }]);
  const paths: Partial<Record<Path, readonly string[]>> = {};
  // One after the other: each has the processors for itself.
  if (withPaths) for (const path of Object.keys(PATHS) as Path[]) paths[path] = await walk(path);
  return {
    src: countsOf(files),
    folders: Object.fromEntries([[PSERVER, pserver.all], ...rooms, ...others]),
    added: Object.fromEntries(added),
    paths,
  };
}

const shown = (value: number): string => value.toLocaleString('en-US');

/** The first column to the left, numbers to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  ');
  return `${rows.map(line).join('\n')}\n`;
}

function text({ src, folders, added, paths }: House): string {
  const walked = (Object.keys(PATHS) as Path[]).filter((path) => paths[path] !== undefined);
  const figures: [string, number][] = [
    ['lines of src', src.lines],
    ['files of src', src.files],
    ['median lines of a file', src.medianLines],
    ['interfaces …Options', src.options.interfaces],
    ['lines of interfaces …Options', src.options.lines],
    ['imports', src.imports],
    ['files with one importer', src.oneImporter],
    ['files with one exported value for one importer', src.oneValueForOneImporter],
    ['circles, types and import() included', src.circles.length],
    ...Object.entries(added).map(([kind, { counted, files }]): [string, number] => [
      `files that name the ${kind} ${counted}`,
      files.length,
    ]),
    ...walked.map((path): [string, number] => [`files crossed: ${PATHS[path]}`, paths[path]!.length]),
  ];
  const parts = [
    table(figures.map(([what, value]) => [what, shown(value)])),
    table([
      ['folder', 'lines', 'files'],
      ...Object.entries(folders).map(([folder, { lines, files }]) => [folder, shown(lines), shown(files)]),
    ]),
  ];
  if (walked.length > 0) parts.push(roomsTable(walked, paths));
  return [...parts, ...src.circles.map((circle) => `${circle}\n`)].join('\n');
}

function roomsTable(walked: readonly Path[], paths: House['paths']): string {
  const counted = walked.map((path) => roomsOf(paths[path]!));
  const rooms = [...new Set(counted.flatMap(Object.keys))].sort();
  return table([
    ['files crossed in', ...walked],
    ...rooms.map((room) => [room, ...counted.map((one) => shown(one[room] ?? 0))]),
  ]);
}

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, 'without-paths': { type: 'boolean', default: false } },
});
const house = await measure(!values['without-paths']);
process.stdout.write(values.json ? `${JSON.stringify(house)}\n` : text(house));

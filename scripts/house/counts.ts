/** What can be counted from the text of the source alone. */
import { circlesOf, type SourceFile } from '../../test/source-files.ts';

/** Size of a part of the source. */
export interface Size {
  readonly lines: number;
  readonly files: number;
}

export interface Counts extends Size {
  /** Lines of the file in the middle. */
  readonly medianLines: number;
  readonly options: { readonly interfaces: number; readonly lines: number };
  /** Statements that import a file of src, or export from one, and `import()`; of types, too. */
  readonly imports: number;
  readonly oneImporter: number;
  /** Files with exactly one importer that export exactly one value, beside any number of types. */
  readonly oneValueForOneImporter: number;
  readonly circles: readonly string[];
}

const VALUE = /^export (?:default\b|(?:async |abstract |declare )*(?:const|let|function\*?|class|enum) )/gm;
const LISTED = /^export \{([^}]*)\}/gm;

/** Number of exported values; `export *` counts as one. */
export function exportedValues(text: string): number {
  const listed = [...text.matchAll(LISTED)]
    .flatMap(([, names]) => names!.split(','))
    .filter((name) => name.trim() !== '' && !/^\s*type\s/.test(name));
  return [...text.matchAll(VALUE)].length + [...text.matchAll(/^export \*/gm)].length + listed.length;
}

/** Lines of each interface whose name ends in `Options`, braces included. Formatted source only. */
export function optionLines(text: string): number[] {
  return [...text.matchAll(/^(?:export )?interface \w*Options\b[^{;]*\{(?:\}|[\s\S]*?\n\})/gm)].map(
    ([all]) => all.split('\n').length,
  );
}

export function sizeOf(files: readonly SourceFile[]): Size {
  return { lines: sum(files.map(({ lines }) => lines)), files: files.length };
}

export function countsOf(files: readonly SourceFile[]): Counts {
  const importers = importersOf(files);
  const lonely = files.filter(({ path }) => importers.get(path)?.size === 1);
  const options = files.flatMap(({ text }) => optionLines(text));
  return {
    ...sizeOf(files),
    medianLines: files.map(({ lines }) => lines).sort((a, b) => a - b)[Math.floor((files.length - 1) / 2)] ?? 0,
    options: { interfaces: options.length, lines: sum(options) },
    imports: sum(files.map(({ imports }) => imports.filter(({ target }) => target.startsWith('src/')).length)),
    oneImporter: lonely.length,
    oneValueForOneImporter: lonely.filter(({ text }) => exportedValues(text) === 1).length,
    circles: circlesOf(files),
  };
}

/** For each file that others import: those others. */
function importersOf(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map(files.map(({ path }) => [path, new Set<string>()]));
  for (const { path, imports } of files) for (const { target } of imports) importers.get(target)?.add(path);
  return importers;
}

/** Files that have the name in their path or their code, as a part of another word, too; comments do not count. */
export function filesNaming(files: readonly SourceFile[], name: string): string[] {
  return files
    .filter(({ path, text }) => `${path}\n${withoutComments(text)}`.toLowerCase().includes(name))
    .map(({ path }) => path);
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/gm, '');

/** Files under a folder, and how many of them are in each of its folders; `.` are its own. */
export function sizesIn(
  files: readonly SourceFile[],
  folder: string,
): { readonly all: Size; readonly rooms: Readonly<Record<string, Size>> } {
  const inside = files.filter(({ path }) => path.startsWith(`${folder}/`));
  const rooms = Object.groupBy(inside, ({ path }) => {
    const [room, ...rest] = path.slice(folder.length + 1).split('/');
    return rest.length === 0 ? '.' : room!;
  });
  const names = Object.keys(rooms).sort();
  return { all: sizeOf(inside), rooms: Object.fromEntries(names.map((name) => [name, sizeOf(rooms[name]!)])) };
}

/** Number of files by folder, at most two deep: `src/roles/pserver/transfer/moves.ts` is in `roles/pserver`. */
export function roomsOf(paths: readonly string[]): Record<string, number> {
  const rooms: Record<string, number> = {};
  for (const path of paths) {
    const room = path.split('/').slice(1, -1).slice(0, 2).join('/');
    rooms[room] = (rooms[room] ?? 0) + 1;
  }
  return rooms;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

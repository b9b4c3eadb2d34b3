/** Where data is, and how file names of a job become the list of files of an index. */
import { basename, dirname, isAbsolute, join, matchesGlob, normalize, relative, resolve, sep } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { notLocal } from '../base/local-path.ts';
import type { Host } from '../base/seams.ts';

export interface DataPlace {
  readonly host: Pick<Host, 'clock' | 'disk' | 'random' | 'log'>;
  /** The folder that relative paths of the job start at. */
  readonly folder: string;
  /** Unpacked files and indexes are kept here; it is made when needed, and several processes may share it. */
  readonly cacheFolder: string;
  /** Corrupt chunks of RecordIO files are errors (`fail`, also without it), or left out. */
  readonly corruptChunks?: 'fail' | 'skip';
}

const NAMES_IN_HINT = 3;
const WILD = /[*?[\]{}]/;

export const absolutePath = (place: DataPlace, path: string): string => resolve(place.folder, path);

/**
 * The files behind a job's `train` or `test`: a file, a folder (all files under it, hidden ones and those beginning
 * with `_` left out), a glob (`*`, `?`, `[…]`, `{…}`, `**`), or a list of these. A name that exists is not a glob.
 * Paths relative to the data folder, sorted bytewise, each once. Throws `DataMissing`, naming the nearest existing
 * names.
 */
export async function resolveFiles(place: DataPlace, what: string | readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const entry of typeof what === 'string' ? [what] : what) {
    for (const file of await filesOf(place, entry)) found.add(relativePath(place, file, entry));
  }
  if (found.size === 0) throw new PaddletError('DataMissing', 'no data files were named');
  return [...found].sort(compareBytewise);
}

export const compareBytewise = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Files outside the data folder keep the way they were named: absolute or through `..`. */
function relativePath(place: DataPlace, file: string, named: string): string {
  const path = relative(resolve(place.folder), file).split(sep).join('/');
  return path.startsWith('../') && isAbsolute(named) ? file : path;
}

async function filesOf(place: DataPlace, entry: string): Promise<string[]> {
  const path = absolutePath(place, entry);
  const facts = await place.host.disk.inspect(path);
  if (facts?.kind === 'file') return [path];
  if (facts?.kind === 'folder') {
    const files = await walk(place, path, 0);
    if (files.length === 0) throw noFiles(path);
    return files;
  }
  if (facts !== undefined) throw noFile(path);
  await refuseUnlikePath(place, entry);
  const parts = normalize(entry).split('/');
  const firstWild = parts.findIndex((part) => WILD.test(part));
  if (firstWild < 0) throw await missing(place, path);
  // Only what was written is a pattern: the data folder may have any name.
  const root = resolve(place.folder, ...(isAbsolute(entry) ? ['/'] : []), parts.slice(0, firstWild).join('/'));
  return filesOfGlob(place, root, parts.slice(firstWild).filter(Boolean).join('/'));
}

const noFiles = (folder: string): PaddletError =>
  new PaddletError('DataMissing', `no data files in folder ${folder}`, {
    hint: 'put data files into the folder; paddlet ignores hidden files and files whose name begins with _',
  });

const noFile = (path: string): PaddletError =>
  new PaddletError('DataMissing', `${path} is neither a file nor a folder`, {
    hint: 'write the data to a regular file: several processes read it, and more than once',
  });

/** What other programs take as the name of a data file. */
async function refuseUnlikePath(place: DataPlace, entry: string): Promise<void> {
  const refuse = (hint: string): never => {
    throw new PaddletError('DataMissing', `${entry} is not the path of a data file`, { hint });
  };
  const hint = notLocal(entry);
  if (hint !== undefined) refuse(hint);
  const [file = '', cache] = entry.split(/#(?=[^#]*$)/);
  if (cache !== undefined && (await place.host.disk.exists(absolutePath(place, file)))) {
    refuse(`write ${file}: only XGBoost uses the part after #; paddlet keeps parsed data anyway`);
  }
}

/** `pattern` is relative to the folder `root`. */
async function filesOfGlob(place: DataPlace, root: string, pattern: string): Promise<string[]> {
  if ((await place.host.disk.inspect(root))?.kind !== 'folder') throw await missing(place, root);
  const files = (await walk(place, root, 0)).filter((file) => matchesGlob(relative(root, file), pattern));
  if (files.length > 0) return files;
  const names = await namesIn(place, root, pattern);
  const bracket = pattern.includes('[') ? `; [ begins a set of characters; write [[] for a literal [` : '';
  throw new PaddletError('DataMissing', `no file matches ${join(root, pattern)}`, { hint: `${names}${bracket}` });
}

async function walk(place: DataPlace, folder: string, depth: number): Promise<string[]> {
  if (depth > LIMITS.dataFolderDepth) throw new PaddletError('DataInvalid', `folders nest too deeply: ${folder}`);
  const files: string[] = [];
  for (const name of await place.host.disk.list(folder)) {
    if (name.startsWith('.') || name.startsWith('_')) continue;
    const path = join(folder, name);
    const facts = await place.host.disk.inspect(path);
    if (facts?.kind === 'file') files.push(path);
    else if (facts?.kind === 'folder') files.push(...(await walk(place, path, depth + 1)));
    if (files.length > LIMITS.dataFiles)
      throw new PaddletError('DataInvalid', `more than ${LIMITS.dataFiles} files in ${folder}`);
  }
  return files;
}

/** The error for a path that does not exist; its hint names the nearest paths that do. */
export async function missing(place: DataPlace, path: string): Promise<PaddletError> {
  let folder = dirname(path);
  let name = basename(path);
  while ((await place.host.disk.inspect(folder)) === undefined && dirname(folder) !== folder) {
    name = basename(folder);
    folder = dirname(folder);
  }
  return new PaddletError('DataMissing', `no such data file: ${path}`, { hint: await namesIn(place, folder, name) });
}

async function namesIn(place: DataPlace, folder: string, wanted: string): Promise<string> {
  const whereElse = 'relative paths start at --data-dir (or PADDLET_DATA; by default the folder of the job file)';
  if ((await place.host.disk.inspect(folder))?.kind !== 'folder') return whereElse;
  const names = (await place.host.disk.list(folder)).filter((name) => !name.startsWith('.'));
  if (names.length === 0) return `${folder} is empty; ${whereElse}`;
  const target = basename(wanted);
  const near = names
    .map((name) => ({ name, far: distance(name, target) }))
    .sort((a, b) => a.far - b.far || compareBytewise(a.name, b.name))
    .slice(0, NAMES_IN_HINT);
  return `${folder} has ${near.map(({ name }) => name).join(', ')}; ${whereElse}`;
}

/**
 * The program for tests that start real processes: in one file, as in the executable. A process of it needs half of the
 * processor time of one that loads each source file, and that is most of what such a test costs.
 */
import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle } from '../../scripts/build-steps/bundle.ts';
import { ROOT, sourceFiles } from '../source-files.ts';

/** As deep as the sources are: what they name relative to themselves is found from here, too. */
const PATH = join(ROOT, 'build/test/commands/paddlet.cjs');

/** Made again when a source file is newer, or the packages are others; its path. */
export async function bundledEntry(): Promise<string> {
  const changed = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const inputs = ['package-lock.json', 'docs', 'src/data/generated', 'src/tensor/generated', 'src/page/generated'];
  const sources = sourceFiles('bin', 'src', 'scripts/build-steps').map(({ path }) => path);
  const newest = Math.max(...[...inputs, ...sources].map((path) => changed(join(ROOT, path))));
  if (changed(PATH) > newest) return PATH;
  const { code } = await bundle('bin/paddlet.ts', ROOT);
  mkdirSync(dirname(PATH), { recursive: true });
  // Another worker may be making it, too, or running it.
  const own = `${PATH}.${process.pid}`;
  writeFileSync(own, code);
  renameSync(own, PATH);
  return PATH;
}

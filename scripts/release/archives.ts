/** The archives of a release and their checksums. The same files and date give the same bytes. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface ArchiveOptions {
  /** Without `.tar.gz`; also the folder that the archive unpacks to. */
  readonly name: string;
  /** Names in the archive, each with the path of its file. */
  readonly files: Readonly<Record<string, string>>;
  /** Date of all files in the archive: YYYY-MM-DD. */
  readonly date: string;
  /** Where the archive is written. */
  readonly folder: string;
}

/** What a user runs. */
const EXECUTABLE: readonly string[] = ['paddlet', 'install.sh'];

/** Writes `folder/name.tar.gz` and gives its path. The archive has a SHA256SUMS of its own, of the executable. */
export async function makeArchive({ name, files, date, folder }: ArchiveOptions): Promise<string> {
  const staged = join(folder, name);
  await rm(staged, { recursive: true, force: true });
  await mkdir(staged, { recursive: true });
  for (const [file, source] of Object.entries(files)) {
    await copyFile(source, join(staged, file));
    await chmod(join(staged, file), EXECUTABLE.includes(file) ? 0o755 : 0o644);
  }
  await writeChecksums([join(staged, 'paddlet')]);
  await chmod(staged, 0o755);
  const archive = `${staged}.tar.gz`;
  const fixed = ['--sort=name', `--mtime=${date} 00:00:00Z`, '--owner=0', '--group=0', '--numeric-owner'];
  await run('tar', [...fixed, '--format=ustar', '-I', 'gzip -n', '-cf', archive, '-C', folder, name]);
  await rm(staged, { recursive: true });
  return archive;
}

/** Writes SHA256SUMS beside the files, in the form that `sha256sum -c` reads; the files are in one folder. */
export async function writeChecksums(files: readonly string[]): Promise<string> {
  const lines = await Promise.all(files.map(async (file) => `${await sha256Of(file)}  ${basename(file)}\n`));
  const path = join(dirname(files[0]!), 'SHA256SUMS');
  await writeFile(path, lines.join(''), { mode: 0o644 });
  return path;
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

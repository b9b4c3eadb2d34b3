/** `npm run release`: see USAGE. Decisions are in release/version.ts and release/changelog.ts. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeArchive, writeChecksums } from './release/archives.ts';
import { releaseChangelog } from './release/changelog.ts';
import { withLockVersion, withPackageVersion } from './release/package-version.ts';
import { Tree } from './release/tree.ts';
import { nextVersion } from './release/version.ts';

const USAGE = `npm run release -- patch|minor|major|X.Y.Z [--dry-run | --commit] [--date YYYY-MM-DD]

Builds the committed tree for x64 and arm64 as the next version, and writes to dist/release/:
  paddlet-VERSION-linux-x64.tar.gz, paddlet-VERSION-linux-arm64.tar.gz, SHA256SUMS, install.sh, NOTES.md
Then package.json, package-lock.json and CHANGELOG.md get the version and the date; uncommitted changes are refused.
  --dry-run  changes no file but those in dist/release/
  --commit   commits the three files and tags the commit vX.Y.Z; nothing is pushed
  --date     the date of the release. Default: today (UTC)
Run scripts/test.sh first: a release runs no tests. X.Y.Z may be the version now, if it was never released.
`;
const ROOT = resolve(import.meta.dirname, '..');
const ARCHITECTURES = ['x64', 'arm64'] as const;
const OUTPUT = join(ROOT, 'dist/release');

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const git = (...args: string[]): string => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();

interface Options {
  readonly bump: string;
  readonly dryRun: boolean;
  readonly commit: boolean;
  readonly date: string;
}

/** Undefined when help was asked for. */
function readOptions(): Options | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      commit: { type: 'boolean', default: false },
      date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const [bump, ...more] = positionals;
  if (bump === undefined || more.length > 0) throw new Error('expected one of patch, minor, major or X.Y.Z');
  if (values['dry-run'] && values.commit) throw new Error('--dry-run and --commit exclude each other');
  if (!/^\d{4}-\d{2}-\d{2}$/.test(values.date) || Number.isNaN(Date.parse(values.date)))
    throw new Error(`--date ${values.date}: expected YYYY-MM-DD`);
  return { bump, dryRun: values['dry-run'], commit: values.commit, date: values.date };
}

/** Files with another text in this release, by name. */
type Edits = Readonly<Record<string, string>>;

interface Plan {
  readonly version: string;
  readonly edits: Edits;
  readonly notes: string;
}

async function planRelease(tree: Tree, { bump, date }: Options): Promise<Plan> {
  const packageText = await tree.read('package.json');
  const version = nextVersion((JSON.parse(packageText) as { version: string }).version, bump);
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`${version} is released: the tag v${version} exists`);
  const changelog = releaseChangelog(await tree.read('CHANGELOG.md'), version, date);
  const edits = {
    'package.json': withPackageVersion(packageText, version),
    'package-lock.json': withLockVersion(await tree.read('package-lock.json'), version),
    'CHANGELOG.md': changelog.text,
  };
  return { version, edits, notes: changelog.notes };
}

/** Builds in the tree and writes dist/release. */
async function makeRelease(tree: Tree, { version, edits, notes }: Plan, date: string): Promise<void> {
  for (const [file, text] of Object.entries(edits)) await tree.write(file, text);
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  const installer = tree.path('scripts/release/install.sh');
  const archives: string[] = [];
  for (const arch of ARCHITECTURES) {
    const executable = await tree.build(arch);
    if (arch === process.arch) checkVersion(executable, version);
    const files = {
      paddlet: executable,
      'install.sh': installer,
      'NODE-LICENSE.txt': tree.path('node_modules', `node-linux-${process.arch}`, 'LICENSE'),
      'THIRD-PARTY-LICENSES.txt': tree.path('dist/THIRD-PARTY-LICENSES.txt'),
      ...Object.fromEntries(['LICENSE', 'NOTICE', 'README.md'].map((name) => [name, tree.path(name)])),
    };
    archives.push(await makeArchive({ name: `paddlet-${version}-linux-${arch}`, files, date, folder: OUTPUT }));
    print(`made ${archives.at(-1)}`);
  }
  print(`made ${await writeChecksums(archives)}`);
  copyFileSync(installer, join(OUTPUT, 'install.sh'));
  writeFileSync(join(OUTPUT, 'NOTES.md'), `${notes}\n`);
}

function checkVersion(executable: string, version: string): void {
  const line = execFileSync(executable, ['--version'], { encoding: 'utf8' });
  if (!line.startsWith(`paddlet/${version} `)) throw new Error(`the executable says "${line.trim()}", not ${version}`);
}

function applyEdits(edits: Edits, tag: string, commit: boolean): void {
  for (const [file, text] of Object.entries(edits)) writeFileSync(join(ROOT, file), text);
  if (!commit) {
    print(`Changed ${Object.keys(edits).join(', ')}: commit them and tag the commit ${tag}.`);
    return;
  }
  git('commit', '-m', `Release ${tag}`, '--', ...Object.keys(edits));
  git('tag', '-a', tag, '-m', `Release ${tag}`);
  print(`Committed and tagged ${tag}. Push both: git push --follow-tags`);
}

async function main(): Promise<void> {
  const options = readOptions();
  if (options === undefined) return void process.stdout.write(USAGE);
  if (!options.dryRun && git('status', '--porcelain') !== '')
    throw new Error('there are uncommitted changes: commit them, or see what a release would be with --dry-run');
  const tree = await Tree.open(ROOT);
  try {
    const plan = await planRelease(tree, options);
    print(`paddlet ${plan.version}, ${options.date}, from ${git('rev-parse', '--short', 'HEAD')}`);
    await makeRelease(tree, plan, options.date);
    if (!options.dryRun) applyEdits(plan.edits, `v${plan.version}`, options.commit);
  } finally {
    await tree.remove();
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`release: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

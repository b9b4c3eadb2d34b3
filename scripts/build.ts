/**
 * `node scripts/build.ts [--arch x64|arm64]`: makes dist/paddlet (after scripts/build-kernels.ts and
 * scripts/build-page.ts). What is up to date is left alone, so building again costs only the bundling.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { PAGE_INPUTS } from '../src/page/generated/page.ts';
import { bundle } from './build-steps/bundle.ts';
import { ENGINE_OPTIONS } from './build-steps/engine-options.ts';
import { makeExecutable } from './build-steps/executable.ts';
import { nodeBinary } from './build-steps/node-binary.ts';
import { thirdPartyNotices } from './build-steps/notices.ts';

const root = resolve(import.meta.dirname, '..');
const LARGEST_BYTES = 130_000_000;

const { values } = parseArgs({ options: { arch: { type: 'string', default: process.arch } } });
const { arch } = values;
if (arch !== 'x64' && arch !== 'arm64') throw new Error(`no executable for ${arch}: expected x64 or arm64`);

const startMs = performance.now();
const dist = join(root, 'dist');
const build = join(root, 'build');
const output = join(dist, arch === process.arch ? 'paddlet' : `paddlet-${arch}`);
await mkdir(dist, { recursive: true });
await mkdir(build, { recursive: true });

const { code, metafile } = await bundle('bin/paddlet.ts', root);
// The page is a text in the bundle, with libraries of its own.
const inputs = [...Object.keys(metafile.inputs), ...PAGE_INPUTS];
const node = await nodeBinary(root, build, arch);
const { size: nodeBytes } = await stat(node.path);
const engine = `${node.version} ${arch} ${nodeBytes} ${ENGINE_OPTIONS.join(' ')}`;
const hash = createHash('sha256').update(code).update(`\n${engine}`);
for (const step of ['executable.ts', 'start.cjs', 'compile.cjs', 'compile-roles.ts'])
  hash.update(await readFile(join(import.meta.dirname, 'build-steps', step)));
const digest = hash.digest('hex');
const stamp = join(build, `made-${arch}`);

if ((await textOf(stamp)) === digest && (await bytesOf(output)) > 0) {
  await report('up to date');
} else {
  // Made beside and renamed: a running executable cannot be written to, and a half-made one is never found.
  const partial = join(build, `paddlet-${arch}.partial`);
  await rm(partial, { force: true });
  await makeExecutable({ code, output: partial, node, arch });
  await chmod(partial, 0o755);
  if ((await bytesOf(partial)) > LARGEST_BYTES) throw new Error(`${partial} is larger than ${LARGEST_BYTES} bytes`);
  await writeFile(join(dist, 'THIRD-PARTY-LICENSES.txt'), await thirdPartyNotices(inputs, root));
  await rename(partial, output);
  await writeFile(stamp, digest);
  await report('made');
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** 0 when there is no such file. */
async function bytesOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

async function report(what: string): Promise<void> {
  const bytes = await bytesOf(output);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(`build: ${output} ${what} (${(bytes / 1e6).toFixed(1)} MB, ${seconds} s)\n`);
}

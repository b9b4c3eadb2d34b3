/** From a bundle and a Node binary to one executable (Node's single executable application, by pkg). */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { COMPILED, compileRoles } from './compile-roles.ts';
import { ENGINE_OPTIONS } from './engine-options.ts';
import type { NodeBinary } from './node-binary.ts';

/** `execArgvExtension`: NODE_OPTIONS of a shell or a pod are not for paddlet. */
const SEA_CONFIG = {
  disableExperimentalSEAWarning: true,
  execArgv: ENGINE_OPTIONS,
  execArgvExtension: 'none',
  useSnapshot: false,
  useCodeCache: false,
} as const;

/** The script that runs the bundle: the main script, and an asset for threads (src/host/threads.ts). */
const START = join(import.meta.dirname, 'start.cjs');

export interface ExecutableOptions {
  readonly code: Uint8Array;
  /** Absolute path. */
  readonly output: string;
  readonly node: NodeBinary;
  readonly arch: 'x64' | 'arm64';
}

export async function makeExecutable(options: ExecutableOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'paddlet-build-'));
  try {
    if (options.arch === process.arch) await byPkg(options, folder);
    else await forOtherArch(options, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await chmod(options.output, 0o755);
}

async function byPkg({ code, output, node, arch }: ExecutableOptions, folder: string): Promise<void> {
  const { default: sea } = (await import('@yao-pkg/pkg/lib-es5/sea.js')) as unknown as {
    default: { default: typeof import('@yao-pkg/pkg/lib-es5/sea.js').default };
  };
  const assets = await writeAssets(code, folder);
  await compileRoles(node.path, assets.bundle, folder);
  await sea.default(START, {
    targets: [{ nodeRange: 'node24', platform: 'linux', arch, output }],
    nodePath: node.path,
    signature: false,
    seaConfig: { ...SEA_CONFIG, assets },
  });
}

/**
 * Pkg starts the target's Node to make the blob, which another architecture cannot. The blob itself is the same for all
 * of one Node version, but for the compiled code: left empty, at the price of a slower start.
 */
async function forOtherArch({ code, output, node }: ExecutableOptions, folder: string): Promise<void> {
  if (process.version !== `v${node.version}`)
    throw new Error(`run this with Node ${node.version}, not ${process.version}`);
  const assets = await writeAssets(code, folder);
  const blob = join(folder, 'blob');
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify({ ...SEA_CONFIG, assets, main: START, output: blob }));
  await promisify(execFile)(process.execPath, ['--experimental-sea-config', config]);
  await copyFile(node.path, output);
  // It carries no types.
  const { inject } = createRequire(import.meta.url)('postject') as { inject: Inject };
  await inject(output, 'NODE_SEA_BLOB', await readFile(blob), { sentinelFuse: FUSE });
}

interface Assets {
  readonly start: string;
  readonly bundle: string;
  readonly [compiled: string]: string;
}

/** The bundle as a function of what Node gives to a module, and nothing compiled. */
async function writeAssets(code: Uint8Array, folder: string): Promise<Assets> {
  const compiled = COMPILED.map((name) => [name, join(folder, name)] as const);
  const bundle = join(folder, 'bundle.js');
  const text = Buffer.from(code).toString().replace(/^#!.*/, '');
  // Node reads a text that is ASCII throughout many times faster.
  const ascii = text.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  await writeFile(bundle, `(function (exports, require, module, __filename) {${ascii}\n})`);
  for (const [, file] of compiled) await writeFile(file, '');
  return { start: START, bundle, ...Object.fromEntries(compiled) };
}

type Inject = (file: string, resource: string, data: Buffer, options: { sentinelFuse: string }) => Promise<void>;

/** https://nodejs.org/api/single-executable-applications.html */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

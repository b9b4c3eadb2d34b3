/** From a bundle and a Node binary to one executable (Node's single executable application, by pkg). */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ENGINE_OPTIONS } from './engine-options.ts';
import type { NodeBinary } from './node-binary.ts';

/** `execArgvExtension`: NODE_OPTIONS of a shell or a pod are not for paddlet. */
const SEA_CONFIG = {
  disableExperimentalSEAWarning: true,
  execArgv: ENGINE_OPTIONS,
  execArgvExtension: 'none',
} as const;

/** What threads are started from (src/host/threads.ts): an executable has no file for them. */
const assetsOf = (bundle: string): Record<string, string> => ({ bundle });

export interface ExecutableOptions {
  /** Absolute paths. */
  readonly bundlePath: string;
  readonly output: string;
  readonly node: NodeBinary;
  readonly arch: 'x64' | 'arm64';
}

export async function makeExecutable(options: ExecutableOptions): Promise<void> {
  if (options.arch === process.arch) await byPkg(options);
  else await forOtherArch(options);
  await chmod(options.output, 0o755);
}

async function byPkg({ bundlePath, output, node, arch }: ExecutableOptions): Promise<void> {
  const { default: sea } = (await import('@yao-pkg/pkg/lib-es5/sea.js')) as unknown as {
    default: { default: typeof import('@yao-pkg/pkg/lib-es5/sea.js').default };
  };
  await sea.default(bundlePath, {
    targets: [{ nodeRange: 'node24', platform: 'linux', arch, output }],
    nodePath: node.path,
    signature: false,
    seaConfig: { ...SEA_CONFIG, assets: assetsOf(bundlePath), useSnapshot: false, useCodeCache: true },
  });
}

/**
 * Pkg starts the target's Node to make the blob, which another architecture cannot. The blob itself is the same for all
 * of one Node version, but for the code cache, which is machine code: left out, at the price of a slower start.
 */
async function forOtherArch({ bundlePath, output, node }: ExecutableOptions): Promise<void> {
  if (process.version !== `v${node.version}`)
    throw new Error(`run this with Node ${node.version}, not ${process.version}`);
  const folder = await mkdtemp(join(tmpdir(), 'paddlet-build-'));
  try {
    const blob = join(folder, 'blob');
    const config = join(folder, 'config.json');
    await writeFile(
      config,
      JSON.stringify({ ...SEA_CONFIG, assets: assetsOf(bundlePath), main: bundlePath, output: blob }),
    );
    await promisify(execFile)(process.execPath, ['--experimental-sea-config', config]);
    await copyFile(node.path, output);
    // It carries no types.
    const { inject } = createRequire(import.meta.url)('postject') as { inject: Inject };
    await inject(output, 'NODE_SEA_BLOB', await readFile(blob), { sentinelFuse: FUSE });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Inject = (file: string, resource: string, data: Buffer, options: { sentinelFuse: string }) => Promise<void>;

/** https://nodejs.org/api/single-executable-applications.html */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

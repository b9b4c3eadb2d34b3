/** All of paddlet in one CommonJS file: what a Node single executable can run. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

const require = createRequire(import.meta.url);

export interface Bundle {
  readonly code: Uint8Array;
  readonly metafile: Metafile;
}

/** Bundles `entry`. Throws on any warning: what esbuild warns of fails at run time, in front of a user. */
export async function bundle(entry: string, root: string): Promise<Bundle> {
  const result = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    outfile: 'paddlet.cjs',
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    minify: true,
    // Stack traces of bug reports need names.
    keepNames: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    // A single executable cannot import() from disk; built-in modules are required instead.
    supported: { 'dynamic-import': false },
    // Modules that ask where they are get the executable; none of ours reads files next to itself.
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: 'const __bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    // Native accelerators that the libraries do without when they are missing.
    external: ['cbor-extract', 'bufferutil', 'utf-8-validate'],
    plugins: [inlineEtcdProto],
  });
  const [warning] = result.warnings;
  if (warning !== undefined)
    throw new Error(`bundle: ${warning.text} (${warning.location?.file}:${warning.location?.line})`);
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error('bundle: esbuild gave no output');
  return { code: file.contents, metafile: result.metafile };
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text looked for
const PROTO_READ = 'loadSync)(`${__dirname}/../proto/rpc.proto`, {';

/** etcd3 reads its protocol from a file beside it at start; the bundle carries it parsed instead. */
const inlineEtcdProto: Plugin = {
  name: 'inline-etcd-proto',
  setup(plugins) {
    plugins.onLoad({ filter: /[\\/]etcd3[\\/]lib[\\/]connection-pool\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const pieces = source.split(PROTO_READ);
      if (pieces.length !== 2)
        throw new Error(`${path} no longer reads rpc.proto the way this build replaces: mend PROTO_READ`);
      const json = etcdProtoJson(join(dirname(path), '..', 'proto', 'rpc.proto'));
      return { contents: pieces.join(`fromJSON)(${json}, {`), loader: 'js' };
    });
  },
};

/** With the names as in the file: etcd3 loads it with `keepCase` too. */
function etcdProtoJson(path: string): string {
  const loaderPath = require.resolve('@grpc/proto-loader', { paths: [dirname(require.resolve('etcd3'))] });
  const protobuf = createRequire(loaderPath)('protobufjs') as typeof import('protobufjs');
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(dirname(path), target.split('/').at(-1) as string);
  return JSON.stringify(root.loadSync(path, { keepCase: true }).resolveAll().toJSON());
}

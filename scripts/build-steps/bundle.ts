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
    // Stack traces of bug reports need names. With `keepNames` esbuild would give minified functions theirs back each
    // time that one is made, closures on the way of a request included.
    minifyIdentifiers: false,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    // A single executable cannot import() from disk; built-in modules are required instead.
    supported: { 'dynamic-import': false },
    // Modules that ask where they are get the executable; none of ours reads files next to itself.
    define: {
      'import.meta.url': '__bundleUrl',
      // oclif would load semver to compare the version of Node with a package.json that is missing.
      'process.env.OCLIF_DISABLE_ENGINE_WARNING': '"1"',
    },
    alias: { '@opentelemetry/api': join(root, 'scripts/build-steps/no-tracing.cjs') },
    banner: { js: 'const __bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    // Native accelerators that the libraries do without when they are missing.
    external: ['cbor-extract', 'bufferutil', 'utf-8-validate'],
    plugins: [inlineEtcdProto, inlineDocs, lateWidths, lateTls],
  });
  const [warning] = result.warnings;
  if (warning !== undefined)
    throw new Error(`bundle: ${warning.text} (${warning.location?.file}:${warning.location?.line})`);
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error('bundle: esbuild gave no output');
  return { code: file.contents, metafile: result.metafile };
}

/** Where rpc.proto is read at start, and what reads the parsed text instead. */
const PROTO_READERS = [
  {
    file: /[\\/]etcd3[\\/]lib[\\/]connection-pool\.js$/,
    loader: 'js',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text looked for
    read: 'loadSync)(`${__dirname}/../proto/rpc.proto`, {',
    inline: (json: string) => `fromJSON)(${json}, {`,
  },
  {
    file: /[\\/]src[\\/]store[\\/]etcd[\\/]protocol\.ts$/,
    loader: 'ts',
    read: "loader.loadSync(createRequire(import.meta.url).resolve('etcd3/proto/rpc.proto'), ",
    inline: (json: string) => `loader.fromJSON(${json}, `,
  },
] as const;

/** etcd's protocol is a file in the package etcd3; the bundle carries it parsed instead. */
const inlineEtcdProto: Plugin = {
  name: 'inline-etcd-proto',
  setup(plugins) {
    for (const { file, loader, read, inline } of PROTO_READERS) {
      plugins.onLoad({ filter: file }, async ({ path }) => {
        const pieces = (await readFile(path, 'utf8')).split(read);
        if (pieces.length !== 2) {
          throw new Error(`${path} no longer reads rpc.proto the way this build replaces: update PROTO_READERS`);
        }
        return { contents: pieces.join(inline(etcdProtoJson())), loader };
      });
    }
  },
};

/** The documents that `paddlet docs` shows. */
const inlineDocs: Plugin = {
  name: 'inline-docs',
  setup(plugins) {
    plugins.onLoad({ filter: /[\\/]src[\\/]commands[\\/]docs[\\/]texts\.ts$/ }, async ({ path }) => {
      const { TEXTS } = (await import(path)) as typeof import('../../src/commands/docs/texts.ts');
      return { contents: `export const TEXTS = ${JSON.stringify(TEXTS)};`, loader: 'js' };
    });
  },
};

/**
 * Both make expressions over all of Unicode when they are loaded, in 20 ms. Each process has them, but only one that
 * fits a text into a terminal calls them.
 */
const lateWidths: Plugin = {
  name: 'late-widths',
  setup(plugins) {
    plugins.onResolve({ filter: /^(string-width|wrap-ansi)$/ }, ({ path, importer, kind }) => {
      if (kind !== 'import-statement' || !/[\\/]src[\\/]commands[\\/]/.test(importer)) return undefined;
      return { path, namespace: 'late' };
    });
    plugins.onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => ({
      contents: `export default (...given) => require(${JSON.stringify(path)}).default(...given);`,
      resolveDir: import.meta.dirname,
    }));
  },
};

/**
 * Loading TLS takes 40 ms of processor time, most of it for parsing root certificates. ws and prom-client load it at
 * the start; paddlet's own connections do not use it.
 */
const lateTls: Plugin = {
  name: 'late-tls',
  setup(plugins) {
    plugins.onResolve({ filter: /^(https|tls)$/ }, ({ path, importer }) => {
      if (!/[\\/]node_modules[\\/](ws|prom-client)[\\/]/.test(importer)) return undefined;
      return { path, namespace: 'late-tls' };
    });
    plugins.onLoad({ filter: /.*/, namespace: 'late-tls' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get: (_, name) => require('node:${path}')[name] });`,
    }));
  },
};

/** With the names as in the file: both readers load it with `keepCase` too. */
function etcdProtoJson(): string {
  const path = require.resolve('etcd3/proto/rpc.proto');
  const loaderPath = require.resolve('@grpc/proto-loader');
  const protobuf = createRequire(loaderPath)('protobufjs') as typeof import('protobufjs');
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => join(dirname(path), target.split('/').at(-1) as string);
  return JSON.stringify(root.loadSync(path, { keepCase: true }).resolveAll().toJSON());
}

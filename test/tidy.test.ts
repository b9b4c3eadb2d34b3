/** The shape of the source (DESIGN §12, ARCHITECTURE.md), kept by a test. */
import { describe, expect, test } from 'vitest';
import { blank, importsOf, type SourceFile, sourceFiles } from './source-files.ts';

const MIDDLE = ['core', 'store', 'protocol', 'tensor', 'checkpoint', 'data', 'model', 'job'];

/** What the code of a layer may run of other layers. Types may come from any layer but roles, commands and host. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  core: ['base'],
  store: ['base', 'core'],
  protocol: ['base'],
  tensor: ['base'],
  // Made data has a planted model.
  data: ['base', 'tensor', 'model'],
  model: ['base', 'tensor'],
  job: ['base'],
  checkpoint: ['base', 'core', 'store', 'tensor'],
  cluster: ['base', ...MIDDLE],
  roles: ['base', ...MIDDLE, 'cluster'],
  host: ['base'],
  commands: ['base', ...MIDDLE, 'cluster', 'roles', 'host'],
};

const files = sourceFiles('bin', 'src');
const everything = [...files, ...sourceFiles('test', 'scripts')];

const layerOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

function layerFaults(file: SourceFile): string[] {
  const from = layerOf(file.path);
  if (from === undefined) return [];
  return file.imports.flatMap(({ target, typeOnly }) => {
    const to = layerOf(target);
    if (to === undefined || to === from) return [];
    const allowed = MAY_IMPORT[from] ?? [];
    const typeAllowed = typeOnly && ['base', ...MIDDLE].includes(to);
    return allowed.includes(to) || typeAllowed ? [] : [`${file.path} imports ${target}: ${from} may not run ${to}`];
  });
}

/** Each cycle of static value imports once, as the path that closes it. */
function cyclesOf(all: readonly SourceFile[]): string[] {
  const byPath = new Map(all.map((file) => [file.path, file]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) cycles.push([...trail.slice(at), path].join(' → '));
    if (at !== -1 || done.has(path)) return;
    for (const { target, typeOnly, dynamic } of byPath.get(path)?.imports ?? []) {
      if (!typeOnly && !dynamic && byPath.has(target)) visit(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const { path } of all) visit(path, []);
  return cycles;
}

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  readonly within: (path: string) => boolean;
  /** Files that may, each with its reason. */
  readonly allowed: Readonly<Record<string, string>>;
}

const outsideHost = (path: string): boolean => path.startsWith('src/') && layerOf(path) !== 'host';

const BANS: readonly Ban[] = [
  {
    // Powers of two are exact everywhere.
    what: 'functions whose bits differ between engines (DESIGN §3)',
    pattern: /\bMath\.(?:exp|expm1|log|log1p|log2|log10|pow|sin|cos|tan|sinh|cosh|tanh|cbrt|hypot)\b|(?<!\b2 )\*\*/,
    within: (path) => ['tensor', 'model', 'core'].includes(layerOf(path) ?? ''),
    allowed: {},
  },
  {
    what: 'clocks, timers and randomness outside src/host (src/base/seams.ts)',
    pattern:
      /\bDate\.now\b|\bnew Date\b|\bperformance\.now\b|\bset(?:Timeout|Interval|Immediate)\b|\bMath\.random\b|\brandom(?:UUID|Bytes)\b/,
    within: outsideHost,
    allowed: {
      'src/commands/base/waiting.ts': 'a progress bar on a terminal follows the real clock',
      'src/protocol/websocket/wire-options.ts': 'part of the real network; the simulation brings its own',
      'src/store/sqlite/file.ts': 'names the database once, when it is made; a real file in any case',
      'src/store/sqlite/writer.ts': 'gathers the writes of one turn of the real event loop',
    },
  },
  {
    // Commands are the real world's edge, never simulated.
    what: 'the file system outside src/host and commands (src/base/seams.ts)',
    pattern: /\bfrom 'node:fs(?:\/promises)?'/,
    within: (path) => outsideHost(path) && layerOf(path) !== 'commands',
    allowed: {
      'src/protocol/websocket/unix-socket.ts': 'part of the real network: makes and finds the files of Unix sockets',
      'src/store/sqlite/file.ts': 'looks at the file system under the database, which SQLite itself opens by path',
    },
  },
  { what: 'the type any', pattern: /(?::|\bas|<|,|\|)\s*any\b(?!\w)/, within: () => true, allowed: {} },
];

function bannedIn(ban: Ban): string[] {
  return everything.flatMap(({ path, code, text }) => {
    if (!ban.within(path) || path in ban.allowed) return [];
    const lines = ban.pattern.source.includes("'") ? text.split('\n') : code.split('\n');
    return lines.flatMap((line, at) => (ban.pattern.test(line) ? [`${path}:${at + 1}: ${line.trim()}`] : []));
  });
}

describe('the shape of the source', () => {
  test('imports point down', () => {
    expect(files.flatMap(layerFaults)).toEqual([]);
  });

  test('every folder of src is a layer with rules', () => {
    const layers = new Set(files.map(({ path }) => layerOf(path)).filter((layer) => layer !== undefined));
    expect([...layers].filter((layer) => !(layer in MAY_IMPORT))).toEqual([]);
  });

  test('no cycles', () => {
    expect(cyclesOf(files)).toEqual([]);
  });

  test.each(BANS)('nothing uses $what', (ban) => {
    expect(bannedIn(ban)).toEqual([]);
  });

  test.each(BANS)('every exception for $what is needed', (ban) => {
    const needless = Object.keys(ban.allowed).filter((path) => {
      const file = everything.find((candidate) => candidate.path === path);
      return file === undefined || !ban.pattern.test(ban.pattern.source.includes("'") ? file.text : file.code);
    });
    expect(needless).toEqual([]);
  });

  test('files stay small: at most 400 lines', () => {
    expect(everything.filter(({ lines }) => lines > 400).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });
});

describe('the checks themselves', () => {
  const file = (path: string, text: string): SourceFile => ({
    path,
    text,
    lines: 1,
    code: blank(text),
    imports: importsOf(path, text),
  });

  test('an import that points up is found, also of a type', () => {
    const text =
      "import { a } from '../roles/a.ts';\nimport type { B } from '../host/b.ts';\nimport { c } from '../base/c.ts';\n";
    expect(layerFaults(file('src/core/x.ts', text))).toEqual([
      'src/core/x.ts imports src/roles/a.ts: core may not run roles',
      'src/core/x.ts imports src/host/b.ts: core may not run host',
    ]);
  });

  test('a type may come from a neighbour, a value may not', () => {
    const text = "import type { A } from '../tensor/a.ts';\nimport { b } from '../tensor/b.ts';\n";
    expect(layerFaults(file('src/core/x.ts', text))).toEqual([
      'src/core/x.ts imports src/tensor/b.ts: core may not run tensor',
    ]);
  });

  test('a cycle is found through several files; types and import() close none', () => {
    const a = file('src/core/a.ts', "import {\n  b,\n} from './b.ts';\n");
    const b = file('src/core/b.ts', "export * from './c.ts';\n");
    const closing = (line: string): string[] => cyclesOf([a, b, file('src/core/c.ts', line)]);
    expect(closing("import { a } from './a.ts';\n")).toEqual([
      'src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts',
    ]);
    expect(closing("import type { A } from './a.ts';\n")).toEqual([]);
    expect(closing("const a = () => import('./a.ts');\n")).toEqual([]);
  });

  test('comments and strings are not code', () => {
    expect(blank("a(); // Math.exp\n/* Math.log\n */ b('Math.pow');").trimEnd()).not.toMatch(/Math/);
    expect(blank('x = Math.exp(1);')).toContain('Math.exp');
  });
});

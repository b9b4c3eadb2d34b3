/** What no file may use, with each exception and its reason. */
import { describe, expect, test } from 'vitest';
import { blank, sourceFiles } from '../source-files.ts';

const everything = sourceFiles('bin', 'src', 'test', 'scripts');

const layerOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  readonly within: (path: string) => boolean;
  /** Files that may, each with its reason. */
  readonly allowed: Readonly<Record<string, string>>;
}

const inSource = (path: string): boolean => path.startsWith('src/') && path !== 'src/base/limits.ts';
const outsideHost = (path: string): boolean => path.startsWith('src/') && layerOf(path) !== 'host';

/** Tests of faults that last for a time, and of what came before and after. */
const OUTAGES = Object.fromEntries(
  ['copies-stop', 'parting', 'replicas-history', 'stopped-pserver', 'store-away'].map((name) => [
    `test/executable/${name}.nightly.test.ts`,
    'a fault lasts for a time',
  ]),
);

const BANS: readonly Ban[] = [
  {
    // Powers of two are exact everywhere.
    what: 'functions whose bits differ between engines (docs/design.md §3)',
    pattern: /\bMath\.(?:exp|expm1|log|log1p|log2|log10|pow|sin|cos|tan|sinh|cosh|tanh|cbrt|hypot)\b|(?<!\b2 )\*\*/,
    within: (path) => ['tensor', 'model', 'core'].includes(layerOf(path) ?? ''),
    allowed: {},
  },
  {
    what: 'clocks, timers and randomness outside src/host (src/base/seams.ts)',
    pattern:
      /\bDate\.now\b|\bnew Date\b|\bperformance\.now\b|\bset(?:Timeout|Interval|Immediate)\b|\bMath\.random\b|\brandom(?:UUID|Bytes|FillSync|Int)\b/,
    within: outsideHost,
    allowed: {
      'src/data/formats/parquet/canonical.ts': 'the text of a day that a file has',
      'src/page/browser/connection.ts': 'runs in a browser',
      'src/page/browser/format.ts': 'the time of a line of a log, as a browser shows it',
      'src/page/browser/header.tsx': 'runs in a browser',
      'src/commands/base/waiting.ts': 'a progress bar on a terminal follows the real clock',
      'src/protocol/join/proof.ts': 'nonces are secrets: only the real generator makes them',
      'src/protocol/websocket/handshake.ts': 'masks of frames; the simulation has no sockets',
      'src/protocol/websocket/socket-link.ts': 'masks of frames; the simulation has no sockets',
      'src/protocol/websocket/wire-options.ts': 'part of the real network; the simulation brings its own',
      'src/store/sqlite/file.ts': 'names the database once, when it is made; a real file in any case',
      'src/tensor/random-multiplier.ts': 'where hash tables of ids put their entries: no answer depends on it',
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
      'src/store/sqlite/file.ts':
        'makes the database file and looks at the file system under it; SQLite itself opens it by path',
      'src/store/sqlite/failures.ts': 'asks the file system under the database why SQLite failed',
    },
  },
  {
    what: 'fast-check without the seed of the run (test/properties.ts)',
    pattern: /\bfrom 'fast-check'/,
    within: (path) => path.startsWith('test/'),
    allowed: { 'test/properties.ts': 'gives it the seed' },
  },
  {
    // A schema's maximum is a bound on input from outside.
    what: 'bounds in schemas outside LIMITS (src/base/limits.ts)',
    pattern: /(?<!Math)\.(?:max|lte|length)\(\s*[\d(]/,
    within: inSource,
    allowed: {},
  },
  {
    what: 'bounds as constants outside LIMITS (src/base/limits.ts)',
    pattern: /\bconst MAX_\w+ = [\d(]/,
    within: inSource,
    allowed: {},
  },
  {
    what: 'real time in tests: use a clock that the test moves, or wait for the event',
    pattern: /\bsetTimeout\(|\bperformance\.now\b|\bDate\.now\b|\bAbortSignal\.timeout\b/,
    within: (path) => path.startsWith('test/'),
    allowed: {
      ...OUTAGES,
      'test/etcd-server.ts': 'asks a server that starts whether it is ready, which tells of itself by no event',
      'test/executable/recorded-pushes.ts': 'what was acknowledged before a fault began, and what came after it',
      'test/host/clock.test.ts': 'the real clock itself, on timers that are faked',
      'test/mutations/proof-of-death.ts': 'takes a rule out of the source',
      'test/protocol/crashing-role.ts': 'the clock of a process of its own; nothing is compared with it',
      'test/protocol/rig.ts': 'the clock for pauses between real connections; nothing is compared with it',
      'test/protocol/websocket/unix-socket.test.ts': 'makes a file that is an hour old',
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

describe('what no file may use', () => {
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

  test('files stay small: at most 600 lines', () => {
    expect(everything.filter(({ lines }) => lines > 600).map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
  });
});

describe('the checks themselves', () => {
  test('a bound outside LIMITS is found, a computed one is not', () => {
    const [inSchemas, constants] = BANS.filter(({ what }) => what.startsWith('bounds'));
    expect('z.string().max(256)').toMatch(inSchemas!.pattern);
    expect('z.array(x).max(1_000)').toMatch(inSchemas!.pattern);
    expect('z.array(x).length(4)').toMatch(inSchemas!.pattern);
    expect('z.string().max(LIMITS.nameBytes)').not.toMatch(inSchemas!.pattern);
    expect('Math.max(1, x)').not.toMatch(inSchemas!.pattern);
    expect('const MAX_ROWS = 8192;').toMatch(constants!.pattern);
    expect('export const MAX_BYTES = 2 ** 26;').toMatch(constants!.pattern);
    expect('const MAX_BYTES = LIMITS.frameBytes;').not.toMatch(constants!.pattern);
  });

  test('comments and strings are not code', () => {
    expect(blank("a(); // Math.exp\n/* Math.log\n */ b('Math.pow');").trimEnd()).not.toMatch(/Math/);
    expect(blank('x = Math.exp(1);')).toContain('Math.exp');
  });
});

/** The shape of the source (docs/design.md §12, ARCHITECTURE.md): layers, rooms within them, no circles. */
import { describe, expect, test } from 'vitest';
import { blank, circlesOf, importsOf, type SourceFile, sourceFiles } from '../source-files.ts';

const MIDDLE = ['core', 'store', 'protocol', 'tensor', 'checkpoint', 'data', 'model', 'job', 'page'];

/**
 * What the code of a layer may run of other layers. Types may come from any layer but cluster, view, roles, commands
 * and host.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  core: ['base'],
  store: ['base', 'core'],
  protocol: ['base'],
  // What runs in a browser, and is sent there as a text.
  page: [],
  tensor: ['base'],
  // Synthetic data has a planted model.
  data: ['base', 'tensor', 'model'],
  model: ['base', 'tensor'],
  // The rules of a job ask the formats and models what they take and declare.
  job: ['base', 'tensor', 'model', 'data'],
  checkpoint: ['base', 'core', 'store', 'tensor'],
  cluster: ['base', ...MIDDLE],
  // A job as it is seen: by roles that watch others, and by commands.
  view: ['base', ...MIDDLE, 'cluster', 'host'],
  roles: ['base', ...MIDDLE, 'cluster', 'view'],
  host: ['base'],
  commands: ['base', ...MIDDLE, 'cluster', 'view', 'roles', 'host'],
};

/**
 * What a room (a folder of a layer) may import of its neighbor rooms, types included. The loose files of a folder are
 * its entry points and what its rooms share; for them only the rule against circles holds.
 */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  core: { tasks: [], rounds: [], shard: [], units: [], replicas: ['units'] },
  store: { etcd: [], sqlite: [] },
  protocol: {
    messages: [],
    frames: ['messages'],
    join: ['frames', 'messages'],
    websocket: ['frames', 'join', 'messages'],
  },
  checkpoint: {
    file: [],
    registry: ['file'],
    set: ['file', 'registry'],
    load: ['file', 'registry', 'set'],
    restore: ['file', 'registry', 'set'],
    export: ['file', 'set'],
  },
  'checkpoint/file': { safetensors: [] },
  tensor: { admission: [], kernels: ['generated'], generated: [] },
  page: { browser: [], generated: [] },
  model: { layers: [] },
  data: {
    bytes: [],
    formats: ['bytes', 'kernels', 'parsed', 'columns'],
    columns: ['kernels', 'parsed'],
    kernels: ['generated'],
    generated: [],
    parsed: ['kernels'],
    readers: ['parsed', 'formats'],
    synth: [],
    inspection: ['bytes', 'formats', 'columns'],
  },
  'commands/data': { recordio: [] },
  'data/bytes': { packings: [] },
  'data/bytes/packings': { gzip: [], recordio: [], zstd: [] },
  'data/formats': {
    columns: [],
    csv: ['text'],
    idx: [],
    interactions: ['csv', 'text'],
    jsonl: ['text'],
    libsvm: ['text'],
    parquet: ['columns', 'text'],
    text: [],
  },
  cluster: { placement: [], job: ['placement'], client: ['placement', 'job'] },
  view: { why: [] },
  roles: { master: [], pserver: [], trainer: [], launcher: [], evaluator: ['master', 'trainer'] },
  'roles/master': { best: [], tasks: [], rounds: ['tasks'] },
  'roles/pserver': {
    claim: [],
    update: [],
    held: ['update'],
    requests: ['held', 'update'],
    files: ['claim', 'held', 'requests'],
    take: ['claim', 'held', 'files'],
    placement: ['held'],
    transfer: ['held', 'update', 'placement'],
    replicas: ['held', 'update', 'requests', 'placement', 'transfer'],
    modes: ['held', 'update', 'requests', 'files', 'take', 'transfer', 'replicas'],
  },
  'roles/pserver/modes': { tasks: [], rounds: ['tasks'] },
  'roles/trainer': { model: [], compute: [], tasks: ['model', 'compute'], rounds: ['model', 'compute', 'tasks'] },
  commands: {
    base: [],
    checkpoint: ['base'],
    completion: ['base', 'docs'],
    data: ['base'],
    docs: ['base', 'help'],
    doctor: ['base'],
    evaluate: ['base'],
    help: ['base'],
    history: ['base'],
    init: ['base', 'data'],
    logs: ['base'],
    page: ['base', 'status', 'logs'],
    predict: ['base', 'evaluate'],
    resize: ['base', 'checkpoint'],
    restore: ['base', 'checkpoint'],
    jobs: ['base', 'checkpoint', 'run'],
    run: ['base'],
    status: ['base'],
    stop: ['base'],
    token: ['base'],
    trainer: ['base'],
    top: ['base'],
    ui: ['base', 'page'],
    why: ['base'],
  },
};

const files = sourceFiles('bin', 'src');

const layerOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

function layerFaults(file: SourceFile): string[] {
  const from = layerOf(file.path);
  if (from === undefined) return [];
  return file.imports.flatMap(({ target, typeOnly }) => {
    const to = layerOf(target);
    if (to === undefined || to === from) return [];
    const allowed = LAYERS[from] ?? [];
    const typeAllowed = typeOnly && ['base', ...MIDDLE].includes(to);
    return allowed.includes(to) || typeAllowed ? [] : [`${file.path} imports ${target}: ${from} may not run ${to}`];
  });
}

/** The folders above a file of src, from the top: `src/a/b/c.ts` has `a` and `a/b`. */
function foldersOf(path: string): string[] {
  const names = path.split('/').slice(1, -1);
  return names.map((_, at) => names.slice(0, at + 1).join('/'));
}

/** The rooms in which two files of one layer part: the folder that both are in, and the room of each in it. */
function parting(from: string, to: string): { folder: string; rooms: readonly [string, string] } | undefined {
  const [a, b] = [from.split('/').slice(1), to.split('/').slice(1)];
  const at = a.findIndex((name, index) => name !== b[index]);
  const isInRooms = at > 0 && at < a.length - 1 && at < b.length - 1;
  return isInRooms ? { folder: a.slice(0, at).join('/'), rooms: [a[at]!, b[at]!] } : undefined;
}

function roomFaults(file: SourceFile): string[] {
  if (!file.path.startsWith('src/')) return [];
  return file.imports.flatMap(({ target }) => {
    const met = target.startsWith('src/') ? parting(file.path, target) : undefined;
    if (met === undefined) return [];
    const [from, to] = met.rooms;
    const allowed = ROOMS[met.folder]?.[from] ?? [];
    return allowed.includes(to) ? [] : [`${file.path} imports ${target}: in ${met.folder}, ${from} may not use ${to}`];
  });
}

describe('the shape of the source', () => {
  test('imports point down', () => {
    expect(files.flatMap(layerFaults)).toEqual([]);
  });

  test('rooms use only the rooms below them', () => {
    expect(files.flatMap(roomFaults)).toEqual([]);
  });

  test('every folder of src has its rules, and every rule its folder', () => {
    const found = new Set(files.flatMap(({ path }) => foldersOf(path)));
    const known = Object.entries(ROOMS).flatMap(([folder, rooms]) =>
      Object.keys(rooms).map((room) => `${folder}/${room}`),
    );
    // Generated when the kernels and the page are built, and left out of the list of source files.
    const ruled = [...Object.keys(LAYERS), ...known].filter((folder) => !folder.endsWith('/generated'));
    expect([...found].sort()).toEqual(ruled.sort());
  });

  test('no circles, not even of types or of import()', () => {
    expect(circlesOf(files)).toEqual([]);
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

  test('an import that points up is found, even of a type', () => {
    const text =
      "import { a } from '../roles/a.ts';\nimport type { B } from '../host/b.ts';\nimport { c } from '../base/c.ts';\n";
    expect(layerFaults(file('src/core/x.ts', text))).toEqual([
      'src/core/x.ts imports src/roles/a.ts: core may not run roles',
      'src/core/x.ts imports src/host/b.ts: core may not run host',
    ]);
  });

  test('a type may come from a neighbor, a value may not', () => {
    const text = "import type { A } from '../tensor/a.ts';\nimport { b } from '../tensor/b.ts';\n";
    expect(layerFaults(file('src/core/x.ts', text))).toEqual([
      'src/core/x.ts imports src/tensor/b.ts: core may not run tensor',
    ]);
  });

  test('an import against the order of rooms is found, even of a type and from further down', () => {
    const text = "import type { A } from '../websocket/a.ts';\nimport { b } from '../messages/b.ts';\n";
    expect(roomFaults(file('src/protocol/frames/x.ts', text))).toEqual([
      'src/protocol/frames/x.ts imports src/protocol/websocket/a.ts: in protocol, frames may not use websocket',
    ]);
    const deep = "import { a } from '../../trainer/tasks/a.ts';\n";
    expect(roomFaults(file('src/roles/master/tasks/x.ts', deep))).toEqual([
      'src/roles/master/tasks/x.ts imports src/roles/trainer/tasks/a.ts: in roles, master may not use trainer',
    ]);
  });

  test('a circle is found through several files, types and import()', () => {
    const a = file('src/core/a.ts', "import {\n  b,\n} from './b.ts';\n");
    const b = file('src/core/b.ts', "export * from './c.ts';\n");
    const closing = (line: string): string[] => circlesOf([a, b, file('src/core/c.ts', line)]);
    const circle = ['src/core/a.ts → src/core/b.ts → src/core/c.ts → src/core/a.ts'];
    expect(closing("import { a } from './a.ts';\n")).toEqual(circle);
    expect(closing("import type { A } from './a.ts';\n")).toEqual(circle);
    expect(closing("const a = () => import('./a.ts');\n")).toEqual(circle);
  });
});

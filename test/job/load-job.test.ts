import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ErrorCode, PaddletError } from '../../src/base/errors.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { createDisk } from '../../src/host/disk.ts';
import { loadJob, parseJobFile } from '../../src/job/load-job.ts';
import { parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';

const SMALL = `name: a9a-lr
data: { train: a9a.gz, format: libsvm }
model: { type: lr }
`;

const FM = SMALL.replace('lr }', 'fm }');
const IMAGES = SMALL.replace('lr }', 'softmax }').replace('libsvm', 'idx');

function errorOf(run: () => unknown): PaddletError {
  try {
    run();
  } catch (error) {
    if (error instanceof PaddletError) return error;
    throw error;
  }
  throw new Error('expected an error');
}

/** The message of the error that the text gives. */
const complaint = (text: string, ...sets: string[]): string => {
  const error = errorOf(() => parseJobFile('job.yaml', text, sets));
  expect(error.code).toBe('JobInvalid');
  expect(error.exitCode).toBe(2);
  return error.message;
};

describe('a valid job', () => {
  test('defaults are applied, paths become lists, durations milliseconds', () => {
    expect(parseJobFile('job.yaml', SMALL)).toEqual({
      name: 'a9a-lr',
      data: {
        format: 'libsvm',
        train: ['a9a.gz'],
        trainLabels: [],
        test: [],
        testLabels: [],
        recordsPerTask: 'auto',
        ...{ shuffle: 'tasks', labelWeights: false, topK: 10, corruptChunks: 'fail', maxBadRecords: 0, cache: 'on' },
        cacheBytes: 2 ** 34,
      },
      model: { type: 'lr', task: 'binary' },
      optimizer: { type: 'adagrad', learningRate: 0.1, initialAccumulator: 0.1, epsilon: 1e-7, l2: 0 },
      tables: {},
      blocks: {},
      training: {
        ...{ mode: 'async', passes: 1, batchSize: 128, pushEvery: 1, pullEvery: 1, pullAhead: 2, lanes: 8, seed: 1 },
        onBadGradient: 'fail',
      },
      cluster: {
        ...{
          pservers: 1,
          minPservers: 1,
          replicas: 1,
          minInSync: 1,
          trainers: 1,
          minTrainers: 1,
          maxTrainers: 4096,
          shards: 512,
        },
        leaseTtlMs: 5000,
      },
      tasks: { maxFailures: 3, maxDiscarded: 0, timeoutMs: 'auto', timeoutFloorMs: 30_000 },
      checkpoint: { keep: 1, intervalMs: 600_000 },
      hooks: { before: [], after: [] },
    });
  });

  test.each([
    ['sgd', { learningRate: 0.1, l2: 0 }],
    ['momentum', { learningRate: 0.01, momentum: 0.9, l2: 0 }],
    ['adam', { learningRate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, l2: 0 }],
    ['adamw', { learningRate: 0.001, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 }],
    ['ftrl', { alpha: 0.1, beta: 1, lambda1: 0, lambda2: 0 }],
  ])('optimizer %s has its defaults, of the job and of a table', (type, fields) => {
    const job = parseJobFile('job.yaml', SMALL, [`optimizer.type=${type}`, `tables.w.optimizer.type=${type}`]);
    expect(job.optimizer).toEqual({ type, ...fields });
    expect(job.tables).toEqual({ w: { optimizer: { type, ...fields } } });
    expect(parseJob(JSON.parse(JSON.stringify(asPublished(job))))).toEqual(asPublished(job));
  });

  test('idx with labels and softmax', () => {
    const text = `name: mnist
data: { format: idx, train: [a, b], trainLabels: [c, d], test: e, testLabels: f }
model: { type: softmax }
`;
    expect(parseJobFile('job.yaml', text).data).toMatchObject({
      train: ['a', 'b'],
      trainLabels: ['c', 'd'],
      test: ['e'],
      testLabels: ['f'],
    });
  });

  test('idx finds its labels by name', () => {
    const text = SMALL.replace('libsvm', 'idx').replace('{ type: lr }', '{ type: softmax }');
    expect(parseJobFile('job.yaml', text).data.trainLabels).toEqual([]);
  });

  test('the resolved form is read back from the store as it was', () => {
    const job = parseJobFile('job.yaml', SMALL, ['tasks.timeout=90s', 'checkpoint.dir=/shared']);
    expect(parseJob(JSON.parse(JSON.stringify(asPublished(job))))).toEqual(asPublished(job));
    const error = errorOf(() => parseJob({ ...job, name: 7 }));
    expect([error.code, error.message]).toEqual(['StoreValueInvalid', expect.stringContaining('name')]);
  });
});

describe('overrides', () => {
  test('win over the file, make sections, read YAML values', () => {
    const job = parseJobFile('job.yaml', SMALL, [
      'training.passes=2',
      'training.passes=7',
      'data.train=[x, y=z]',
      'tasks.timeout=1.5m',
    ]);
    expect(job.training.passes).toBe(7);
    expect(job.data.train).toEqual(['x', 'y=z']);
    expect(job.tasks.timeoutMs).toBe(90_000);
  });

  test.each(['training.passes', '=3', 'training..passes=3', '.a=1', 'a.=1', 'name=[a', 'name=*a'])(
    '%s is a usage error',
    (set) => {
      const error = errorOf(() => parseJobFile('job.yaml', SMALL, [set]));
      expect([error.code, error.exitCode]).toEqual(['Usage' satisfies ErrorCode, 2]);
      expect(error.message).toContain(set);
    },
  );

  test('an error in one names the flag, not the file', () => {
    expect(complaint(SMALL, 'training.passes=0')).toBe(
      '--set training.passes=0: training.passes: expected at least 1, got 0',
    );
    expect(complaint(SMALL, 'traning.passes=3')).toBe(
      '--set traning.passes=3: traning: unknown field; did you mean training?',
    );
  });

  test('names of the language are plain unknown fields', () => {
    expect(complaint(SMALL, '__proto__.passes=3')).toContain('__proto__: unknown field');
    expect(complaint(SMALL, 'constructor.prototype.x=3')).toContain('constructor: unknown field');
    expect(complaint(`${SMALL}__proto__: { polluted: 1 }\n`)).toContain('__proto__: unknown field');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});

describe('errors name place, field and what was meant', () => {
  test.each([
    [
      'a misspelt field',
      `${SMALL}optimizer:\n  type: sgd\n  learningRat: 0.5\n`,
      'job.yaml:6:3: optimizer.learningRat: unknown field; did you mean learningRate?',
    ],
    [
      'a misspelt section',
      `${SMALL}trainning: { passes: 3 }\n`,
      'job.yaml:4:1: trainning: unknown field; did you mean training?',
    ],
    [
      'a field that is a number or a word',
      SMALL.replace('format: libsvm', 'format: libsvm, recordsPerTask: 1.5'),
      'job.yaml:2:56: data.recordsPerTask: expected one of auto, a whole number, got 1.5',
    ],
    [
      'a field of another section',
      `${SMALL}training: { recordsPerTask: 3 }\n`,
      'job.yaml:4:13: training.recordsPerTask: unknown field here; did you mean data.recordsPerTask?',
    ],
    [
      'a field of another optimizer',
      `${SMALL}optimizer: { type: adagrad, momentum: 0.5 }\n`,
      'job.yaml:4:29: optimizer.momentum: is not a field of optimizer type "adagrad"',
    ],
    [
      'a field that nothing implements',
      `${SMALL}training: { zzz: 8 }\n`,
      'job.yaml:4:13: training.zzz: unknown field; expected one of mode, passes, batchSize, pushEvery, pullEvery, pullAhead, lanes, seed, onBadGradient, maxGradientNorm, classWeights, staleness, schedule',
    ],
    [
      'a misspelt value',
      `${SMALL}optimizer: { type: adagrd }\n`,
      'job.yaml:4:20: optimizer.type: expected one of sgd, momentum, adagrad, adam, adamw, ftrl, got "adagrd"; did you mean adagrad?',
    ],
    [
      'a missing value',
      `${SMALL}optimizer: { learningRate: 1 }\n`,
      'job.yaml:4:1: optimizer.type: is required: expected one of sgd, momentum, adagrad, adam, adamw, ftrl',
    ],
    [
      'a wrong type',
      `${SMALL}training: { batchSize: five }\n`,
      'job.yaml:4:24: training.batchSize: expected a number, got "five"',
    ],
    [
      'a fraction',
      `${SMALL}training: { batchSize: 1.5 }\n`,
      'job.yaml:4:24: training.batchSize: expected a whole number, got 1.5',
    ],
    [
      'a number out of bounds',
      `${SMALL}cluster: { shards: 65537 }\n`,
      `job.yaml:4:20: cluster.shards: expected at most ${LIMITS.shards}, got 65537`,
    ],
    [
      'not a number',
      `${SMALL}optimizer: { type: sgd, learningRate: .nan }\n`,
      'job.yaml:4:39: optimizer.learningRate: expected a number, got NaN',
    ],
    [
      'a duration without a unit',
      `${SMALL}cluster: { leaseTtl: 5 }\n`,
      'job.yaml:4:22: cluster.leaseTtl: expected a duration with its unit, such as 500ms, 5s, 10m or 1h, got 5',
    ],
    [
      'a duration that is none',
      `${SMALL}tasks: { timeout: soon }\n`,
      'job.yaml:4:19: tasks.timeout: expected a duration with its unit, such as 500ms, 5s, 10m or 1h, got "soon"',
    ],
    [
      'a duration out of bounds',
      `${SMALL}cluster: { leaseTtl: 10ms }\n`,
      'job.yaml:4:22: cluster.leaseTtl: expected a duration from 1000ms to 3600000ms, got "10ms"',
    ],
    [
      'a mode that is none',
      `${SMALL}training: { mode: semi }\n`,
      'job.yaml:4:19: training.mode: expected one of async, sync, got "semi"',
    ],
    [
      'rounds of several mini-batches',
      `${SMALL}training: { mode: sync, pushEvery: 2 }\n`,
      'job.yaml:4:36: training.pushEvery: sync mode pulls and pushes every mini-batch: expected 1',
    ],
    [
      'staleness where nothing is stale',
      `${SMALL}training: { mode: sync, staleness: { bound: 3 } }\n`,
      'job.yaml:4:36: training.staleness: only for async mode: in sync mode gradients are never stale',
    ],
    [
      'tasks that sync training would leave out',
      `${SMALL}training: { mode: sync }\ntasks: { maxDiscarded: 1 }\n`,
      'job.yaml:5:24: tasks.maxDiscarded: expected 0: sync mode does not discard tasks',
    ],
    ['a section that is no section', `${SMALL}training: 5\n`, 'job.yaml:4:11: training: expected fields, got 5'],
    ['a path that is none', SMALL.replace('a9a.gz', '[a, 3]'), 'job.yaml:2:20: data.train.1: expected text, got 3'],
    [
      'an unsafe name',
      SMALL.replace('a9a-lr', '../up'),
      'job.yaml:1:7: name: expected 1 to 63 letters, digits, ".", "_" or "-", starting with a letter or digit, got "../up"',
    ],
    [
      'fewer shards than pservers',
      `${SMALL}cluster: { pservers: 3, shards: 2 }\n`,
      'job.yaml:4:22: cluster.pservers: expected at least as many shards as pservers (3), got 2',
    ],
    [
      'softmax on sparse records',
      SMALL.replace('lr }', 'softmax }'),
      'job.yaml:3:16: model.type: softmax needs dense inputs: expected data.format idx, csv, tsv, interactions, jsonl, parquet or columns, not libsvm',
    ],
    [
      'labels in the wrong format',
      SMALL.replace('a9a.gz', 'a9a.gz, trainLabels: b'),
      'job.yaml:2:37: data.trainLabels: only for format idx: libsvm records contain their labels',
    ],
    [
      'a table that the model lacks',
      `${SMALL}tables:\n  v: { optimizer: { type: sgd } }\n`,
      'job.yaml:5:3: tables.v: the model lr has w',
    ],
    [
      'a dense parameter among the tables',
      `${SMALL}tables: { bias: { optimizer: { type: sgd } } }\n`,
      'job.yaml:4:11: tables.bias: the model lr has w; did you mean blocks.bias?',
    ],
    [
      'a dense parameter that the model lacks',
      `${FM}blocks: { b: { optimizer: { type: sgd } } }\n`,
      'job.yaml:4:11: blocks.b: the model fm has bias',
    ],
    [
      'a table of a model without any',
      `${IMAGES}tables: { W: { optimizer: { type: sgd } } }\n`,
      'job.yaml:4:11: tables.W: the model softmax has no tables; did you mean blocks.W?',
    ],
    ['a table without a setting', `${FM}tables: { w: {} }\n`, 'job.yaml:4:14: tables.w: expected at least one setting'],
    [
      'two rules of eviction',
      `${FM}tables: { w: { eviction: { unseenPasses: 1, unseenUpdates: 100 } } }\n`,
      'job.yaml:4:26: tables.w.eviction: expected either unseenPasses or unseenUpdates',
    ],
    [
      'no rule of eviction',
      `${FM}tables: { w: { eviction: {} } }\n`,
      'job.yaml:4:26: tables.w.eviction: expected either unseenPasses or unseenUpdates',
    ],
    [
      'a probability that admits all',
      `${FM}tables: { w: { admission: { type: probability, p: 1 } } }\n`,
      'job.yaml:4:51: tables.w.admission.p: expected less than 1, got 1',
    ],
    [
      'a size without a unit that is known',
      `${FM}tables: { w: { maxBytes: 512M } }\n`,
      'job.yaml:4:26: tables.w.maxBytes: expected a size with its unit, such as 800kB, 512MB or 2GiB, or a number of bytes, got "512M"',
    ],
    [
      'a misspelt field of a table',
      `${FM}tables: { w: { optimiser: { type: sgd } } }\n`,
      'job.yaml:4:16: tables.w.optimiser: unknown field; did you mean optimizer?',
    ],
    [
      'a misspelt field of the optimizer of a table',
      `${FM}tables: { w: { optimizer: { type: ftrl, alfa: 1 } } }\n`,
      'job.yaml:4:41: tables.w.optimizer.alfa: unknown field; did you mean alpha?',
    ],
    [
      'a field of another optimizer in a table',
      `${FM}tables: { w: { optimizer: { type: ftrl, momentum: 1 } } }\n`,
      'job.yaml:4:41: tables.w.optimizer.momentum: is not a field of tables.w.optimizer type "ftrl"',
    ],
  ])('%s', (_what, text, message) => {
    expect(complaint(text)).toBe(message);
  });

  test('a rate that is scaled, and a table with FTRL', () => {
    const text = `${FM}training: { staleness: { bound: 3, policy: scale } }\n`;
    const message = 'training.staleness.policy: ftrl has no learning rate to scale: expected wait or refuse';
    expect(complaint(text, 'tables.w.optimizer.type=ftrl')).toContain(message);
    // All parameters have others: the default is not in use.
    const others = ['tables.w', 'tables.v', 'blocks.bias'].map((of) => `${of}.optimizer.type=sgd`);
    expect(parseJobFile('job.yaml', text, ['optimizer.type=ftrl', ...others]).optimizer.type).toBe('ftrl');
  });

  test('labels that do not match their files, and lr on idx', () => {
    const text = SMALL.replace('libsvm', 'idx, trainLabels: [b, c], testLabels: d');
    expect(complaint(text).split('\n')).toEqual([
      'job.yaml has 3 errors',
      '  job.yaml:2:50: data.trainLabels: expected as many as train (1), got 2; if you omit trainLabels, paddlet finds them by name',
      '  job.yaml:2:70: data.testLabels: expected as many as test (0), got 1; if you omit testLabels, paddlet finds them by name',
      '  job.yaml:3:16: model.type: lr needs sparse records: expected data.format libsvm, libfm, libffm, csv, tsv, interactions, jsonl, parquet or columns, not idx',
    ]);
  });

  test('all at once, in the order of the file', () => {
    const text = 'training: { passes: 0, batchSiz: 3 }\nmodel: { type: lr }\ndata: { format: libsvm }\n';
    expect(complaint(text).split('\n')).toEqual([
      'job.yaml has 4 errors',
      '  job.yaml:1:1: name: is required',
      '  job.yaml:1:21: training.passes: expected at least 1, got 0',
      '  job.yaml:1:24: training.batchSiz: unknown field; did you mean batchSize?',
      '  job.yaml:3:1: data.train: is required',
    ]);
  });

  test('for programs too', () => {
    const error = errorOf(() => parseJobFile('job.yaml', `${SMALL}passes: 3\n`));
    expect(error.details).toEqual({
      errors: [
        {
          source: 'job.yaml',
          line: 4,
          column: 1,
          field: 'passes',
          message: expect.stringContaining('training.passes'),
        },
      ],
    });
  });

  test.each([
    ['broken YAML', 'name: [a\n', /^job\.yaml:\d+:\d+: .+/],
    ['a field twice', 'name: a\nname: b\n', /^job\.yaml:2:1: .*unique/],
    ['an unknown tag', 'name: !thing a\n', /^job\.yaml:1:7: .*tag/],
    ['nothing', '', /^job\.yaml:1:1: expected fields/],
    ['a list', '- a\n', /^job\.yaml:1:1: expected fields/],
    ['aliases', 'name: &a [x, *a]\nmodel: *a\n', /^job\.yaml:1:14: aliases/],
  ])('%s', (_what, text, message) => {
    expect(complaint(text)).toMatch(message);
  });
});

describe('the file', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'paddlet-job-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const load = (path: string, dataDir?: string) => loadJob({ path, sets: [], dataDir, disk: createDisk() });

  test('data starts at its folder, or where the caller says', async () => {
    const path = join(folder, 'job.yaml');
    await writeFile(path, SMALL);
    expect(await load(path)).toMatchObject({ path, dataDir: folder, job: { name: 'a9a-lr' } });
    expect((await load(path, '/data')).dataDir).toBe('/data');
  });

  test.each([
    ['missing', async (path: string) => void path, /no such file/],
    ['too large', (path: string) => writeFile(path, ' '.repeat(LIMITS.jobFileBytes + 1)), /at most 1048576/],
    ['not text', (path: string) => writeFile(path, new Uint8Array([0x6e, 0xff, 0xfe])), /not UTF-8/],
  ])('%s', async (what, make, message) => {
    const path = join(folder, `${what}.yaml`);
    await make(path);
    await expect(load(path)).rejects.toMatchObject({ code: 'JobInvalid', message: expect.stringMatching(message) });
  });

  test('a folder', async () => {
    await expect(load(folder)).rejects.toMatchObject({
      code: 'JobInvalid',
      message: expect.stringContaining('folder'),
    });
  });
});

/**
 * The test vectors of docs/client.md, as this code computes them. `npx node test/vectors/make-vectors.ts` writes them
 * to test/golden/vectors; vectors.test.ts compares. They change only with the version of the protocol or of the store.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stampOf } from '../../src/core/placement.ts';
import { createRoundPlan } from '../../src/core/rounds/plan.ts';
import { shuffled, shuffledTask } from '../../src/core/shuffle.ts';
import { categoryId, crossId, missingId, numberedId, vocabularySeed } from '../../src/data/columns/hash.ts';
import { createDeepFm } from '../../src/model/deepfm.ts';
import { createFieldAwareMachine } from '../../src/model/ffm.ts';
import { createFactorizationMachine } from '../../src/model/fm.ts';
import type { ModelColumn } from '../../src/model/layers/columns.ts';
import { createNetworkModel } from '../../src/model/layers/network-model.ts';
import type { LayerSpec } from '../../src/model/layers/specs.ts';
import { createLinear } from '../../src/model/lr.ts';
import { createMlp } from '../../src/model/mlp.ts';
import type { Model, PulledValues } from '../../src/model/model.ts';
import { createSoftmax } from '../../src/model/softmax.ts';
import { encodeFrame } from '../../src/protocol/frames/frame.ts';
import { proofOf } from '../../src/protocol/join/proof.ts';
import { elementCount } from '../../src/tensor/blocks.ts';
import { shardOfBlock, shardOfRow } from '../../src/tensor/shard-hash.ts';
import { goldenFrames } from '../protocol/golden-frames.ts';

export const VECTORS = join(import.meta.dirname, '../golden/vectors');

const NAMES = ['w', 'v', 'bias', 'häuser'];
const IDS = [0n, 1n, 7n, 12_345n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n];
const TEXTS = ['', 'Oslo', 'Zürich', '日本', 'a text of more than thirty-two bytes, in two stripes of XXH64'];
const SHARDS = [1, 2, 7, 512, 65_536];

function shards() {
  const rows = NAMES.flatMap((table) =>
    IDS.flatMap((id) =>
      SHARDS.map((count) => ({ table, id: id.toString(), shards: count, shard: shardOfRow(table, id, count) })),
    ),
  );
  const blocks = [0, 1, 1000].map((block) => {
    return { parameter: 'W', block, shards: 512, shard: shardOfBlock('W', block, 512) };
  });
  return { rows, blocks };
}

function categories() {
  const seeds = ['city', 'häuser', ''].map((vocabulary) => {
    const seed = vocabularySeed(vocabulary);
    const ids = TEXTS.map((text) => {
      const bytes = Buffer.from(text);
      return { text, id: `${categoryId(bytes, seed)}`, ofThousand: `${categoryId(bytes, seed, 1000)}` };
    });
    const numbered = [0n, 9n].map((part) => ({ part: `${part}`, id: `${numberedId(part, seed)}` }));
    return { vocabulary, seed: `${seed}`, missing: `${missingId(seed)}`, ids, numbered };
  });
  const parts = [1n, 2n ** 64n - 1n];
  const seed = vocabularySeed('a-b');
  const cross = { of: parts.map(String), id: `${crossId(parts, seed)}`, ofThousand: `${crossId(parts, seed, 1000)}` };
  return { vocabularies: seeds, crosses: [{ vocabulary: 'a-b', ...cross }] };
}

function stamps() {
  const cases = [
    { units: 4, shards: 8, led: [{ unit: 0, led: 1 }] },
    { units: 4, shards: 8, led: [{ unit: 0, led: 2 }] },
    { units: 3, shards: 8, led: [0, 2].map((unit) => ({ unit, led: 1 })) },
    { units: 64, shards: 512, led: [63, 7, 21].map((unit) => ({ unit, led: 2 ** 40 + unit })) },
    { units: 1, shards: 1, led: [] },
  ];
  return cases.map((one) => ({ ...one, stamp: stampOf(one.led, one) }));
}

function shuffle() {
  const cases = [
    { tasks: 1, seed: 1, pass: 0 },
    { tasks: 10, seed: 1, pass: 0 },
    { tasks: 10, seed: 1, pass: 1 },
    { tasks: 33, seed: 0, pass: 4 },
    { tasks: 7, seed: 2 ** 40 + 12_345, pass: 2 },
  ];
  const records = [
    { records: 10, seed: 1, pass: 0, task: 0 },
    { records: 10, seed: 2 ** 32 - 1, pass: 3, task: 7 },
  ];
  return [
    ...cases.map((one) => ({ ...one, order: [...shuffled(one.tasks, one.seed, one.pass)] })),
    ...records.map((one) => ({ ...one, order: [...shuffledTask(one.records, one.seed, one.pass, one.task)] })),
  ];
}

function rounds() {
  const job = { taskRecords: [10, 4, 7, 1, 12], batchSize: 4, passes: 2, lanes: 3, seed: 5 };
  const plan = createRoundPlan({ ...job, taskRecords: Uint32Array.from(job.taskRecords) });
  const last = plan.firstOf(job.passes);
  const all = Array.from({ length: last }, (_, round) =>
    Array.from({ length: job.lanes }, (_, lane) => plan.batchOf(round, lane) ?? null),
  );
  return { ...job, rounds: all };
}

/** [from, to) of the records of each batch of each push. */
export function batchesOfPushes(records: number, batchSize: number, pushEvery: number): [number, number][][] {
  const batches = Math.max(1, Math.ceil(records / batchSize));
  return Array.from({ length: Math.ceil(batches / pushEvery) }, (_, push) =>
    Array.from({ length: Math.min(pushEvery, batches - push * pushEvery) }, (_, i): [number, number] => {
      const batch = push * pushEvery + i;
      return [Math.min(batch * batchSize, records), Math.min((batch + 1) * batchSize, records)];
    }),
  );
}

function pushes() {
  const cases = [
    { records: 10, batchSize: 4, pushEvery: 1 },
    { records: 10, batchSize: 4, pushEvery: 2 },
    { records: 8, batchSize: 4, pushEvery: 3 },
    { records: 0, batchSize: 4, pushEvery: 1 },
  ];
  return cases.map((one) => ({ ...one, pushes: batchesOfPushes(one.records, one.batchSize, one.pushEvery) }));
}

const SPARSE = {
  offsets: Uint32Array.of(0, 2, 3, 6),
  rows: Uint32Array.of(0, 1, 1, 2, 0, 2),
  values: Float32Array.of(1, 0.5, -2, 1, 1, 0.25),
  fields: Uint16Array.of(0, 1, 2, 0, 1, 1),
  ids: new Uint8Array(new BigUint64Array([5n, 9n, 2n ** 63n]).buffer),
  count: 3,
};
const LABELS = Float32Array.of(1, 0, 1);
const SPARSE_FACTS = {
  ids: ['5', '9', (2n ** 63n).toString()],
  offsets: [0, 2, 3, 6],
  columns: [0, 1, 1, 2, 0, 2],
  fields: [...SPARSE.fields],
};

function modelCase(model: Model, batch: Parameters<Model['step']>[0], values: PulledValues) {
  const { dense, sparse, metrics } = model.step(batch, values);
  const lists = (arrays: readonly Float32Array[]) => arrays.map((array) => [...array]);
  const { parameters } = model;
  return {
    model: model.type,
    task: model.task,
    parameters: {
      dense: parameters.dense.map(({ name, shape }) => ({ name, shape })),
      tables: parameters.sparse.map(({ name, width }) => ({ name, width })),
    },
    ...(batch.weights === undefined ? {} : { weights: [...batch.weights] }),
    values: { dense: lists(values.dense), tables: lists(values.sparse) },
    gradients: { dense: lists(dense), tables: lists(sparse) },
    metrics,
    scores: [...model.evaluate(batch, values).scores],
  };
}

function models() {
  const sparse = { records: 3, labels: LABELS, sparse: [SPARSE], dense: [] };
  const inputs = Float32Array.of(0, 1, 0.5, 2, -1, 0);
  const rows = { width: 3, values: inputs };
  const dense = { records: 2, labels: Float32Array.of(2, 0), sparse: [], dense: [rows] };
  const w = Float32Array.of(0.25, -0.5, 1);
  const v = Float32Array.of(0.5, -0.25, 0.125, 1, -0.5, 0.75);
  /** Of two factors for each of two fields: the third one is unknown. */
  const wide = Float32Array.of(0.5, -0.25, 0.125, 1, -0.5, 0.75, 0.25, -1, 1, 0.5, -0.125, 0.25);
  const ffm = { dense: [Float32Array.of(0.125)], sparse: [w, wide] };
  const lr = { dense: [Float32Array.of(0.125)], sparse: [w] };
  const weights = Float32Array.of(0.5, 0, -0.5, 0.25, 0.125, 0, -1, 0.5, 0.25);
  return {
    sparseBatch: { ...SPARSE_FACTS, values: [...SPARSE.values], labels: [...LABELS] },
    denseBatch: { width: 3, inputs: [...inputs], labels: [2, 0] },
    cases: [
      modelCase(createLinear({ task: 'binary' }), sparse, lr),
      modelCase(createLinear({ task: 'binary' }), { ...sparse, weights: Float32Array.of(0.5, 0, 3) }, lr),
      modelCase(createLinear({ task: 'regression' }), sparse, lr),
      modelCase(createFactorizationMachine({ factors: 2 }), sparse, { dense: lr.dense, sparse: [w, v] }),
      modelCase(createFieldAwareMachine({ fields: 2 }, { factors: 2 }), sparse, ffm),
      modelCase(createFieldAwareMachine({ fields: 2 }, { factors: 2, normalize: false }), sparse, ffm),
      modelCase(createSoftmax({ inputWidth: 3, classes: 3 }), dense, {
        dense: [weights, Float32Array.of(0, 0.5, -0.5)],
        sparse: [],
      }),
    ],
  };
}

const COLUMNS: readonly ModelColumn[] = [
  { name: 'city', kind: 'category', floats: 0 },
  { name: 'tag', kind: 'category', floats: 0 },
  { name: 'age', kind: 'number', floats: 1 },
];
/** Sums of them are rounded, so that the order of operations shows in the last bits. */
const irregular = (length: number, step: number): Float32Array =>
  Float32Array.from({ length }, (_, at) => (((at + 1) * step) % 17) / 7 - 1);

/** Of models of layers: one for each kind of batch, with each way in which layers are joined. */
function networks() {
  const looked = { ...SPARSE, fields: Uint16Array.of(0, 1, 0, 1, 0, 1), values: undefined };
  const ages = { width: 1, values: Float32Array.of(0.3, -1.1, 0.7) };
  const columns = { records: 3, labels: LABELS, sparse: [looked], dense: [ages] };
  const inputs = { width: 3, values: irregular(9, 5) };
  const dense = { records: 3, labels: Float32Array.of(2, 0, 1), sparse: [], dense: [inputs] };
  const binary = { ...dense, labels: LABELS };
  const towers = { deepfm: { factors: 2, hidden: [2] }, mlp: { hidden: [2] } };
  const deepfm = createDeepFm({ classes: 2, inputWidth: 0, columns: COLUMNS, seed: 1 }, towers.deepfm);
  const mlp = createMlp({ classes: 3, inputWidth: 3, columns: undefined, seed: 1 }, towers.mlp);
  const list: readonly LayerSpec[] = [
    { type: 'numbers', name: 'in' },
    { type: 'dense', units: 2 },
    { type: 'batchNorm' },
    { type: 'tanh', name: 'left' },
    { type: 'dense', units: 2, from: 'in' },
    { type: 'layerNorm' },
    { type: 'sigmoid', name: 'right' },
    { type: 'concat', from: ['left', 'right'] },
    { type: 'dense' },
  ];
  const layers = createNetworkModel(
    { type: 'layers', task: 'binary', layers: list },
    { classes: 2, inputWidth: 3, columns: undefined, seed: 1 },
  );
  const withValues = (settings: object, model: Model, batch: Parameters<Model['step']>[0]) => {
    const values = {
      dense: model.parameters.dense.map(({ shape }, at) => irregular(elementCount({ shape }), 3 + at)),
      sparse: model.parameters.sparse.map(({ width }, at) => irregular(3 * width, 4 + at)),
    };
    return { settings, ...modelCase(model, batch, values) };
  };
  return {
    columnsBatch: { ...SPARSE_FACTS, fields: [...looked.fields], ages: [...ages.values], labels: [...LABELS] },
    denseBatch: { width: 3, inputs: [...inputs.values], labels: [...dense.labels], binaryLabels: [...LABELS] },
    cases: [
      withValues({ ...towers.deepfm, wide: ['city', 'tag'], deep: ['city', 'tag', 'age'] }, deepfm, columns),
      withValues(towers.mlp, mlp, dense),
      withValues({ layers: list }, layers, binary),
    ],
  };
}

/** The frames of test/golden/frames as text. */
function frames() {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  return Object.entries(goldenFrames).map(([name, frame]) => {
    const { kind, requestId, header, segments } = frame;
    const bytes = Buffer.concat(encodeFrame(frame).buffers);
    return { name, kind, requestId, header, segments: segments.map(hex), frame: hex(bytes) };
  });
}

/** The three frames of joining, and the proofs in them. */
function joining() {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const counting = (from: number): Uint8Array => Uint8Array.from({ length: 32 }, (_, i) => from + i);
  const [token, clientNonce, serverNonce, host] = [counting(0), counting(64), counting(128), '10.0.0.5:8001'];
  const meeting = { clientNonce, serverNonce, host };
  const [clientProof, serverProof] = [proofOf(token, 'client', meeting), proofOf(token, 'server', meeting)];
  const frame = (header: object): string =>
    hex(Buffer.concat(encodeFrame({ kind: 'join', requestId: 0, header, segments: [] }).buffers));
  return {
    token: hex(token),
    host,
    clientNonce: hex(clientNonce),
    serverNonce: hex(serverNonce),
    clientProof: hex(clientProof),
    serverProof: hex(serverProof),
    challenge: frame({ type: 'challenge', nonce: serverNonce }),
    proof: frame({ type: 'proof', nonce: clientNonce, proof: clientProof }),
    welcome: frame({ type: 'welcome', proof: serverProof }),
  };
}

export const vectors: Readonly<Record<string, () => unknown>> = {
  shards,
  stamps,
  shuffle,
  rounds,
  pushes,
  models,
  networks,
  frames,
  joining,
  categories,
};

/** One value a line at the second level: readable, and small in a diff. */
export function textOf(value: unknown): string {
  const line = (one: unknown): string => JSON.stringify(one);
  if (Array.isArray(value)) return `[\n${value.map((one) => `  ${line(one)}`).join(',\n')}\n]\n`;
  const fields = Object.entries(value as object).map(([name, one]) => {
    if (!Array.isArray(one) || one.length < 4) return `  ${line(name)}: ${line(one)}`;
    return `  ${line(name)}: [\n${one.map((each) => `    ${line(each)}`).join(',\n')}\n  ]`;
  });
  return `{\n${fields.join(',\n')}\n}\n`;
}

if (process.argv[1] === import.meta.filename) {
  mkdirSync(VECTORS, { recursive: true });
  for (const [name, make] of Object.entries(vectors)) writeFileSync(join(VECTORS, `${name}.json`), textOf(make()));
}

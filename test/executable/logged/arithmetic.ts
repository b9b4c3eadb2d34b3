/** The reference of a shard with the arithmetic of a job's optimizers, and its state in the words of the log. */
import { decodeLedger } from '../../../src/core/shard/ledger-format.ts';
import { blockCount, blockLength, denseBlockFloats } from '../../../src/tensor/blocks.ts';
import { type OptimizerSpec, optimizerLayout } from '../../../src/tensor/optimizer.ts';
import { shardOfBlock } from '../../../src/tensor/shard-hash.ts';
import type { Initializer } from '../../../src/tensor/spec.ts';
import { isTracked, type JobRules, type TableRules, type Values } from '../../endless/rules.ts';
import { type Block, emptyState, type Row, type Shard, type ShardState } from '../../endless/shard.ts';
import { CLOSED, Ledger } from '../../endless/update.ts';
import { drawOf } from '../../tensor/admission/draw.ts';
import { freshState, initialValue, joined, type State, updateReference } from '../../tensor/reference.ts';
import type { LoggedJob, ShardContent } from './update-log.ts';

/** The gradient of a row or block, and the optimizer that it is for. */
export interface Gradient {
  readonly optimizer: OptimizerSpec;
  readonly floats: Float32Array;
}

export interface ReferenceJob extends LoggedJob {
  readonly seed: number;
  readonly rules: JobRules<Gradient>;
}

/** Rules of a table as the job file has them. */
export type FileRules = Omit<TableRules, 'rowBytes'>;

/** A block's key: its parameter and its number. */
const BLOCKS = 2 ** 20;
export const blockKey = (parameter: number, block: number): number => parameter * BLOCKS + block;

const SPREAD = 64;
const SEEN_LIMIT = 2 ** 32;

/** `rules`: by name of the table. */
export function referenceJob(job: LoggedJob, seed: number, rules: Readonly<Record<string, FileRules>>): ReferenceJob {
  const { spec, shards, tasks } = job;
  const hasDeltas = spec.sparse.every(({ hasSeen }) => hasSeen === true);
  const tables = spec.sparse.map(({ name, width, optimizer, hasSeen }): TableRules => {
    const { slots, steps } = optimizerLayout(optimizer);
    const own = rules[name]!;
    return { ...own, rowBytes: 8 + 4 * width * (1 + slots.length) + (steps ? 4 : 0) + (hasSeen ? 4 : 0) };
  });
  return {
    ...{ ...job, seed },
    rules: {
      ...{ shards, tasks, tables, hasDeltas, seenLimit: SEEN_LIMIT, spread: SPREAD },
      arithmetic: {
        initialRow: (table, id) => {
          const { name, width, initializer, optimizer } = spec.sparse[table]!;
          const first = { name, seed, shape: [1, width], id };
          return flat(freshState(optimizer, initialFloats(initializer, first, 0, width)));
        },
        initialBlock: (key) => {
          const [parameter, block] = [Math.floor(key / BLOCKS), key % BLOCKS];
          const { name, shape, initializer, optimizer } = spec.dense[parameter]!;
          const length = blockLength({ shape }, block);
          const first = { name, seed, shape, id: undefined };
          return flat(freshState(optimizer, initialFloats(initializer, first, block * denseBlockFloats, length)));
        },
        update: (values, { optimizer, floats }) => {
          const state = stateOf(values, floats.length);
          updateReference(optimizer, state, floats);
          return flat(state);
        },
      },
      draw: (table, id, name) => drawOf({ name: spec.sparse[table]!.name, seed }, id, name),
    },
  };
}

type First = Omit<Parameters<typeof initialValue>[1], 'element'>;

const initialFloats = (initializer: Initializer, first: First, from: number, length: number): Float32Array =>
  Float32Array.from({ length }, (_, at) => initialValue(initializer, { ...first, element: from + at }));

/** Values, slots and the number of updates as plain numbers. */
const flat = ({ values, slots, step }: State): Values => [...joined([values, ...slots]), step];

function stateOf(values: Values, width: number): State {
  const floats = Float32Array.from(values.slice(0, -1));
  const slots = Array.from({ length: floats.length / width - 1 }, (_, slot) =>
    floats.slice((slot + 1) * width, (slot + 2) * width),
  );
  return { values: floats.slice(0, width), slots, step: values.at(-1)! };
}

/** Keys of the blocks of a shard. */
function blocksOf({ spec, shards }: LoggedJob, shard: number): number[] {
  return spec.dense.flatMap((dense, parameter) =>
    Array.from({ length: blockCount(dense) }, (_, block) => block)
      .filter((block) => shardOfBlock(dense.name, block, shards) === shard)
      .map((block) => blockKey(parameter, block)),
  );
}

const hasSeenIn = ({ rules }: ReferenceJob, table: number): boolean => isTracked(rules, rules.tables[table]!);

/** Places of the tables that have candidates, in the order of their candidates. */
const counting = (job: ReferenceJob): number[] =>
  job.rules.tables.flatMap(({ admission }, table) => (admission.type === 'count' ? [table] : []));

/** The state of the reference that has this content. */
export function stateFrom(job: ReferenceJob, content: ShardContent): ShardState {
  const { seq, looks, tables, blocks } = content;
  const { base, moveAt, begins, lookAt } = looks ?? { base: 0, moveAt: undefined, begins: [], lookAt: [] };
  const state = emptyState(job.rules);
  const seenOf = (table: number, seen: number | undefined): number =>
    hasSeenIn(job, table) ? base + (seen ?? Number.NaN) : 0;
  job.spec.sparse.forEach(({ width, optimizer }, table) => {
    const { ids, values, slots, steps, seen } = tables[table]!;
    const parts = [values, ...optimizerLayout(optimizer).slots.map((slot) => slots[slot]!)];
    ids.forEach((id, i) => {
      const floats = parts.flatMap((part) => [...part.subarray(i * width, (i + 1) * width)]);
      const step = steps?.[i] ?? 0;
      const row: Row = { values: [...floats, step], steps: step, seen: seenOf(table, seen?.[i]) };
      state.tables[table]!.rows.set(id, row);
    });
    state.tables[table]!.lookAt = lookAt[table];
  });
  counting(job).forEach((table, at) => {
    const { ids, steps, seen } = tables[job.spec.sparse.length + at]!;
    ids.forEach((id, i) => {
      state.tables[table]!.candidates.set(id, { count: steps![i]!, seen: seenOf(table, seen?.[i]) });
    });
  });
  for (const { parameter, block, values, slots, step } of blocks) {
    const { optimizer } = job.spec.dense[parameter]!;
    const parts = [values, ...optimizerLayout(optimizer).slots.map((slot) => slots[slot]!)];
    const made: Block = { values: [...joined(parts), step ?? 0], seen: 0 };
    state.blocks.set(blockKey(parameter, block), made);
  }
  return {
    ...{ ...state, seq, base, moveAt, begins: new Map(begins) },
    ledger: ledgerFrom(content.ledger, job.tasks),
  };
}

function ledgerFrom(bytes: Uint8Array, tasks: number): Ledger {
  const { watermark, passes } = decodeLedger(bytes);
  const next = new Map<string, number>();
  for (let pass = 0; pass < watermark; pass++)
    for (let task = 0; task < tasks; task++) next.set(`${pass}/${task}`, CLOSED);
  for (const { pass, closed, open } of passes) {
    const bitmap = Buffer.from(closed, 'hex');
    for (let task = 0; task < tasks; task++) if (isSet(bitmap, task)) next.set(`${pass}/${task}`, CLOSED);
    for (const [task, push] of open) next.set(`${pass}/${task}`, push);
  }
  return new Ledger(tasks, next);
}

const isSet = (bitmap: Uint8Array, bit: number): boolean => ((bitmap[bit >> 3]! >> (bit & 7)) & 1) === 1;

/** The state of a shard as lines. Two states are equal if and only if they have the same lines. */
export function linesOf(job: ReferenceJob, { number, state }: Pick<Shard<Gradient>, 'number' | 'state'>): string[] {
  const { seq, base, moveAt, begins, ledger, tables, blocks } = state;
  const watermark = ledger.watermark();
  const open = ledger.entries().filter(([key]) => Number.parseInt(key, 10) >= watermark);
  return [
    `updates ${seq}, base ${base}, moves at ${moveAt}, watermark ${watermark}`,
    ...[...begins].sort(([a], [b]) => a - b).map(([pass, begin]) => `begin of pass ${pass}: ${begin}`),
    ...open.map(([key, next]) => `task ${key}: push ${next} is next`),
    ...tables.flatMap(({ rows, candidates, lookAt }, table) => {
      const { name, optimizer } = job.spec.sparse[table]!;
      return [
        `${name} looks at ${lookAt}`,
        ...sorted(rows).map(([id, { values, seen }]) => `${name} row ${id}: seen ${seen}, ${bits(values, optimizer)}`),
        ...sorted(candidates).map(([id, { count, seen }]) => `${name} candidate ${id}: seen ${seen}, count ${count}`),
      ];
    }),
    ...blocksOf(job, number).map((key) => {
      const values = blocks.get(key)?.values ?? job.rules.arithmetic.initialBlock(key);
      return `block ${key}: ${bits(values, job.spec.dense[Math.floor(key / BLOCKS)]!.optimizer)}`;
    }),
  ];
}

const sorted = <T>(all: ReadonlyMap<bigint, T>): [bigint, T][] => [...all].sort(([a], [b]) => (a < b ? -1 : 1));

/** The bits of values and slots. Steps are left out where the optimizer keeps none. */
function bits(values: Values, optimizer: OptimizerSpec): string {
  const floats = Buffer.from(Float32Array.from(values.slice(0, -1)).buffer).toString('hex');
  return optimizerLayout(optimizer).steps ? `steps ${values.at(-1)}, ${floats}` : floats;
}

/**
 * A model that is trained in one process, without a wire: its parameters are in its own memory, where the kernels of a
 * pserver update them. They start as those of a job do.
 */
import { assert } from '../../src/base/assert.ts';
import { type Batch, freeStep, idsOf, type MetricSums, type Model } from '../../src/model/model.ts';
import type { ArrayMemory } from '../../src/tensor/array-memory.ts';
import { elementCount } from '../../src/tensor/blocks.ts';
import { kernelInitializer } from '../../src/tensor/initializer.ts';
import type { KernelHeap } from '../../src/tensor/kernel-heap.ts';
import { createOptimizer } from '../../src/tensor/kernel-optimizer.ts';
import type { Trained, TrainedSpec } from '../../src/tensor/optimizer.ts';
import { SparseTable, workspaceBytes } from '../../src/tensor/sparse-table.ts';
import type { DenseSpec } from '../../src/tensor/spec.ts';

/** Bytes that hold the number of its updates. */
const HEAD_BYTES = 16;
const SHARDS = 1;
/** For old values that are not asked for. */
const NOWHERE = 0;

interface Dense {
  /** Slots follow in memory. */
  readonly values: Float32Array;
  readonly optimizer: number;
}

/** Rows of one batch, and where the table has them. */
interface Rows {
  readonly values: Float32Array;
  readonly found: Uint32Array;
}

export class LocalTraining {
  readonly #model: Model;
  readonly #memory: ArrayMemory;
  readonly #dense: readonly Dense[];
  readonly #tables: readonly SparseTable[];

  constructor(model: Model, spec: TrainedSpec, seed: number) {
    const { memory } = model;
    assert(memory !== undefined, 'the model has a memory of its own');
    const { heap } = memory;
    this.#model = model;
    this.#memory = memory;
    this.#dense = spec.dense.map((one) => startDense(heap, one, seed));
    const byteLength = workspaceBytes(Math.max(0, ...spec.sparse.map(({ width }) => width)), SHARDS);
    const workspace = { address: heap.allocate(byteLength), byteLength };
    this.#tables = spec.sparse.map((sparse) => {
      const optimizer = createOptimizer(heap, sparse.optimizer);
      const table = new SparseTable(heap, sparse, { optimizer, seed, shards: SHARDS, workspace });
      table.addShard(0);
      return table;
    });
  }

  /** Forward, backward, and an update of all parameters. */
  step(batch: Batch): MetricSums {
    const lists = idsOf(this.#model, batch);
    const inputs = lists.map(({ ids, count }) => ids.subarray(0, 8 * count));
    return this.#memory.heap.withInputs(inputs, (ids) => this.#stepWith(batch, ids));
  }

  /** `ids`: an address for each table. */
  #stepWith(batch: Batch, ids: readonly number[]): MetricSums {
    const counts = idsOf(this.#model, batch).map(({ count }) => count);
    const rows = this.#tables.map((table, at) => this.#pull(table, ids[at]!, counts[at]!));
    const dense = this.#dense.map(({ values }) => values);
    const step = this.#model.step(batch, { dense, sparse: rows.map(({ values }) => values) });
    this.#tables.forEach((table, at) => {
      this.#push(table, ids[at]!, rows[at]!, step.sparse[at]!);
    });
    this.#dense.forEach(({ values, optimizer }, at) => {
      const from = values.byteOffset;
      const gradients = step.dense[at]!.byteOffset;
      this.#memory.heap.kernels.update(optimizer, from, gradients, values.length, from - HEAD_BYTES);
    });
    freeStep(this.#model, step);
    for (const array of rows.flatMap(({ values, found }) => [values, found])) this.#memory.free(array);
    return step.metrics;
  }

  #pull(table: SparseTable, ids: number, count: number): Rows {
    const values = this.#memory.floats(count * table.spec.width);
    const found = this.#memory.words(count);
    table.pull(ids, count, values.byteOffset, found.byteOffset);
    return { values, found };
  }

  #push(table: SparseTable, ids: number, { found }: Rows, gradients: Float32Array): void {
    const count = found.length;
    const { kernels } = this.#memory.heap;
    const located = this.#memory.words(count);
    table.recall(ids, count, found.byteOffset, located.byteOffset);
    const isRoom = kernels.reservePending() !== 0;
    kernels.forgetPending();
    assert(isRoom, 'new rows have room');
    table.apply(ids, count, gradients.byteOffset, located.byteOffset, NOWHERE);
    this.#memory.free(located);
  }
}

function startDense(heap: KernelHeap, spec: Trained<DenseSpec>, seed: number): Dense {
  const { kernels } = heap;
  const { address: optimizer, layout } = createOptimizer(heap, spec.optimizer);
  const count = elementCount(spec);
  const address = heap.allocate(HEAD_BYTES + 4 * count * (1 + layout.slots.length));
  const from = address + HEAD_BYTES;
  heap.bytes.fill(0, address, from);
  const { kind, a, b, key } = kernelInitializer({ ...spec, seed });
  kernels.fillDense(from, count, kind, a, b, key, 0);
  kernels.startSlots(optimizer, from, count);
  return { values: new Float32Array(heap.bytes.buffer, from, count), optimizer };
}

import { blockLength, blockShards, denseBlockFloats } from './blocks.ts';
import { type KernelInitializer, kernelInitializer } from './initializer.ts';
import type { KernelHeap } from './kernel-heap.ts';
import type { KernelOptimizer } from './kernel-optimizer.ts';
import { type DenseBlock, SHARD_ACTION } from './parameters.ts';
import { badMessage, wrongShard } from './refusals.ts';
import type { DenseSpec } from './spec.ts';

const HEAD_BYTES = 16;

export class DenseParameter {
  readonly spec: DenseSpec;
  readonly optimizer: KernelOptimizer;
  /** Shard of each block. */
  readonly shards: Uint32Array;
  readonly #heap: KernelHeap;
  readonly #initializer: KernelInitializer;
  /** Address of each block, 0 when its shard is absent. */
  readonly #addresses: Uint32Array;
  /** Block numbers by shard; shards without any are not listed. */
  readonly #byShard = new Map<number, number[]>();

  constructor(heap: KernelHeap, spec: DenseSpec, optimizer: KernelOptimizer, job: { seed: number; shards: number }) {
    this.spec = spec;
    this.#heap = heap;
    this.optimizer = optimizer;
    this.#initializer = kernelInitializer({ ...spec, seed: job.seed });
    this.shards = blockShards(spec, job.shards);
    this.#addresses = new Uint32Array(this.shards.length);
    this.shards.forEach((shard, block) => {
      const blocks = this.#byShard.get(shard);
      if (blocks === undefined) this.#byShard.set(shard, [block]);
      else blocks.push(block);
    });
  }

  blocksOf(shard: number): readonly number[] {
    return this.#byShard.get(shard) ?? [];
  }

  #blockBytes(block: number): number {
    return HEAD_BYTES + 4 * blockLength(this.spec, block) * (1 + this.optimizer.layout.slots.length);
  }

  /** Makes the shard's blocks at their initial values. Throws `OutOfMemory`; `dropShard` then takes back those made. */
  addShard(shard: number): void {
    for (const block of this.blocksOf(shard)) {
      const address = this.#heap.allocate(this.#blockBytes(block));
      const { kind, a, b, key } = this.#initializer;
      const length = blockLength(this.spec, block);
      const { kernels } = this.#heap;
      kernels.fillDense(address + HEAD_BYTES, length, kind, a, b, key, block * denseBlockFloats);
      kernels.startSlots(this.optimizer.address, address + HEAD_BYTES, length);
      this.#heap.bytes.fill(0, address, address + HEAD_BYTES);
      this.#addresses[block] = address;
    }
  }

  dropShard(shard: number): void {
    for (const block of this.blocksOf(shard)) {
      const address = this.#addresses[block]!;
      if (address !== 0) this.#heap.free(address);
      this.#addresses[block] = 0;
    }
  }

  bytesOf(shard: number): number {
    return this.blocksOf(shard).reduce((sum, block) => sum + this.#blockBytes(block), 0);
  }

  #addressOf(block: number): number {
    if (block >= this.shards.length) throw badMessage(`${this.spec.name} does not have a block ${block}`);
    const address = this.#addresses[block]!;
    if (address === 0) throw wrongShard(this.spec.name, this.shards[block]!);
    return address;
  }

  /** Throws `BadMessage` or `WrongShard`. */
  pull(blocks: Uint32Array, into: Uint8Array): void {
    const bytes = this.#heap.bytes;
    let at = 0;
    for (const block of blocks) {
      const from = this.#addressOf(block) + HEAD_BYTES;
      const length = 4 * blockLength(this.spec, block);
      if (at + length > into.length) throw badMessage(`${this.spec.name}: room for the blocks is too short`);
      into.set(bytes.subarray(from, from + length), at);
      at += length;
    }
    if (at !== into.length) throw badMessage(`${this.spec.name}: room for the blocks is too long`);
  }

  /** Checks one part of a push before any of it is applied. Throws `BadMessage` or `WrongShard`. */
  check(blocks: Uint32Array, gradientBytes: number, actions: Uint8Array): void {
    let floats = 0;
    let previous = -1;
    for (const block of blocks) {
      if (block <= previous) throw badMessage(`${this.spec.name}: blocks are not in ascending order`);
      if (block >= this.shards.length) throw badMessage(`${this.spec.name} does not have a block ${block}`);
      previous = block;
      floats += blockLength(this.spec, block);
      const shard = this.shards[block]!;
      const action = actions[shard];
      const applies = action === SHARD_ACTION.apply && this.#addresses[block] !== 0;
      if (!applies && action !== SHARD_ACTION.skip) throw wrongShard(this.spec.name, shard);
    }
    if (gradientBytes !== 4 * floats) {
      throw badMessage(`${this.spec.name}: ${gradientBytes} bytes of gradients for ${floats} floats`);
    }
  }

  /** Applies one checked part; `gradients` is an address in kernel memory. */
  apply(blocks: Uint32Array, gradients: number, actions: Uint8Array): void {
    let from = gradients;
    for (const block of blocks) {
      const length = blockLength(this.spec, block);
      const address = this.#addresses[block]!;
      if (actions[this.shards[block]!] === SHARD_ACTION.apply) {
        this.#heap.kernels.update(this.optimizer.address, address + HEAD_BYTES, from, length, address);
      }
      from += 4 * length;
    }
  }

  /** Throws `WrongShard`. `parameter` is this parameter's index. */
  export(parameter: number, block: number): DenseBlock {
    const address = this.#addressOf(block);
    const length = blockLength(this.spec, block);
    const bytes = this.#heap.bytes;
    const field = (index: number): Float32Array => {
      const from = address + HEAD_BYTES + 4 * length * index;
      return new Float32Array(bytes.slice(from, from + 4 * length).buffer);
    };
    return {
      parameter,
      block,
      values: field(0),
      slots: Object.fromEntries(this.optimizer.layout.slots.map((slot, index) => [slot, field(index + 1)])),
      step: this.optimizer.layout.steps ? new Uint32Array(bytes.slice(address, address + 4).buffer)[0]! : undefined,
    };
  }

  /** Throws `BadMessage` or `WrongShard`, with nothing changed. */
  import(shard: number, block: DenseBlock): void {
    const address = this.#addressOf(block.block);
    if (this.shards[block.block] !== shard) throw wrongShard(this.spec.name, shard);
    const length = blockLength(this.spec, block.block);
    const fields = [block.values, ...this.optimizer.layout.slots.map((slot) => block.slots[slot])];
    const known = Object.keys(block.slots).length === this.optimizer.layout.slots.length;
    if (!known || fields.some((field) => field?.length !== length)) {
      throw badMessage(`${this.spec.name}: block ${block.block} lacks values or slots of ${length} floats`);
    }
    if ((block.step !== undefined) !== this.optimizer.layout.steps) {
      throw badMessage(`${this.spec.name}: block ${block.block} does not fit the optimizer's step count`);
    }
    const bytes = this.#heap.bytes;
    fields.forEach((field, index) => {
      const content = new Uint8Array(field!.buffer, field!.byteOffset, field!.byteLength);
      bytes.set(content, address + HEAD_BYTES + 4 * length * index);
    });
    bytes.set(new Uint8Array(Uint32Array.of(block.step ?? 0).buffer), address);
  }
}

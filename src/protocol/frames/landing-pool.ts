/**
 * Ordinary memory for payloads that have no landing of their own. Fresh memory costs more than filling it (the kernel
 * maps and clears each page), so large blocks that were given back are used again. What was not needed for a while is
 * released.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Landing } from '../messages/channel.ts';

/** Up to here a payload is cut from a slab, which is used again when all that was cut from it is free. */
const SLAB_PAYLOAD_BYTES = 16 * 1024;
const SLAB_BYTES = 256 * 1024;

/** What was unused for so long is released, at the latest after twice this. */
const TRIM_INTERVAL_MS = 10_000;

interface Slab {
  readonly memory: Buffer;
  used: number;
  /** Cut from it and not freed. */
  inUse: number;
}

const newSlab = (): Slab => ({ memory: Buffer.allocUnsafeSlow(SLAB_BYTES), used: 0, inUse: 0 });

interface SizeClass {
  readonly blocks: Buffer[];
  /** The fewest free blocks since the last trim: this many were not needed. */
  spare: number;
}

export class LandingPool {
  readonly #maxKeptBytes: number;
  readonly #classes = new Map<number, SizeClass>();
  #keptBytes = 0;
  #inUse = 0;
  #users = 0;
  #trimmedMs = 0;
  #slab: Slab = newSlab();
  #spareSlabs: Slab[] = [];

  /** Keeps at most `maxKeptBytes` of free blocks. */
  constructor(maxKeptBytes: number) {
    this.#maxKeptBytes = maxKeptBytes;
  }

  /** Bytes of free blocks. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Large blocks handed out and not freed. */
  get inUse(): number {
    return this.#inUse;
  }

  /** Memory with any content, its first byte at a multiple of 8. Free it once. */
  allocate(byteLength: number): Landing {
    if (byteLength <= SLAB_PAYLOAD_BYTES) return this.#cut(byteLength);
    const size = classOf(byteLength);
    const block = this.#take(size);
    const memory = block.subarray(0, byteLength);
    this.#inUse++;
    return { byteLength, fixed: true, bytes: () => memory, free: () => this.#giveBack(size, block) };
  }

  /**
   * A connection begins to use the pool. The function returned ends that; without users one slab is kept and nothing
   * else.
   */
  enter(): () => void {
    this.#users++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#users--;
      if (this.#users > 0) return;
      this.#classes.clear();
      this.#keptBytes = 0;
      this.#spareSlabs = [];
    };
  }

  /** To be called periodically with the time: trims every TRIM_INTERVAL_MS. */
  tick(nowMs: number): void {
    if (nowMs - this.#trimmedMs < TRIM_INTERVAL_MS) return;
    this.#trimmedMs = nowMs;
    this.trim();
  }

  /** Releases the blocks that were not needed since the last call, and of spare slabs. */
  trim(): void {
    this.#spareSlabs = [];
    for (const [size, sizeClass] of this.#classes) {
      this.#keptBytes -= size * sizeClass.blocks.splice(0, sizeClass.spare).length;
      sizeClass.spare = sizeClass.blocks.length;
      if (sizeClass.blocks.length === 0) this.#classes.delete(size);
    }
  }

  #cut(byteLength: number): Landing {
    if (this.#slab.used + byteLength > SLAB_BYTES) this.#slab = this.#spareSlabs.pop() ?? newSlab();
    const slab = this.#slab;
    const memory = slab.memory.subarray(slab.used, slab.used + byteLength);
    slab.used += Math.ceil(byteLength / 8) * 8;
    slab.inUse++;
    return new Cut(this, slab, memory);
  }

  /** To be called by what was cut from it, once. */
  giveBackTo(slab: Slab): void {
    slab.inUse--;
    if (slab.inUse > 0) return;
    slab.used = 0;
    if (slab === this.#slab || this.#users === 0 || this.#spareSlabs.length >= LIMITS.spareSlabs) return;
    this.#spareSlabs.push(slab);
  }

  #take(size: number): Buffer {
    const sizeClass = this.#classes.get(size);
    const block = sizeClass?.blocks.pop();
    if (sizeClass === undefined || block === undefined) return Buffer.allocUnsafeSlow(size);
    this.#keptBytes -= size;
    sizeClass.spare = Math.min(sizeClass.spare, sizeClass.blocks.length);
    return block;
  }

  #giveBack(size: number, block: Buffer): void {
    this.#inUse--;
    if (this.#users === 0 || this.#keptBytes + size > this.#maxKeptBytes) return;
    let sizeClass = this.#classes.get(size);
    if (sizeClass === undefined) {
      sizeClass = { blocks: [], spare: 0 };
      this.#classes.set(size, sizeClass);
    }
    sizeClass.blocks.push(block);
    this.#keptBytes += size;
  }
}

/** A small payload: an object without functions of its own, as one is made for each small frame. */
class Cut implements Landing {
  readonly byteLength: number;
  readonly fixed = true;
  readonly #pool: LandingPool;
  readonly #slab: Slab;
  readonly #memory: Uint8Array;

  constructor(pool: LandingPool, slab: Slab, memory: Uint8Array) {
    this.byteLength = memory.length;
    this.#pool = pool;
    this.#slab = slab;
    this.#memory = memory;
  }

  bytes(): Uint8Array {
    return this.#memory;
  }

  free(): void {
    this.#pool.giveBackTo(this.#slab);
  }
}

/** Eight sizes to each doubling: at most an eighth is wasted. */
function classOf(byteLength: number): number {
  const step = 2 ** Math.max(12, Math.floor(Math.log2(byteLength)) - 3);
  return Math.ceil(byteLength / step) * step;
}

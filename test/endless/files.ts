/** Published checkpoints: which copies of a shard there are, what a chain of deltas needs, and what may be deleted. */
import type { SavedShard } from './carry.ts';
import type { Parent } from './memory.ts';
import type { ShardUpdate } from './update.ts';

export interface SavedCopy {
  readonly saved: SavedShard;
  /** Undefined: the copy is whole. */
  readonly parent: Parent | undefined;
  /** Number of the shard's leaders until then: a later epoch is newer, whatever its `seq`. */
  readonly epoch: number;
  /** For the checks alone: the updates that led to this state, and the state as text. */
  readonly log: readonly ShardUpdate[];
  readonly text: string;
}

export interface File {
  readonly number: number;
  readonly copies: ReadonlyMap<number, SavedCopy>;
}

interface Found extends SavedCopy {
  readonly file: number;
}

export class Files {
  readonly #keep: number;
  readonly #published = new Map<number, File>();
  /** Files that a cut or a kept model holds. */
  readonly held = new Set<number>();

  /** `keep`: number of whole copies of each shard that stay. */
  constructor(keep: number) {
    this.#keep = keep;
  }

  get size(): number {
    return this.#published.size;
  }

  /** Number of whole copies of the shard. */
  wholeCopies(shard: number): number {
    return this.#copiesOf(shard).filter(({ parent }) => parent === undefined).length;
  }

  publish(file: File): void {
    this.#published.set(file.number, file);
  }

  /** The newest copy of the shard whose chain is whole and readable, oldest link first; undefined: there is none. */
  newest(shard: number, isReadable: (file: number) => boolean = () => true): readonly Found[] | undefined {
    for (const copy of this.#copiesOf(shard)) {
      const chain = this.chainOf(shard, copy.file);
      if (chain?.every(({ file }) => isReadable(file))) return chain;
    }
    return undefined;
  }

  /** The copy in that file, and before it what it needs; undefined if a link is missing. */
  chainOf(shard: number, file: number): Found[] | undefined {
    const copy = this.#published.get(file)?.copies.get(shard);
    if (copy === undefined) return undefined;
    const found = { ...copy, file };
    if (copy.parent === undefined) return [found];
    const before = this.chainOf(shard, copy.parent.file);
    return before === undefined || before.at(-1)!.saved.seq !== copy.parent.seq ? undefined : [...before, found];
  }

  /**
   * Deletes what nothing needs, and returns the deleted files. Only whole copies of a shard replace its earlier ones.
   */
  deleteReplaced(): number[] {
    const deleted: number[] = [];
    for (;;) {
      const needed = this.#ancestors();
      const replaced = [...this.#published.values()].find(
        (file) => !needed.has(file.number) && !this.held.has(file.number) && this.#isReplaced(file),
      );
      if (replaced === undefined) return deleted;
      this.#published.delete(replaced.number);
      deleted.push(replaced.number);
    }
  }

  #isReplaced({ copies }: File): boolean {
    return [...copies].every(([shard, copy]) => {
      const newer = this.#copiesOf(shard).filter((one) => one.parent === undefined && isNewer(one, copy));
      return newer.length >= this.#keep;
    });
  }

  /** Files that a published copy names as its parent. */
  #ancestors(): Set<number> {
    const files = [...this.#published.values()];
    return new Set(files.flatMap(({ copies }) => [...copies.values()].flatMap(({ parent }) => parent?.file ?? [])));
  }

  /** Newest first. */
  #copiesOf(shard: number): Found[] {
    const all = [...this.#published.values()].flatMap(({ number, copies }) => {
      const copy = copies.get(shard);
      return copy === undefined ? [] : [{ ...copy, file: number }];
    });
    return all.sort((a, b) => (isNewer(a, b) ? -1 : 1));
  }
}

const isNewer = (a: SavedCopy, b: SavedCopy): boolean =>
  a.epoch > b.epoch || (a.epoch === b.epoch && a.saved.seq > b.saved.seq);

/**
 * Files of pservers between which shards moved, written and published by the writer itself: 2 → 4 → 3 → 1 pservers,
 * some of which save late. Each shard is a unit. Content depends on the save: its number is the salt.
 */
import type { Storage } from '../../src/base/seams.ts';
import { writeCheckpointFile } from '../../src/checkpoint/file/write-durable-file.ts';
import { readEntries } from '../../src/checkpoint/registry/discover.ts';
import { generationOf } from '../../src/checkpoint/registry/entry.ts';
import { type PublishedFile, publishedFiles } from '../../src/checkpoint/registry/newest.ts';
import { parsePartings } from '../../src/checkpoint/registry/partings.ts';
import { publishParting } from '../../src/checkpoint/registry/publish.ts';
import { saveCheckpoint } from '../../src/checkpoint/registry/save.ts';
import type { Fence } from '../../src/store/fence.ts';
import { keysOf } from '../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../src/store/memory-store.ts';
import type { Parameters } from '../../src/tensor/parameters.ts';
import { FakeClock, put } from '../store/support.ts';
import { FOLDER, wholeParameters } from './cluster-fixture.ts';
import { emptyParameters, IDS, jobOf, ledgerOf, metaOf, uuidOf } from './fixture.ts';

export const JOB = jobOf();
export const keys = keysOf('/paddlet/small');

/** By pserver. */
type Placement = readonly (readonly number[])[];

const SPREAD: Readonly<Record<number, Placement>> = {
  1: [[0, 1, 2, 3, 4, 5, 6, 7]],
  2: [
    [0, 2, 4, 6],
    [1, 3, 5, 7],
  ],
  3: [
    [0, 2, 7],
    [1, 3, 5],
    [4, 6],
  ],
  4: [
    [0, 2],
    [1, 3],
    [4, 6],
    [5, 7],
  ],
};

export class MovedCluster {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore(new MemoryStoreData({ clock: this.clock }));
  /** The number of the save that has the newest copy of each shard. */
  readonly saltOf = new Map<number, number>();
  readonly #storage: Storage;
  readonly #epochs = new Map<number, number>();
  readonly #fences = new Map<number, Fence>();
  #placement: Placement = [];
  #saves = 0;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** As it is after that many pservers were wanted, and none has saved since. */
  place(pservers: number): void {
    const before = this.#placement;
    this.#placement = SPREAD[pservers]!;
    for (const [index, shards] of this.#placement.entries()) {
      for (const shard of shards) {
        if (before[index]?.includes(shard) !== true) this.#epochs.set(shard, (this.#epochs.get(shard) ?? 0) + 1);
      }
    }
  }

  /** `round`: in sync mode, of the cut. */
  async save(index: number, options: { readonly keep?: number; readonly round?: number } = {}): Promise<void> {
    const { keep = 1, round } = options;
    const salt = ++this.#saves;
    const fence = await this.#fenceOf(index);
    const shards = this.#placement[index]!;
    const rounds = round === undefined ? {} : { rounds: { round, metrics: [] } };
    await saveCheckpoint({
      ...{
        storage: this.#storage,
        store: this.store,
        clock: this.clock,
        folder: FOLDER,
        keys,
        fence,
        keep,
        shards,
      },
      readStaying: async () => new Set<string>(),
      meta: metaOf(JOB, { uuid: uuidOf(salt), index, token: fence.token, createdAt: salt, ...rounds }),
      parameters: wholeParameters(JOB, IDS, salt),
      momentOf: (shard) => {
        const seq = round ?? 100 * salt + shard;
        return { shard, epoch: this.#epochs.get(shard)!, seq, ledger: ledgerOf(`save ${salt}`) };
      },
    });
    for (const shard of shards) this.saltOf.set(shard, salt);
  }

  /** The owner has lost its index, and announces what it has. */
  async part(index: number): Promise<void> {
    const salt = ++this.#saves;
    const { token } = await this.#fenceOf(index);
    const shards = this.#placement[index]!;
    const meta = metaOf(JOB, { uuid: uuidOf(salt), index, token, createdAt: salt, clean: true });
    const file = await writeCheckpointFile({
      ...{ storage: this.#storage, folder: FOLDER, meta, shards },
      parameters: wholeParameters(JOB, IDS, salt),
      momentOf: (shard) => ({
        ...{ shard, epoch: this.#epochs.get(shard)!, seq: 100 * salt + shard, ledger: ledgerOf(`save ${salt}`) },
      }),
    });
    const { store, clock } = this;
    await publishParting({ store, clock, key: keys.parting(token), index, files: [generationOf(file, meta)] });
    for (const shard of shards) this.saltOf.set(shard, salt);
  }

  async partings() {
    return parsePartings(keys.partingPrefix, (await this.store.range({ prefix: keys.partingPrefix })).entries);
  }

  ownerOf(shard: number): number {
    return this.#placement.findIndex((shards) => shards.includes(shard));
  }

  async files(): Promise<PublishedFile[]> {
    return publishedFiles(await this.published());
  }

  async published() {
    const { entries } = await this.store.range({ prefix: keys.checkpointsPrefix });
    return readEntries(keys.checkpointsPrefix, entries).published;
  }

  /** The newest copies together. */
  newest(): Parameters {
    const whole = emptyParameters(JOB);
    for (const [shard, salt] of this.saltOf) copyShard(wholeParameters(JOB, IDS, salt), whole, shard);
    return whole;
  }

  async #fenceOf(index: number): Promise<Fence> {
    const key = keys.ps(index);
    if (!this.#fences.has(index)) {
      await put(this.store, key, `host:${index}`);
      this.#fences.set(index, { key, token: (await this.store.get(key))!.createRevision });
    }
    return this.#fences.get(index)!;
  }
}

function copyShard(from: Parameters, to: Parameters, shard: number): void {
  to.addShard(shard);
  for (const table of JOB.parameters.sparse.keys()) to.importRows(shard, table, from.exportRows(shard, table));
  for (const block of from.exportBlocks(shard)) to.importBlock(shard, block);
}

/** Of each stage, after which the newest copies are in several generations of several pservers. */
export const STAGES: Readonly<Record<string, (cluster: MovedCluster) => Promise<void>>> = {
  '2 pservers': async (cluster) => {
    cluster.place(2);
    for (const index of [0, 1]) await cluster.save(index);
  },
  '2 → 4, and the last one has not saved yet': async (cluster) => {
    await STAGES['2 pservers']!(cluster);
    cluster.place(4);
    for (const index of [0, 1, 2]) await cluster.save(index);
  },
  '4 → 3, and none has saved since the last one left': async (cluster) => {
    await STAGES['2 → 4, and the last one has not saved yet']!(cluster);
    await cluster.save(3);
    await cluster.save(0);
    cluster.place(3);
  },
  '3 → 1, of which one has left nothing newer, and only the first has saved': async (cluster) => {
    await STAGES['4 → 3, and none has saved since the last one left']!(cluster);
    await cluster.save(1);
    await cluster.save(0);
    cluster.place(1);
    await cluster.save(0);
    await cluster.save(0);
  },
};

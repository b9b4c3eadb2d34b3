/** A store and a disk with the files of a cut, of two pservers with two units each; a third one loads them. */
import type { ShardMoment } from '../../../../../src/checkpoint/file/capture.ts';
import { writeCheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import type { Cut, CutFile } from '../../../../../src/checkpoint/registry/cut.ts';
import { type Generation, generationOf } from '../../../../../src/checkpoint/registry/entry.ts';
import type { RoleContext } from '../../../../../src/cluster/context.ts';
import { shardsOfUnits } from '../../../../../src/core/units/units.ts';
import type { LoadCutOptions } from '../../../../../src/roles/pserver/modes/rounds/load-cut.ts';
import type { Fence } from '../../../../../src/store/fence.ts';
import { keysOf } from '../../../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../../../src/store/memory-store.ts';
import type { Parameters } from '../../../../../src/tensor/parameters.ts';
import { emptyParameters, fill, IDS, jobOf, metaOf, uuidOf } from '../../../../checkpoint/fixture.ts';
import { createSimulatedDisk } from '../../../../simulated-disk.ts';
import { FakeClock, RecordingLog } from '../../../../store/support.ts';

export const JOB = jobOf();
/** Unit u has the shards u and u + 4. */
export const UNITS = 4;
export const ROUND = 6;
export const FOLDER = '/data/checkpoints';
/** Of the one that loads. */
export const INDEX = 2;

export const shardsOf = (...units: readonly number[]): number[] =>
  shardsOfUnits(units, { shards: JOB.shards, units: UNITS });

export class CutRig {
  readonly clock = new FakeClock();
  readonly log = new RecordingLog();
  readonly data = new MemoryStoreData({ clock: this.clock });
  readonly keys = keysOf('/paddlet/small');
  readonly disk = createSimulatedDisk();
  readonly parameters: Parameters = emptyParameters(JOB);
  readonly waits: (string | undefined)[] = [];
  readonly stop = new AbortController();
  readonly fence: Fence;
  readonly context: RoleContext;
  /** In the files that are written. */
  ledgerOf = (shard: number): Uint8Array => Uint8Array.of(shard);

  constructor() {
    const { clock, log, disk, keys } = this;
    this.put(keys.ps(INDEX), 'localhost:2');
    this.fence = { key: keys.ps(INDEX), token: this.data.get(keys.ps(INDEX))!.createRevision };
    const store = new MemoryStore(this.data);
    let named = 0;
    // Not the names of the files that `write` writes.
    const random = { fraction: () => 0.5, uuid: () => uuidOf(0x1000 + ++named) };
    const host = { clock, log, disk, storage: disk.storage, random };
    const troubles = { set: () => {}, clear: () => {} };
    this.context = { store, keys, host, troubles, stop: this.stop.signal } as unknown as RoleContext;
  }

  put(key: string, value: string): void {
    this.data.txn({ if: [], then: [{ put: key, value }] });
  }

  putCut(cut: Cut): void {
    this.put(this.keys.cut, JSON.stringify(cut));
  }

  cut(): Cut {
    return JSON.parse(this.data.get(this.keys.cut)!.value) as Cut;
  }

  /** A file of these units at that round, which the index's entry names. */
  async save(index: number, units: readonly number[], round = ROUND, timeline = 0): Promise<CutFile> {
    const generation = await this.write(index, units, round, timeline);
    this.put(this.keys.checkpoint(index), JSON.stringify(generation));
    return { index, uuid: generation.uuid, md5: generation.md5 };
  }

  /** The same, without an entry. */
  async write(index: number, units: readonly number[], round = ROUND, timeline = 0): Promise<Generation> {
    const parameters = emptyParameters(JOB);
    for (const shard of shardsOf(...units)) parameters.addShard(shard);
    fill(parameters, JOB, IDS, round);
    const rounds = { round, metrics: [] };
    const meta = metaOf(JOB, { index, uuid: uuidOf(16 * round + index), rounds, timeline: BigInt(timeline) });
    const { disk } = this;
    const shards = shardsOf(...units);
    const momentOf = (shard: number): ShardMoment => ({ shard, epoch: 1, seq: round, ledger: this.ledgerOf(shard) });
    const file = await writeCheckpointFile({
      storage: disk.storage,
      folder: FOLDER,
      meta,
      parameters,
      shards,
      momentOf,
    });
    return generationOf(file, meta);
  }

  /** Another machine has the file for now. */
  async putAway(index: number, uuid: string): Promise<{ readonly putBack: () => Promise<void> }> {
    const { disk } = this;
    const path = `${FOLDER}/${index}/${uuid}`;
    const content = disk.content(path)!;
    await disk.remove(path);
    return {
      putBack: async () => {
        const file = await disk.create(path);
        await file.write(content, 0);
        await file.close();
      },
    };
  }

  /** What is not named here is taken from the file, which then must be there. */
  forgetEntry(index: number): void {
    this.data.txn({ if: [], then: [{ delete: this.keys.checkpoint(index) }] });
  }

  get loading(): LoadCutOptions {
    return {
      ...{
        context: this.context,
        fence: this.fence,
        index: INDEX,
        folder: FOLDER,
        units: UNITS,
        into: this.parameters,
      },
      ...{ expected: JOB, warmStart: undefined, partingLimitMs: 0, waitSignal: this.stop.signal },
      onWaiting: (what) => void this.waits.push(what),
    };
  }
}

/** A cluster whose units have moved, and a pserver that loads units without a live copy from its files. */
import { checkpointPath } from '../../../../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import { generationOf } from '../../../../../src/checkpoint/registry/entry.ts';
import { publishParting } from '../../../../../src/checkpoint/registry/publish.ts';
import type { RoleContext } from '../../../../../src/cluster/context.ts';
import type { Owner } from '../../../../../src/cluster/placement/heads.ts';
import type { FormerState } from '../../../../../src/roles/pserver/files/last-state.ts';
import { type LoadedShards, loadFormer } from '../../../../../src/roles/pserver/modes/tasks/load.ts';
import { FOLDER, wholeParameters } from '../../../../checkpoint/cluster-fixture.ts';
import { allShards, emptyParameters, IDS, ledgerOf, metaOf, uuidOf } from '../../../../checkpoint/fixture.ts';
import { JOB, keys, MovedCluster } from '../../../../checkpoint/moved-cluster.ts';
import { createSimulatedDisk } from '../../../../simulated-disk.ts';
import { RecordingLog } from '../../../../store/support.ts';

export const ALL = allShards(JOB);
export const DEAD = { index: 1, token: '99' };
/** Index of the pserver that loads. */
export const ME = 3;
export const LIMIT_MS = 10_000;

export const ledBy = (primary: Owner, ...others: Owner[]): FormerState => ({ primary, inSync: [primary, ...others] });

export const exactness = (parts: readonly LoadedShards[]): boolean => parts.every(({ exact }) => exact);

export class FormerRig {
  readonly disk = createSimulatedDisk();
  readonly cluster = new MovedCluster(this.disk.storage);
  readonly log = new RecordingLog();
  readonly into = emptyParameters(JOB);
  readonly waitedFor: (string | undefined)[] = [];

  get context(): RoleContext {
    const { disk, cluster, log } = this;
    const host = { disk, storage: disk.storage, clock: cluster.clock, log };
    return { host, store: cluster.store, keys, stop: new AbortController().signal } as unknown as RoleContext;
  }

  load(former: FormerState = ledBy(DEAD), units: readonly number[] = ALL): Promise<LoadedShards[]> {
    const { context, into } = this;
    const onWaiting = (what: string | undefined): void => void this.waitedFor.push(what);
    const wait = { context, index: ME, folder: FOLDER, waitSignal: new AbortController().signal, onWaiting };
    const me = { index: ME, token: '100' };
    const options = { ...wait, me, units: JOB.shards, expected: JOB, into, partingLimitMs: LIMIT_MS };
    return loadFormer(options, { ...former, units });
  }

  /** Announced by an owner that lost its index; the number is that of the file and of its content. */
  async parting(
    index: number,
    number: number,
    epoch: number,
    shards: readonly number[],
    token: bigint,
    { seq = 9_000, timeline = 0n } = {},
  ): Promise<void> {
    const { disk, cluster } = this;
    const parameters = wholeParameters(JOB, IDS, number);
    const meta = metaOf(JOB, { uuid: uuidOf(number), index, token, timeline, clean: true });
    const momentOf = (shard: number) => ({ shard, epoch, seq, ledger: ledgerOf(`save ${number}`) });
    const file = await writeCheckpointFile({
      storage: disk.storage,
      folder: FOLDER,
      meta,
      parameters,
      shards,
      momentOf,
    });
    const { store, clock } = cluster;
    await publishParting({ store, clock, key: keys.parting(token), index, files: [generationOf(file, meta)] });
    for (const shard of shards) cluster.saltOf.set(shard, number);
  }

  /** The files of that pserver are out of reach until the function is called. */
  async hide(index: number): Promise<() => void> {
    const { disk, cluster } = this;
    const files = (await cluster.files()).filter((file) => file.index === index);
    const paths = files.map(({ generation }) => checkpointPath({ folder: FOLDER, index }, generation.uuid));
    const contents = paths.map((path) => disk.content(path)!.slice());
    for (const path of paths) await disk.remove(path);
    return () => {
      for (const [at, path] of paths.entries()) disk.place(path, contents[at]!);
    };
  }

  async untilWaiting(): Promise<void> {
    while (this.waitedFor.at(-1) === undefined) await this.cluster.clock.advance(100);
  }
}

/** Which of its own files a pserver keeps when it saves a checkpoint. */
import { expect, it } from 'vitest';
import { FileReads } from '../../../../src/roles/pserver/files/file-reads.ts';
import { type SnapshotOptions, Snapshots } from '../../../../src/roles/pserver/files/snapshots.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { ownedHeads } from '../held/owned-heads.ts';
import { CutRig, FOLDER, INDEX, JOB, shardsOf, UNITS } from '../modes/rounds/cut-rig.ts';
import { UNTIMED } from '../untimed.ts';

it('a pserver keeps a file while another pserver reads it, however many newer ones there are', async () => {
  const rig = new CutRig();
  const { context, fence, parameters } = rig;
  for (const shard of shardsOf(0)) parameters.addShard(shard);
  const heads = ownedHeads([{ unit: 0, epoch: 1, led: 1 }]);
  const job = { spec: JOB.parameters, shards: JOB.shards, units: UNITS, tasks: 4 };
  const shards = new OwnedShards(job, heads, { parameters, ledgers: new Map(), seqs: new Map() });
  const reads = new FileReads(rig.clock);
  const { seed } = JOB;
  const snapshots = new Snapshots({
    ...{ context, fence, index: INDEX, folder: FOLDER, spec: JOB.parameters, shards, reads, isFolderKnown: false },
    record: { id: JOB.jobId, job: { training: { seed }, cluster: { shards: JOB.shards }, checkpoint: { keep: 1 } } },
    recovery: () => 0,
    metrics: { times: UNTIMED, saves: { saved: () => {}, failed: () => {} } },
  } as unknown as SnapshotOptions);
  const save = async (): Promise<string> => (await snapshots.save('due')).uuid;
  const kept = (): Promise<string[]> => rig.disk.list(`${FOLDER}/${INDEX}`);

  const read = await save();
  reads.asked(read);
  // Newer ones replace this one, which no pserver reads.
  await save();
  const [third, fourth] = [await save(), await save()];
  expect(new Set(await kept())).toEqual(new Set([read, third, fourth]));
  // The reader does not come back.
  await rig.clock.advance(20_000);
  const last = await save();
  expect(new Set(await kept())).toEqual(new Set([fourth, last]));
});

/** A save of a cut that waits for its turn has no shard that was lost in the meantime, though it is owned again. */
import { expect, it } from 'vitest';
import type { CheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import type { SnapshotSource } from '../../../../../src/roles/pserver/files/snapshots.ts';
import type { OwnedShards } from '../../../../../src/roles/pserver/held/owned-shards.ts';
import { CutSaves } from '../../../../../src/roles/pserver/modes/rounds/cut-saves.ts';
import { createParameters } from '../../../../../src/tensor/wasm-parameters.ts';
import { SEED, trainedTables } from '../../../../tensor/admission/kernel-job.ts';

const SHARDS = 4;
const spec = { dense: [], sparse: trainedTables([{ name: 'plain', hasSeen: true }]) };

it.each([
  ['nothing has changed', () => {}, [0, 1, 2, 3]],
  ['one has left', ({ owned }: Rig) => void owned.delete(1), [0, 2, 3]],
  [
    'one has left and come back',
    ({ parameters }: Rig) => {
      const rows = parameters.exportRows(1, 0);
      parameters.dropShard(1);
      parameters.addShard(1);
      parameters.importRows(1, 0, rows);
    },
    [0, 2, 3],
  ],
])('the shards of the file when %s', async (_what, change, expected) => {
  const rig = rigOf();
  const turn = Promise.withResolvers<() => SnapshotSource>();
  const shards = {
    ...{ parameters: rig.parameters, job: { spec, shards: SHARDS } },
    get numbers() {
      return [...rig.owned];
    },
    momentOf: (shard: number) => ({ shard, epoch: 1, seq: 5, ledger: new Uint8Array(0) }),
  } as unknown as OwnedShards;
  const saves = new CutSaves({
    shards,
    save: async (source) => {
      turn.resolve(source);
      return {} as CheckpointFile;
    },
  });
  const started = saves.begin(5, []);
  change(rig);
  expect((await turn.promise)().shards).toEqual(expected);
  expect([...started.shards()]).toEqual(expected);
  await started.file;
});

type Rig = ReturnType<typeof rigOf>;

function rigOf() {
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  return { parameters, owned: new Set([0, 1, 2, 3]) };
}

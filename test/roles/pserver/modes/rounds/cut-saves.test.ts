/** A save of a cut that waits for its turn has no shard that was lost in the meantime, though it is owned again. */
import { expect, it } from 'vitest';
import type { CheckpointFile } from '../../../../../src/checkpoint/file/write-durable-file.ts';
import type { SaveKind, SnapshotSource } from '../../../../../src/roles/pserver/files/snapshots.ts';
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
  const saves = new CutSaves({
    shards: shardsOf(rig),
    save: async (_kind, source) => {
      turn.resolve(source);
      return {} as CheckpointFile;
    },
  });
  const started = saves.begin(5, [], 'due');
  change(rig);
  expect((await turn.promise)().shards).toEqual(expected);
  expect([...started.shards()]).toEqual(expected);
  await started.file;
});

it('a file that may be a delta is not the base that was asked for', async () => {
  const kinds: SaveKind[] = [];
  const saves = new CutSaves({
    shards: shardsOf(rigOf()),
    save: async (kind) => {
      kinds.push(kind);
      return {} as CheckpointFile;
    },
  });
  saves.plan(5, 'due');
  saves.reached(5, []);
  expect(saves.of(5, 'delta')).toMatchObject({ round: 5, kind: 'due' });
  expect(saves.of(5, 'base')).toBeUndefined();
  saves.plan(5, 'base');
  saves.reached(5, []);
  for (const kind of ['base', 'due'] as const) expect(saves.of(5, kind)).toMatchObject({ round: 5, kind: 'base' });
  expect(kinds).toEqual(['due', 'base']);
});

it('what goes after the cut is noted until its file is written, and not said to be gone in it', async () => {
  const events: unknown[] = [];
  const written = Promise.withResolvers<CheckpointFile>();
  const saves = new CutSaves({
    shards: shardsOf(rigOf()),
    save: (_kind, source) => {
      events.push(source().mark);
      return written.promise;
    },
    deltas: { beginView: () => 7, endView: () => void events.push('end') },
  });
  const { file } = saves.begin(5, [], 'due');
  expect(events).toEqual([7]);
  written.reject(new Error('a full disk'));
  await expect(file).rejects.toThrow('a full disk');
  expect(events).toEqual([7, 'end']);
});

function shardsOf({ parameters, owned }: Rig): OwnedShards {
  return {
    ...{ parameters, job: { spec, shards: SHARDS } },
    get numbers() {
      return [...owned];
    },
    momentOf: (shard: number) => ({ shard, epoch: 1, seq: 5, ledger: new Uint8Array(0) }),
  } as unknown as OwnedShards;
}

type Rig = ReturnType<typeof rigOf>;

function rigOf() {
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  return { parameters, owned: new Set([0, 1, 2, 3]) };
}

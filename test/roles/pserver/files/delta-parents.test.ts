/** When a shard has a parent, and which ids are gone since. test/roles/pserver/files/deltas.test.ts has whole files. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ShardMoment } from '../../../../src/checkpoint/file/capture.ts';
import { DeltaParents } from '../../../../src/roles/pserver/files/delta-parents.ts';
import type { Parameters } from '../../../../src/tensor/parameters.ts';
import { shardOfRow } from '../../../../src/tensor/shard-hash.ts';
import { createParameters } from '../../../../src/tensor/wasm-parameters.ts';
import { uuidOf } from '../../../checkpoint/fixture.ts';
import { SEED, type TriedTable, trainedTables } from '../../../tensor/admission/kernel-job.ts';
import { rowsPart } from '../../../tensor/fixture.ts';

const SHARDS = 2;
const TABLES: readonly TriedTable[] = [
  { name: 'plain', hasSeen: true },
  { name: 'count', hasSeen: true, admission: { type: 'count', min: 2 } },
];
const spec = { dense: [], sparse: trainedTables(TABLES) };
const idsIn = (table: number, shard: number): bigint[] =>
  Array.from({ length: 40 }, (_, id) => BigInt(id)).filter(
    (id) => shardOfRow(TABLES[table]!.name, id, SHARDS) === shard,
  );
const [IDS, COUNTED] = [idsIn(0, 0), idsIn(1, 0)];
const FILE = uuidOf(1);

let shards: { parameters: Parameters; job: { spec: typeof spec } };
let parents: DeltaParents;
let seq: number;

function memory(): Parameters {
  const parameters = createParameters({ spec, seed: SEED, shards: SHARDS });
  for (let shard = 0; shard < SHARDS; shard++) parameters.addShard(shard);
  const all = (ids: readonly bigint[]): number[] => Array<number>(ids.length).fill(1);
  const parts = [rowsPart(0, IDS, all(IDS)), rowsPart(1, COUNTED, all(COUNTED))];
  const name = { pass: 0, task: 0, push: 0 };
  parameters.push(parts, [], Uint8Array.of(1, 1), { seen: Uint32Array.of(1, 1), name });
  return parameters;
}

const moment = (epoch = 3): ShardMoment => {
  const looks = { base: 0, moveAt: undefined, begins: [], lookAt: [undefined, undefined] };
  return { shard: 0, epoch, seq, ledger: new Uint8Array(0), looks };
};
const LATER = uuidOf(2);
const capture = (epoch?: number, mark?: number): ShardMoment => parents.capture(moment(epoch), [FILE, LATER], mark);
const publish = (uuid = FILE): void => parents.published(uuid, [{ shard: 0, epoch: 3, seq }]);
const remove = (table: number, ...ids: bigint[]): number =>
  shards.parameters.removeIds(0, table, BigUint64Array.from(ids));
const removed = ({ removed: ids }: ShardMoment): bigint[][] | undefined => ids?.map((some) => [...some]);

beforeEach(() => {
  seq = 7;
  shards = { parameters: memory(), job: { spec } };
  parents = new DeltaParents(shards, 6);
});

describe('a shard', () => {
  it('has no parent before a file of it is known to be published, and then that file', () => {
    expect(capture().parent).toBeUndefined();
    expect(parents.namesFor([0, 1])).toEqual([]);
    publish();
    expect(parents.namesFor([0, 1])).toEqual([FILE]);
    seq = 9;
    expect(capture()).toMatchObject({ seq: 9, parent: { uuid: FILE, seq: 7 } });
  });

  it('keeps its parent when a later file is refused', () => {
    capture();
    publish();
    seq = 9;
    capture();
    parents.refused();
    publish(LATER);
    expect(capture().parent).toEqual({ uuid: FILE, seq: 7 });
  });

  it('has no parent in another epoch, and none that the file may not name', () => {
    capture();
    publish();
    expect(capture(4).parent).toBeUndefined();
    expect(parents.capture(moment(), [LATER]).parent).toBeUndefined();
    expect(parents.capture(moment()).parent).toBeUndefined();
  });

  it.each<[string, () => void]>([
    ['rows are put in', () => shards.parameters.importRows(0, 0, shards.parameters.exportRows(0, 0))],
    ['rows are adopted', () => shards.parameters.adoptRows(0, shards.parameters.exportRows(0, 0), [0])],
    ['it is dropped', () => shards.parameters.dropShard(0)],
    ['all shards are put back to a cut', () => Object.assign(shards, { parameters: memory() })],
  ])('has no parent after %s, also if the file is published only then', (_what, change) => {
    capture();
    publish();
    capture();
    change();
    publish(LATER);
    expect(capture().parent).toBeUndefined();
  });

  it('has no parent when more ids are gone than a quarter of its rows', () => {
    capture();
    publish();
    remove(0, ...IDS.slice(0, 6));
    expect(capture().parent).toBeDefined();
    remove(1, COUNTED[0]!, COUNTED[1]!, COUNTED[2]!);
    expect(capture().parent).toBeUndefined();
  });
});

describe('the ids that are gone', () => {
  it('are rows and candidates, by table of the model, ascending and once each', () => {
    capture();
    publish();
    remove(0, IDS[2]!);
    remove(1, COUNTED[0]!);
    remove(0, IDS[1]!, IDS[2]!);
    expect(removed(capture())).toEqual([[IDS[1], IDS[2]], [COUNTED[0]]]);
  });

  it('are those since the parent was captured, not since it was published', () => {
    capture();
    remove(0, IDS[1]!);
    publish();
    remove(0, IDS[0]!);
    expect(removed(capture())).toEqual([[IDS[0], IDS[1]], []]);
    publish();
    expect(removed(capture())).toEqual([[], []]);
  });

  it('are those before the view of a cut began, even when its file is captured much later', () => {
    const first = parents.beginView();
    remove(0, IDS[0]!);
    expect(capture(3, first).parent).toBeUndefined();
    parents.endView();
    const second = parents.beginView();
    remove(0, IDS[1]!);
    publish();
    expect(removed(capture(3, second))).toEqual([[IDS[0]], []]);
    parents.endView();
    publish();
    expect(removed(capture())).toEqual([[IDS[1]], []]);
  });

  it('of one shard are none of another one, whose first file becomes its parent', () => {
    const mark = parents.beginView();
    const other = idsIn(0, 1).slice(0, 1);
    const name = { pass: 0, task: 0, push: 1 };
    shards.parameters.push([rowsPart(0, other, [1])], [], Uint8Array.of(1, 1), { seen: Uint32Array.of(2, 2), name });
    shards.parameters.removeIds(1, 0, BigUint64Array.from(other));
    capture(3, mark);
    parents.endView();
    publish();
    expect(parents.namesFor([0])).toEqual([FILE]);
  });

  it('are known of no view that began before the shard was put in', () => {
    capture();
    publish();
    const view = parents.beginView();
    shards.parameters.importRows(0, 0, shards.parameters.exportRows(0, 0));
    capture(3, view);
    parents.endView();
    publish(LATER);
    expect(capture().parent).toBeUndefined();
  });

  it('are known of no view that is older than the parent', () => {
    const view = parents.beginView();
    remove(0, IDS[0]!);
    seq = 9;
    capture();
    publish();
    seq = 7;
    expect(capture(3, view).parent).toBeUndefined();
    parents.endView();
    publish(LATER);
    expect(capture()).not.toMatchObject({ parent: { uuid: LATER } });
  });

  it('that were not recorded leave the shard without a parent', () => {
    const view = parents.beginView();
    parents.endView();
    remove(0, IDS[0]!);
    capture(3, view);
    publish();
    expect(capture().parent).toBeUndefined();
  });
});

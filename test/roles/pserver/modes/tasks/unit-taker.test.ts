/** Async mode: when a unit without a primary is taken, and when what may be missing in it costs the job work. */
import { beforeEach, expect, it } from 'vitest';
import { takenBy } from '../../../../../src/cluster/placement/heads.ts';
import { createSignal } from '../../../../../src/cluster/waiting.ts';
import { OwnedHeads } from '../../../../../src/roles/pserver/held/owned-heads.ts';
import { OwnedShards } from '../../../../../src/roles/pserver/held/owned-shards.ts';
import { UnitTaker, type UnitTakerOptions } from '../../../../../src/roles/pserver/modes/tasks/unit-taker.ts';
import type { OrphanHead } from '../../../../../src/roles/pserver/take/take-units.ts';
import { settled } from '../../../master/tasks/service-rig.ts';
import { CutRig, FOLDER, INDEX, JOB, UNITS } from '../rounds/cut-rig.ts';

const GONE = { index: 1, token: '999' };
const UNIT = 2;
const SIGNAL = new AbortController().signal;

let rig: CutRig;
let shards: OwnedShards;
let fatal: unknown[];

const lead = (by: typeof GONE): void => rig.put(rig.keys.head(UNIT), JSON.stringify(takenBy(by, undefined)));

beforeEach(() => {
  rig = new CutRig();
  fatal = [];
  const heads = new OwnedHeads({ context: rig.context, fence: rig.fence, signal: SIGNAL }, []);
  const job = { spec: JOB.parameters, shards: JOB.shards, units: UNITS, tasks: 4 };
  shards = new OwnedShards(job, heads, { parameters: rig.parameters, ledgers: new Map(), seqs: new Map() });
  lead(GONE);
});

interface Start {
  readonly taker: UnitTaker;
  readonly waits: readonly (string | undefined)[];
  /** Its view shows now that another pserver has the unit. */
  readonly seeOwner: () => void;
}

/**
 * Takes the unit as this pserver sees it now; `change`: before it has looked. `isComing`: whether another pserver moves
 * a unit here.
 */
function start(change: () => void, isComing: (unit: number) => boolean = () => false): Start {
  const { value, modRevision } = rig.data.get(rig.keys.head(UNIT))!;
  const orphan: OrphanHead = { unit: UNIT, modRevision, head: JSON.parse(value) };
  change();
  const waits: (string | undefined)[] = [];
  const view = createSignal();
  let isOrphan = true;
  const options = {
    ...{ context: rig.context, fence: rig.fence, index: INDEX, folder: FOLDER, spec: JOB.parameters, shards },
    record: {
      ...{ id: JOB.jobId, units: UNITS },
      job: { cluster: { shards: JOB.shards }, training: { seed: JOB.seed }, checkpoint: { keep: 1 } },
    },
    orphans: {
      view,
      isOrphan: () => isOrphan,
      due: () => (isOrphan ? [orphan] : []),
      changed: (signal: AbortSignal) => createSignal().until(() => undefined, signal),
    },
    ...{ lease: { lost: SIGNAL }, stopSignal: SIGNAL },
    onWaiting: (what: string | undefined) => void waits.push(what),
    onFatal: (error: unknown) => void fatal.push(error),
  };
  const taker = new UnitTaker(options as unknown as UnitTakerOptions);
  taker.start(() => {}, isComing);
  const seeOwner = (): void => {
    isOrphan = false;
    view.notify();
  };
  return { taker, waits, seeOwner };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await settled();
}

/** Of a unit whose last primary left no file. */
async function take(change: () => void): Promise<unknown[]> {
  const { taker } = start(change);
  await turns();
  await taker.stop();
  return [rig.data.get(rig.keys.recovery)?.value, shards.heads.units(), fatal];
}

it('raises the recovery number for a unit of which something may be missing', async () => {
  expect(await take(() => {})).toEqual(['1', [UNIT], []]);
});

it('does not when the unit had been handed over to another pserver, which its view does not show yet', async () => {
  expect(await take(() => lead({ index: 0, token: '5' }))).toEqual([undefined, [], []]);
});

it('does not when the primary has its index, which its view does not show yet', async () => {
  rig.put(rig.keys.ps(GONE.index), 'here:1');
  const token = rig.data.get(rig.keys.ps(GONE.index))!.createRevision.toString();
  lead({ index: GONE.index, token });
  expect(await take(() => {})).toEqual([undefined, [], []]);
});

it('waits for a file out of reach, until another pserver has the unit', async () => {
  const { index, uuid } = await rig.save(GONE.index, [UNIT]);
  await rig.putAway(index, uuid);
  const { taker, waits, seeOwner } = start(() => {});
  await turns();
  rig.clock.advance(60_000);
  await turns();
  const away = expect.stringContaining(`files of pserver ${index}`);
  expect([taker.isTaking(UNIT), waits.at(-1)]).toEqual([true, away]);
  lead({ index: 0, token: '5' });
  seeOwner();
  await turns();
  // It pauses before it looks what else is due.
  rig.clock.advance(60_000);
  await turns();
  expect(taker.isTaking(UNIT)).toBe(false);
  await taker.stop();
  expect([rig.data.get(rig.keys.recovery)?.value, shards.heads.units(), fatal]).toEqual([undefined, [], []]);
});

it('tries again after an attempt that failed, even when its view shows no change', async () => {
  rig.put(rig.keys.ps(GONE.index), 'here:1');
  const token = rig.data.get(rig.keys.ps(GONE.index))!.createRevision.toString();
  lead({ index: GONE.index, token });
  const { taker } = start(() => {});
  await turns();
  expect(shards.heads.units()).toEqual([]);
  rig.data.txn({ if: [], then: [{ delete: rig.keys.ps(GONE.index) }] });
  rig.clock.advance(60_000);
  await turns();
  await taker.stop();
  expect([shards.heads.units(), fatal]).toEqual([[UNIT], []]);
});

it('leaves a unit alone that another pserver is moving here, and takes it when that move is given up', async () => {
  const coming = new Set([UNIT]);
  const { taker } = start(
    () => {},
    (unit) => coming.has(unit),
  );
  await turns();
  expect([taker.isTaking(UNIT), shards.heads.units(), shards.parameters.hasShard(UNIT)]).toEqual([false, [], false]);
  expect(rig.data.get(rig.keys.recovery)).toBeUndefined();
  coming.delete(UNIT);
  taker.recheck();
  await turns();
  await taker.stop();
  expect([shards.heads.units(), fatal]).toEqual([[UNIT], []]);
});

/**
 * Which files of a pserver are bases and which are deltas. Whatever operation of its disk it dies at, what it published
 * last can be loaded, with what it builds on, and the next process leaves no other file.
 */
import { describe, expect, it } from 'vitest';
import { generationsOf, readEntry } from '../../../../src/checkpoint/registry/entry.ts';
import { removeOrphans } from '../../../../src/checkpoint/registry/orphans.ts';
import { isDelta } from '../../../../src/checkpoint/registry/retention.ts';
import type { Job } from '../../../../src/job/schema.ts';
import { FileReads } from '../../../../src/roles/pserver/files/file-reads.ts';
import { type SaveKind, type SnapshotOptions, Snapshots } from '../../../../src/roles/pserver/files/snapshots.ts';
import { OwnedShards } from '../../../../src/roles/pserver/held/owned-shards.ts';
import { NO_POSITIONS } from '../../../../src/roles/pserver/held/positions.ts';
import type { ParameterMemory } from '../../../../src/tensor/parameters.ts';
import { allShards, contentOf, emptyParameters, JOB_ID, jobOf, loadUsable } from '../../../checkpoint/fixture.ts';
import { createDice } from '../../../sim/dice.ts';
import type { SimulatedDisk } from '../../../simulated-disk.ts';
import { rowsPart, SGD } from '../../../tensor/fixture.ts';
import { firstHeads } from '../held/owned-heads.ts';
import { CutRig, FOLDER, INDEX } from '../modes/rounds/cut-rig.ts';
import { UNTIMED } from '../untimed.ts';

const PLACE = { folder: FOLDER, index: INDEX };
const eviction = { unseenUpdates: 3 };
const JOB = jobOf({
  ...{ shards: 3, optimizer: SGD },
  parameters: {
    dense: [{ name: 'w', shape: [40], initializer: { type: 'zeros' } }],
    sparse: [{ name: 'emb', width: 1, initializer: { type: 'zeros' } }],
  },
  tables: { emb: { eviction } },
});
const looks = { shards: JOB.shards, seenRange: 64, spread: 2, evictions: [eviction] };
type CheckpointRules = Pick<Job['checkpoint'], 'keep' | 'intervalMs' | 'delta'>;
const CHECKPOINT: CheckpointRules = { keep: 0, intervalMs: 'off', delta: { intervalMs: 1, maxShare: 1.2 } };
const SAVES = 6;

class Process {
  readonly rig = new CutRig();
  readonly parameters = emptyParameters(JOB);
  readonly shards: OwnedShards;
  readonly snapshots: Snapshots;
  #pushes = 0;

  constructor(checkpoint: CheckpointRules = CHECKPOINT) {
    const { context, fence, clock } = this.rig;
    for (const shard of allShards(JOB)) this.parameters.addShard(shard);
    const job = { spec: JOB.parameters, shards: JOB.shards, units: 1, tasks: 100, looks };
    this.shards = new OwnedShards(job, firstHeads([0]), { parameters: this.parameters, ...NO_POSITIONS });
    const { seed, shards } = JOB;
    this.snapshots = new Snapshots({
      ...{ context, fence, index: INDEX, folder: FOLDER, spec: JOB.parameters, shards: this.shards },
      ...{ reads: new FileReads(clock), isFolderKnown: false, recovery: () => 0 },
      record: { id: JOB_ID, job: { name: 'small', training: { seed }, cluster: { shards }, checkpoint } },
      metrics: { times: UNTIMED, saves: { saved: () => {}, failed: () => {} } },
    } as unknown as SnapshotOptions);
  }

  /** Names other rows each time, so that rows are made, changed and evicted. */
  push(): void {
    const at = this.#pushes++;
    const ids = [0, 1, 2, 3, 4].map((id) => BigInt(3 * at + id));
    const push = { pass: 0, task: at, push: 0, last: true, good: 1 };
    const sparse = [rowsPart(0, ids, Array<number>(ids.length).fill(at + 1))];
    this.shards.apply({ type: 'push', push, shards: allShards(JOB), sparse, dense: [], rateScale: 1 });
  }

  async published() {
    const { entry } = await readEntry(this.rig.context.store, this.rig.context.keys.checkpoint(INDEX));
    return entry === undefined ? [] : generationsOf(entry);
  }
}

describe('the next file is', () => {
  /** Saves after two pushes each, and returns the kinds of the files. */
  async function kindsOf(process: Process, kinds: readonly SaveKind[]): Promise<(string | undefined)[]> {
    const found: (string | undefined)[] = [];
    for (const kind of kinds) {
      process.push();
      process.push();
      await process.snapshots.save(kind);
      found.push((await process.published())[0]!.kind);
    }
    return found;
  }
  const ROOMY = { keep: 1, intervalMs: 1_000, delta: { intervalMs: 1, maxShare: 10 } };

  it('a base if it is the first, if one is asked for, and if nothing follows it', async () => {
    const kinds = ['due', 'due', 'base', 'due', 'last', 'due'] as const;
    expect(await kindsOf(new Process(ROOMY), kinds)).toEqual(['full', 'delta', 'full', 'delta', 'full', 'delta']);
  });

  it('a base when its interval is over, counted from the last base', async () => {
    const process = new Process(ROOMY);
    expect(await kindsOf(process, ['due', 'due'])).toEqual(['full', 'delta']);
    await process.rig.clock.advance(999);
    expect(await kindsOf(process, ['due'])).toEqual(['delta']);
    await process.rig.clock.advance(1);
    expect(await kindsOf(process, ['due', 'due'])).toEqual(['full', 'delta']);
  });

  it('a base when the deltas on the last one are too large', async () => {
    const rules = { ...ROOMY, delta: { intervalMs: 1, maxShare: 1e-6 } };
    expect(await kindsOf(new Process(rules), ['due', 'due', 'due'])).toEqual(['full', 'delta', 'full']);
  });

  it('a base if the store no longer lists the last one', async () => {
    const process = new Process(ROOMY);
    expect(await kindsOf(process, ['due', 'due'])).toEqual(['full', 'delta']);
    const before = process.rig.disk.names(`${FOLDER}/${INDEX}`);
    process.rig.put(process.rig.context.keys.checkpoint(INDEX), 'not JSON');
    await expect(process.snapshots.save('due')).rejects.toThrow('which the store no longer lists');
    expect(process.rig.disk.names(`${FOLDER}/${INDEX}`)).toEqual(before);
    expect(await kindsOf(process, ['due', 'due'])).toEqual(['full', 'delta']);
  });

  it('a base in a job without deltas', async () => {
    expect(await kindsOf(new Process({ keep: 1, intervalMs: 1_000 }), ['due', 'due'])).toEqual(['full', 'full']);
  });
});

/** Empty between checks. */
const LOADED = emptyParameters(JOB);

async function checkLoaded(disk: SimulatedDisk, process: Process, states: ReadonlyMap<string, unknown>): Promise<void> {
  const published = await process.published();
  const { token } = process.rig.fence;
  const names = new Set(published.map(({ uuid }) => uuid));
  await removeOrphans({ storage: disk.storage, place: PLACE, jobId: JOB_ID, token: token + 1n, published: names });
  expect(new Set(disk.names(`${FOLDER}/${INDEX}`))).toEqual(names);
  const [newest] = published;
  if (newest === undefined) return;
  const reading = { storage: disk.storage, place: PLACE, expected: JOB, into: LOADED, shards: allShards(JOB) };
  const outcome = await loadUsable(published, reading);
  expect(outcome).toMatchObject({ complaints: [], lost: [] });
  expect(new Set(outcome.parts.map(({ file }) => file.generation.uuid))).toEqual(new Set([newest.uuid]));
  expect(stateOf(LOADED)).toEqual(states.get(newest.uuid));
  for (const shard of LOADED.shards()) LOADED.dropShard(shard);
}

const stateOf = (parameters: ParameterMemory): unknown => contentOf(parameters, JOB);

const seen = { deltas: 0, bases: 0, dropped: 0 };

/** Returns the number of saves that succeeded. */
async function dieAt(operation: number, when: 'before' | 'after'): Promise<number> {
  const process = new Process();
  const { disk } = process.rig;
  const states = new Map<string, unknown>();
  disk.crashAt(operation, when);
  for (let save = 0; save < SAVES; save++) {
    process.push();
    process.push();
    const state = stateOf(process.parameters);
    const file = await process.snapshots.save('due').catch(() => undefined);
    if (file === undefined) break;
    states.set(file.uuid, state);
  }
  const published = await process.published();
  for (const one of published) seen[isDelta(one) ? 'deltas' : 'bases'] += 1;
  seen.dropped += states.size - published.length;
  const dice = createDice(operation, when);
  await checkLoaded(
    disk.afterCrash(() => dice.fraction()),
    process,
    states,
  );
  return states.size;
}

it('a pserver that dies at any operation of its disk leaves whole chains', async () => {
  let saves = 0;
  for (let operation = 0; saves < SAVES; operation++) {
    await dieAt(operation, 'before');
    saves = await dieAt(operation, 'after');
  }
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
});

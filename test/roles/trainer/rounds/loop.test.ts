import { describe, expect, test } from 'vitest';
import { PaddletError } from '../../../../src/base/errors.ts';
import { createDice } from '../../../sim/dice.ts';
import { Timeline, turn } from '../../../sim/timeline.ts';
import { RigMaster, type RigTrainer, startTrainer, type TrainerOptions } from './round-trainer.ts';
import { LANES, MODEL, PASSES, plainLoop, planOf, recordsOf, type Values } from './rounds-job.ts';
import { RigCluster } from './rounds-rig.ts';

const ROUNDS = planOf().firstOf(PASSES);
const EXPECTED = plainLoop();
const LONG_MS = 600_000;

/** Where a record of task 4 is in the batch, the gradient is no number. */
const OFTEN_BAD: typeof MODEL = {
  ...MODEL,
  step(batch, values) {
    const made = MODEL.step(batch, values);
    const { ids, count } = batch.sparse[0]!;
    const has = new BigUint64Array(ids.slice(0, 8 * count).buffer).includes(104n);
    return has ? { ...made, dense: [Float32Array.of(Number.NaN)] } : made;
  },
};

const sorted = ({ dense, rows }: Values) => ({ dense, rows: [...rows].sort(([a], [b]) => a - b) });

class Rig {
  readonly timeline = new Timeline();
  readonly cluster: RigCluster;
  readonly master: RigMaster;
  readonly log: string[] = [];
  readonly trainers: RigTrainer[] = [];
  readonly dice;

  readonly expected: Values;

  constructor(seed: number, pservers: number, expected = EXPECTED) {
    this.expected = expected;
    this.dice = createDice(seed, 'rounds');
    this.cluster = new RigCluster({ pservers, lanes: LANES, timeline: this.timeline, dice: this.dice });
    this.master = new RigMaster(this.timeline, this.dice);
  }

  start(id: string, more: Partial<TrainerOptions> = {}): RigTrainer {
    const { cluster, master, timeline, log } = this;
    const trainer = startTrainer({ id, cluster, master, timeline, log, ...more });
    this.trainers.push(trainer);
    return trainer;
  }

  /** Lanes in turn to these. */
  deal(...ids: string[]): void {
    this.master.deal(Array.from({ length: LANES }, (_, lane) => (ids.length === 0 ? [] : [ids[lane % ids.length]!])));
  }

  isDone = (): boolean => this.cluster.pservers.every(({ gate }) => gate.version() === ROUNDS);

  async run(until: () => boolean = this.isDone): Promise<void> {
    // What the test did since is seen before the time goes on.
    await turn();
    await this.timeline.run(until, this.timeline.nowMs + LONG_MS);
    if (!until()) throw new Error(`it stands still: ${JSON.stringify(this.log.slice(-5))}`);
  }

  async finish(): Promise<void> {
    await this.run();
    this.master.end();
    await this.run(() => this.trainers.every(({ outcome }) => outcome !== 'running'));
    await this.timeline.run(() => false, this.timeline.nowMs + 60_000);
    expect(sorted(this.cluster.values())).toEqual(sorted(this.expected));
    expect(this.cluster.log.filter((line) => line !== 'duplicate' && line !== 'pending')).toEqual([]);
    // Whatever was given up on the way: every answer was freed.
    expect(this.cluster.answers.open).toBe(0);
    expect(this.trainers.map((trainer) => trainer.gradientsHeld())).toEqual(this.trainers.map(() => 0));
  }

  /** Runs until the first pserver has that version. */
  reach(version: number): Promise<void> {
    return this.run(() => this.cluster.pservers.some(({ gate }) => gate.version() >= version));
  }
}

describe('rounds', () => {
  test.each([
    [1, 1],
    [1, 2],
    [3, 2],
    [4, 3],
  ])('%i trainers and %i pservers make what the plain loop makes', async (trainers, pservers) => {
    const rig = new Rig(trainers, pservers);
    const ids = Array.from({ length: trainers }, (_, i) => `t${i}`);
    for (const id of ids) rig.start(id);
    rig.deal(...ids);
    await rig.finish();
    expect(rig.trainers.map(({ outcome }) => outcome)).toEqual(ids.map(() => 'over'));
    expect(rig.cluster.log).toEqual([]);
  });

  test('no trainer computes more rounds than it may', async () => {
    const rig = new Rig(5, 2);
    for (const id of ['t0', 't1']) rig.start(id);
    rig.master.until = 3;
    rig.deal('t0', 't1');
    await rig.reach(3);
    await rig.timeline.run(() => false, rig.timeline.nowMs + 30_000);
    expect(rig.cluster.pservers.map(({ gate }) => gate.version())).toEqual([3, 3]);
    rig.master.goOn(5);
    await rig.reach(5);
    rig.master.goOn(ROUNDS);
    await rig.finish();
  });

  test('a trainer without lanes stands by and asks no pserver', async () => {
    const rig = new Rig(1, 2);
    rig.start('t0');
    const idle = rig.start('idle');
    rig.deal('t0');
    await rig.finish();
    expect(idle.spent()).toMatchObject({ pull: 0, push: 0, wait: 0, compute: 0 });
    expect(idle.tasksHeld()).toBe(0);
  });

  test('a re-deal interrupts the wait at the barrier', async () => {
    const rig = new Rig(2, 2);
    rig.start('t0');
    const dead = rig.start('t1');
    rig.deal('t0', 't1');
    await rig.reach(2);
    dead.kill();
    await rig.timeline.run(() => false, rig.timeline.nowMs + 30_000);
    expect(rig.isDone()).toBe(false);
    expect(rig.log.find((line) => line.startsWith('t0: waiting for round'))).toMatch(
      /round \d: lanes 1, 3 at pserver \d.* of trainer t1, for 10 s/,
    );
    rig.deal('t0');
    await rig.finish();
  });

  test('lanes taken away are still pushed until the round is over', async () => {
    const rig = new Rig(3, 2);
    rig.start('t0');
    rig.start('t1');
    rig.deal('t0', 't1');
    for (let version = 1; version < ROUNDS; version++) {
      await rig.reach(version);
      if (version % 2 === 0) rig.deal('t0', 't1');
      else rig.deal('t1', 't0');
    }
    await rig.finish();
  });

  test('two trainers of one lane push the same', async () => {
    const rig = new Rig(4, 2);
    for (const id of ['t0', 't1']) rig.start(id);
    rig.master.deal(Array.from({ length: LANES }, () => ['t0', 't1']));
    await rig.finish();
    expect(rig.cluster.log).toContain('duplicate');
  });

  test('a restarted pserver gets the lanes of the round again', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const rig = new Rig(seed, 2);
      for (const id of ['t0', 't1']) rig.start(id);
      rig.deal('t0', 't1');
      await rig.reach(1 + (seed % (ROUNDS - 1)));
      await rig.timeline.run(() => false, rig.timeline.nowMs + rig.dice.between(0, 12));
      rig.cluster.kill(seed % 2);
      await rig.timeline.run(() => false, rig.timeline.nowMs + 2_000);
      rig.cluster.revive(seed % 2);
      await rig.finish();
      expect(rig.master.reports).toEqual([]);
      // No pserver had to say that it lacks them.
      expect(rig.cluster.log).not.toContain('pending');
    }
  });

  test('all pservers set back to the beginning: the rounds are computed again on the next timeline', async () => {
    const rig = new Rig(6, 2);
    for (const id of ['t0', 't1']) rig.start(id);
    rig.deal('t0', 't1');
    await rig.reach(3);
    const setBack = (index: number): void => {
      const pserver = rig.cluster.pservers[index]!;
      const dense = pserver.values.dense === undefined ? undefined : 0;
      pserver.setBack({ timeline: 1, version: 0, values: { dense, rows: new Map() } });
    };
    setBack(0);
    await rig.timeline.run(() => false, rig.timeline.nowMs + 700);
    setBack(1);
    await rig.finish();
    expect(rig.master.reports).toEqual([]);
  });

  test('a version that is gone while lanes of it are wanted is reported as stuck', async () => {
    const rig = new Rig(7, 2);
    const dead = rig.start('t0');
    rig.deal('t0');
    // One pserver is a version ahead, and the other one has lost the lanes.
    const [a, b] = rig.cluster.pservers;
    await rig.run(() => Math.abs(a!.gate.version() - b!.gate.version()) === 1);
    dead.kill();
    const late = a!.gate.version() > b!.gate.version() ? b! : a!;
    for (const { index } of [a!, b!]) {
      rig.cluster.kill(index);
      rig.cluster.revive(index);
    }
    rig.start('t1');
    rig.deal('t1');
    await rig.run(() => rig.master.reports.length > 0);
    expect(rig.master.reports[0]).toMatchObject({ type: 'roundStuck', timeline: 0, round: late.gate.version() });
    for (const pserver of [a!, b!]) {
      const dense = pserver.values.dense === undefined ? undefined : 0;
      pserver.setBack({ timeline: 1, version: 0, values: { dense, rows: new Map() } });
    }
    await rig.finish();
  });
});

describe('what goes wrong with a lane', () => {
  test('a gradient that is no number is reported with its records, and the other lanes are pushed', async () => {
    const rig = new Rig(1, 1);
    rig.start('t0', { model: OFTEN_BAD });
    rig.deal('t0');
    await rig.run(() => rig.master.reports.length > 0);
    expect(rig.master.reports[0]).toMatchObject({ type: 'failLane', trainer: 't0', code: 'BadGradient', data: true });
    expect(rig.master.reports[0]).toHaveProperty('error', expect.stringContaining('task 4'));
    const { lane } = rig.master.reports[0] as { lane: number };
    await rig.run(() => rig.cluster.pservers[0]!.gate.missing().length === 1);
    expect(rig.cluster.pservers[0]!.gate.missing()).toEqual([lane]);
  });

  test('a gradient that is no number is clipped where the job says so, by any trainer', async () => {
    const MAX_NORM = 0.25;
    const clipped = plainLoop(({ records, dense, rows }) => {
      const bias = rows.has(104) ? 0 : dense!;
      const norm = Math.sqrt([...rows.values()].reduce((sum, one) => sum + one * one, bias * bias));
      const scale = Math.min(1, MAX_NORM / (norm + 1e-6));
      const scaled = [...rows].map(([id, one]): [number, number] => [id, Math.fround(one * scale)]);
      return { records, dense: Math.fround(bias * scale), rows: new Map(scaled) };
    });
    const rig = new Rig(2, 2, clipped);
    for (const id of ['t0', 't1']) rig.start(id, { model: OFTEN_BAD, maxGradientNorm: MAX_NORM });
    rig.deal('t0', 't1');
    await rig.finish();
    expect(rig.master.reports).toEqual([]);
    expect(rig.log.some((line) => line.includes('has NaN or infinite values: they count as 0'))).toBe(true);
  });

  test('a task that cannot be read is tried again while the lane is this trainer’s', async () => {
    const rig = new Rig(2, 2);
    let failures = 0;
    rig.start('t0', {
      read: (task) => {
        if (task === 2 && failures++ < 3) throw new PaddletError('DataCacheFailed', 'no room');
        return recordsOf(task);
      },
    });
    rig.deal('t0');
    await rig.finish();
    const codes = rig.master.reports.map((report) => (report.type === 'failLane' ? [report.code, report.data] : []));
    expect(codes.length).toBeGreaterThan(0);
    expect(new Set(codes.map(String))).toEqual(new Set(['DataCacheFailed,false']));
  });

  test('a pserver that refuses a lane for good: the lane is reported', async () => {
    const rig = new Rig(3, 2);
    let refusals = 0;
    rig.cluster.pservers[1]!.refuse = ({ lane, round }) =>
      lane === 2 && round === 3 && refusals++ < 2 ? new PaddletError('OutOfMemory', 'full') : undefined;
    rig.start('t0');
    rig.deal('t0');
    await rig.finish();
    expect(rig.master.reports).toHaveLength(2);
    expect(rig.master.reports[0]).toMatchObject({ round: 3, lane: 2, code: 'OutOfMemory', data: false });
  });
});

describe('leaving', () => {
  test('asked to stop, a trainer sees that every pserver has the lanes that it computed', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const rig = new Rig(seed, 2);
      const leaving = rig.start('t0');
      rig.deal('t0', 'absent');
      const { pservers } = rig.cluster;
      const hasAny = (): boolean => pservers.some(({ gate }) => !gate.missing().includes(0));
      await rig.run(hasAny);
      leaving.stop();
      await rig.run(() => leaving.outcome !== 'running');
      expect(leaving.outcome).toBe('interrupted');
      expect(pservers.map(({ gate }) => gate.missing())).toEqual([
        [1, 3],
        [1, 3],
      ]);
      expect(rig.master.left).toEqual(['t0']);
      rig.start('t1');
      rig.deal('t1');
      await rig.finish();
    }
  });

  test('it does not wait for a pserver that stays away', async () => {
    const rig = new Rig(1, 2);
    const leaving = rig.start('t0');
    rig.deal('t0', 'absent');
    await rig.run(() => !rig.cluster.pservers[0]!.gate.missing().includes(0));
    rig.cluster.kill(1);
    expect(leaving.gradientsHeld()).toBeGreaterThan(0);
    leaving.stop();
    await rig.run(() => leaving.outcome !== 'running');
    expect(leaving.outcome).toBe('interrupted');
    expect(leaving.gradientsHeld()).toBe(0);
  });
});

describe('reading', () => {
  test('at most two tasks a lane are held', async () => {
    const rig = new Rig(5, 1);
    let most = 0;
    const trainer = rig.start('t0', {
      read: (task) => {
        most = Math.max(most, trainer.tasksHeld());
        return recordsOf(task);
      },
    });
    rig.deal('t0');
    await rig.finish();
    expect(most).toBeGreaterThan(LANES);
    expect(most).toBeLessThanOrEqual(2 * LANES);
  });
});

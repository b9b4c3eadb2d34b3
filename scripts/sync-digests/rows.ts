/** What is done to the clusters whose digests must be the same. */
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import type { RoleName } from '../chaos/ends.ts';
import { byHand } from './by-hand.ts';
import { pause, type Scene } from './scene.ts';

export interface RowContext {
  /** Rounds of each pass. */
  readonly rounds: readonly number[];
  readonly seed: number;
}

export interface Row {
  readonly name: string;
  readonly etcd?: boolean;
  /** Says what was done to it. Throws when the job did not end well. */
  run(scene: Scene, context: RowContext): Promise<string>;
}

const INTERRUPTED = 130;
export const FEWEST_KILLS = 50;
const FEWEST_LEAVES = 20;

const undisturbed = (trainers: number, pservers: number, etcd = false): Row => ({
  name: `${trainers} + ${pservers}${etcd ? ', etcd' : ''}`,
  etcd,
  async run(scene) {
    const { code, out } = await scene.startRun({ trainers, pservers }).ended;
    if (code !== 0) throw new Error(`run ended with ${code}: ${out}`);
    return '';
  },
});

const roundsIn = (rounds: readonly number[]): number => rounds.reduce((sum, count) => sum + count, 0);

/** A round that is neither the first nor the last of its pass, so far through the job. */
function inMidPass(rounds: readonly number[], fraction: number): number {
  const pass = Math.floor(fraction * rounds.length);
  const first = rounds.slice(0, pass).reduce((sum, count) => sum + count, 0);
  return first + Math.floor(0.4 * rounds[pass]!);
}

/** Stops the job cleanly in that round. Says where it stood. */
async function stopIn(scene: Scene, size: { trainers: number; pservers: number }, round: number): Promise<string> {
  const { child, ended } = scene.startRun(size);
  const at = await scene.reaches(round, ended);
  child.kill('SIGINT');
  const { code, out } = await ended;
  if (code !== INTERRUPTED || (await scene.hasResult()))
    throw new Error(`the run that was stopped ended with ${code}: ${out}`);
  return `stopped in round ${at}`;
}

async function goOn(scene: Scene, size: { trainers: number; pservers: number }): Promise<void> {
  const { code, out } = await scene.startRun(size).ended;
  if (code !== 0) throw new Error(`run ended with ${code}: ${out}`);
}

const stopped: Row = {
  name: 'stopped, went on',
  async run(scene, { rounds }) {
    const size = { trainers: 3, pservers: 2 };
    const where = [
      await stopIn(scene, size, inMidPass(rounds, 0.2)),
      await stopIn(scene, { trainers: 2, pservers: 2 }, inMidPass(rounds, 0.6)),
    ];
    await goOn(scene, size);
    return where.join(', ');
  },
};

const restored: Row = {
  name: 'restored to 3, to 1',
  async run(scene, { rounds }) {
    const restore = async (pservers: number): Promise<void> => {
      const { code, out } = await scene.start('restore', '--dir', 'run', '--pservers', String(pservers), '--json')
        .ended;
      if (code !== 0) throw new Error(`restore ended with ${code}: ${out}`);
    };
    const where = [await stopIn(scene, { trainers: 3, pservers: 2 }, inMidPass(rounds, 0.3))];
    await restore(3);
    where.push(await stopIn(scene, { trainers: 3, pservers: 3 }, inMidPass(rounds, 0.6)));
    await restore(1);
    await goOn(scene, { trainers: 3, pservers: 1 });
    return where.join(', ');
  },
};

/** Whom a kill strikes, by weight. */
const VICTIMS: readonly RoleName[] = ['trainer', 'trainer', 'trainer', 'pserver', 'pserver', 'master'];

const killed: Row = {
  name: `killed ${FEWEST_KILLS} times`,
  async run(scene, { rounds, seed }) {
    const random = createRandomStream(seed);
    const all = roundsIn(rounds);
    const kills = new Map<RoleName, number>();
    let count = 0;
    const options = { trainers: 3, pservers: 2, masters: 2, restartAfterMs: () => 50 + 400 * Math.random() };
    await byHand(scene, options, async (cluster, isOver) => {
      let dueMs = Number.POSITIVE_INFINITY;
      while (!isOver() && count < FEWEST_KILLS) {
        await pause(20);
        const round = await scene.round();
        if (dueMs === Number.POSITIVE_INFINITY && (round ?? 0) > 0) dueMs = performance.now();
        // Ahead of a job that is faster than they are.
        const isAhead = round !== undefined && round / all > (count + 1) / (FEWEST_KILLS + 5);
        if (performance.now() < dueMs && !isAhead) continue;
        const role = VICTIMS[Math.floor(random.uniform() * VICTIMS.length)]!;
        const awake = cluster.awake(role);
        const slot = awake[Math.floor(random.uniform() * awake.length)];
        if (slot === undefined) continue;
        cluster.kill(slot);
        count += 1;
        kills.set(role, (kills.get(role) ?? 0) + 1);
        dueMs = performance.now() + 200 + 1_200 * random.uniform();
      }
    });
    if (count < FEWEST_KILLS) throw new Error(`the job ended after ${count} of ${FEWEST_KILLS} kills`);
    return [...kills].map(([role, times]) => `${times} ${role}`).join(', ');
  },
};

const comingAndGoing: Row = {
  name: 'trainers come and go',
  async run(scene, { rounds, seed }) {
    const all = roundsIn(rounds);
    const random = createRandomStream(seed + 1);
    let leaves = 0;
    const options = { trainers: 5, pservers: 2, masters: 1, restartAfterMs: () => 50 + 2_500 * random.uniform() };
    await byHand(scene, options, async (cluster, isOver) => {
      let dueMs = 0;
      while (!isOver()) {
        await pause(50);
        const round = (await scene.round()) ?? 0;
        // As with kills: ahead of a fast job.
        const isAhead = round / all > (leaves + 1) / (FEWEST_LEAVES + 5);
        if (round === 0 || (performance.now() < dueMs && !isAhead)) continue;
        const awake = cluster.awake('trainer').filter(({ proc }) => !proc!.asked.has('term'));
        const slot = awake[Math.floor(random.uniform() * awake.length)];
        // One stays, or nothing would ever be done.
        if (slot === undefined || awake.length < 2) continue;
        cluster.term(slot);
        leaves += 1;
        dueMs = performance.now() + 400 + 1_000 * random.uniform();
      }
    });
    if (leaves < FEWEST_LEAVES) throw new Error(`only ${leaves} trainers left before the job ended`);
    return `${leaves} left, as many joined`;
  },
};

export const ALONE = undisturbed(1, 1);
export const SEVERAL = undisturbed(3, 2);
export const ROWS: readonly Row[] = [
  ALONE,
  SEVERAL,
  undisturbed(8, 4),
  undisturbed(3, 2, true),
  stopped,
  restored,
  killed,
  comingAndGoing,
];

/**
 * A job of a simulated schedule that is evaluated while it trains, and may end early. The score of a model is made up
 * from its name, so where the job halts, ends, and which model is its best is known beforehand.
 */
import { PaddletError } from '../../src/base/errors.ts';
import type { Metrics } from '../../src/cluster/job/job-result.ts';
import type { Job } from '../../src/job/schema.ts';
import type { ModelKeeper } from '../../src/roles/master/best/model-keeper.ts';
import { createDice } from './dice.ts';
import type { SimulatedProcess } from './process.ts';
import type { Witness } from './witness.ts';
import type { Workload } from './workload.ts';

/** Enough for a job of one point a pass to end early. */
const PASSES = 4;
const PATIENCE = 1;

export type Scores = (name: string) => number;

const scoresOf =
  (seed: number): Scores =>
  (name) =>
    createDice(seed, `score of ${name}`).whole(1, 9);

/** `continuedAt`: the job has so many passes at first. */
export function evaluated(workload: Workload, seed: number, continuedAt?: number): Workload {
  const dice = createDice(seed, 'evaluation');
  const isByRounds = workload.roundsOf !== undefined && dice.chance(0.7);
  const every = isByRounds ? dice.whole(2, 12) : dice.whole(1, 2);
  const scoreOf = scoresOf(seed);
  const job: Job = {
    ...workload.job,
    training: { ...workload.job.training, passes: PASSES },
    evaluation: {
      ...(isByRounds ? { everyRounds: every } : { everyPasses: every }),
      data: [],
      labels: [],
      metric: 'logloss',
      patience: PATIENCE,
      minDelta: 0,
    },
  };
  return {
    ...workload,
    job,
    kept: { scoreOf, names: new Set() },
    expected() {
      const end = endOf(isByRounds ? workload.roundsOf! : () => 1, { every, isByRounds, scoreOf, continuedAt });
      return { ...workload.expected(end.passes), passes: end.passes, best: end.best, last: end.last };
    },
  };
}

interface Points {
  readonly every: number;
  readonly isByRounds: boolean;
  readonly scoreOf: Scores;
  readonly continuedAt: number | undefined;
}

/** What masters keep and score. */
export interface Kept {
  readonly scoreOf: Scores;
  readonly names: Set<string>;
}

/** Step by step, a round (or a pass) at a time. Scores are known one point later. */
function endOf(stepsOf: (pass: number) => number, { every, isByRounds, scoreOf, continuedAt }: Points) {
  let steps = 0;
  let best: string | undefined;
  let last = '';
  let scored = '';
  let worse = 0;
  let isStopping = false;
  const score = (): void => {
    if (last === scored) return;
    scored = last;
    if (best === undefined || scoreOf(last) < scoreOf(best)) [best, worse] = [last, 0];
    else worse += 1;
    isStopping ||= worse >= PATIENCE;
  };
  for (let pass = 0; pass < PASSES; pass++) {
    const inPass = stepsOf(pass);
    for (let step = 1; step <= inPass; step++) {
      steps += 1;
      const isPassEnd = step === inPass;
      const isLast = isPassEnd && pass === PASSES - 1;
      const isContinued = isPassEnd && pass + 1 === continuedAt;
      const isPoint = steps % every === 0 || isLast || isContinued || (isStopping && isPassEnd);
      if (!isPoint || (isStopping && !isPassEnd)) continue;
      score();
      last = isByRounds ? `round-${steps}` : `pass-${pass + 1}`;
      if (isContinued) {
        score();
        [worse, isStopping] = [0, false];
        continue;
      }
      if (!isLast && !(isStopping && isPassEnd)) continue;
      score();
      return { passes: pass + 1, best, last };
    }
  }
  throw new Error('a job ends after its last pass');
}

const SCORING_MS = [1, 2_000] as const;

/** As one life of a master has it: keeping and scoring take time. */
export function simulatedKeeper(process: SimulatedProcess, { scoreOf, names }: Kept, witness: Witness): ModelKeeper {
  const { dice } = process;
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      process.clock.after(ms, resolve);
    });
  return {
    async keep(name) {
      await wait(dice.between(0.1, 50));
      names.add(name);
      witness.count('model kept');
      witness.tell(process.name, `keeps ${name}`);
    },
    async names() {
      await wait(dice.between(0.1, 50));
      return [...names];
    },
    async remove(name) {
      await wait(dice.between(0.1, 500));
      names.delete(name);
    },
    async score(name): Promise<Metrics> {
      await wait(dice.between(...SCORING_MS));
      if (!names.has(name)) throw new PaddletError('CheckpointMissing', `${name} is not kept`);
      witness.count('model scored');
      return { records: 1, logloss: scoreOf(name) };
    },
    pathOf: (name) => name,
  };
}

/**
 * A job of a simulated schedule that is evaluated while it trains, and may end early. The score of a model is made up
 * from its name, so where the job halts, ends, and which model is its best is known beforehand.
 */
import type { Metrics } from '../../src/cluster/job/job-result.ts';
import type { Job } from '../../src/job/schema.ts';
import type { ModelKeeper } from '../../src/roles/master/best/evaluations.ts';
import { createDice, type Dice } from './dice.ts';
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

export interface EvaluatedWorkload extends Workload {
  readonly scoreOf: Scores;
}

export function evaluated(workload: Workload, seed: number): EvaluatedWorkload {
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
    scoreOf,
    expected() {
      const end = endOf(isByRounds ? workload.roundsOf! : () => 1, { every, isByRounds, scoreOf });
      return { ...workload.expected(end.passes), passes: end.passes, best: end.best, last: end.last };
    },
  };
}

interface Points {
  readonly every: number;
  readonly isByRounds: boolean;
  readonly scoreOf: Scores;
}

/** Step by step, a round (or a pass) at a time. Scores are known one point later. */
function endOf(stepsOf: (pass: number) => number, { every, isByRounds, scoreOf }: Points) {
  let steps = 0;
  let best: string | undefined;
  let last = '';
  let worse = 0;
  let isStopping = false;
  const score = (): void => {
    if (last === '') return;
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
      const isPoint = steps % every === 0 || isLast || (isStopping && isPassEnd);
      if (!isPoint || (isStopping && !isPassEnd)) continue;
      score();
      last = isByRounds ? `round-${steps}` : `pass-${pass + 1}`;
      if (!isLast && !(isStopping && isPassEnd)) continue;
      score();
      return { passes: pass + 1, best, last };
    }
  }
  throw new Error('a job ends after its last pass');
}

const SCORING_MS = [1, 2_000] as const;

/** As one life of a master has it: keeping and scoring take time. */
export function simulatedKeeper(process: SimulatedProcess, dice: Dice, scoreOf: Scores, witness: Witness): ModelKeeper {
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      process.clock.after(ms, resolve);
    });
  return {
    async keep(name) {
      await wait(dice.between(0.1, 50));
      witness.count('model kept');
      witness.tell(process.name, `keeps ${name}`);
    },
    retain: async () => {},
    async score(name): Promise<Metrics> {
      await wait(dice.between(...SCORING_MS));
      witness.count('model scored');
      return { records: 1, logloss: scoreOf(name) };
    },
    pathOf: (name) => name,
  };
}

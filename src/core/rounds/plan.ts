/**
 * Which records a (round, lane) of a job in sync mode is: a function of the job and the index alone (docs/modes.md),
 * so that any trainer computes it for itself and the model depends on nothing else. The tasks of a pass, shuffled
 * by the seed, are handed to the lanes one after the other; round `r` of the pass is the `r`-th mini-batch of each
 * lane. A lane that has none left is empty until the pass ends.
 *
 * Rounds are numbered through all passes: round `r` makes version `r + 1` of the parameters out of version `r`.
 */
import { assert } from '../../base/assert.ts';
import { shuffled } from '../shuffle.ts';

export interface LaneBatch {
  readonly pass: number;
  readonly task: number;
  /** The mini-batch within the task, which is the push number in the ledger. */
  readonly push: number;
  /** Indexed positions of its records within the task: [from, to). */
  readonly from: number;
  readonly to: number;
  /** It is the last one of its task. */
  readonly last: boolean;
}

export interface RoundPlace {
  readonly pass: number;
  /** Counted from the first of the pass. */
  readonly round: number;
}

export interface RoundPlan {
  readonly lanes: number;
  /** Rounds of that pass. */
  roundsOf(pass: number): number;
  /** The first round of that pass; of the pass after the last: the number of all rounds. */
  firstOf(pass: number): number;
  /** Undefined when all passes are over by then. */
  placeOf(round: number): RoundPlace | undefined;
  /** Undefined when the lane is empty in that round. */
  batchOf(round: number, lane: number): LaneBatch | undefined;
}

export interface RoundPlanOptions {
  /** Indexed records of each task. */
  readonly taskRecords: Uint32Array;
  readonly batchSize: number;
  readonly passes: number;
  readonly lanes: number;
  readonly seed: number;
}

/**
 * The tasks of one pass by lane. `starts` has the lane's round at which each task begins, and at last where all end.
 */
interface LaneTasks {
  readonly tasks: Uint32Array;
  readonly starts: Float64Array;
}

/** Passes whose tasks are kept in memory: the current one, and its neighbor at the change of pass. */
const PASSES_AT_HAND = 2;

export function createRoundPlan(options: RoundPlanOptions): RoundPlan {
  const { taskRecords, batchSize, passes, lanes, seed } = options;
  assert(lanes >= 1 && batchSize >= 1, 'there is at least one lane and one record a batch');
  /** First round of each pass as far as known. */
  const firsts: number[] = [0];
  const atHand = new Map<number, readonly LaneTasks[]>();

  function lanesOf(pass: number): readonly LaneTasks[] {
    const known = atHand.get(pass);
    if (known !== undefined) return known;
    const dealt = deal(shuffled(taskRecords.length, seed, pass));
    atHand.set(pass, dealt);
    const [oldest] = atHand.keys();
    if (atHand.size > PASSES_AT_HAND && oldest !== undefined) atHand.delete(oldest);
    return dealt;
  }

  function deal(order: Uint32Array): LaneTasks[] {
    return Array.from({ length: lanes }, (_, lane) => {
      const count = Math.max(0, Math.ceil((order.length - lane) / lanes));
      const tasks = Uint32Array.from({ length: count }, (_, i) => order[lane + i * lanes]!);
      const starts = new Float64Array(tasks.length + 1);
      tasks.forEach((task, i) => {
        starts[i + 1] = starts[i]! + batchesOf(task);
      });
      return { tasks, starts };
    });
  }

  const batchesOf = (task: number): number => Math.max(1, Math.ceil(taskRecords[task]! / batchSize));
  const roundsOf = (pass: number): number =>
    lanesOf(pass).reduce((most, { starts }) => Math.max(most, starts[starts.length - 1]!), 0);

  function firstOf(pass: number): number {
    for (let known = firsts.length - 1; known < pass; known++) firsts.push(firsts[known]! + roundsOf(known));
    return firsts[pass]!;
  }

  function placeOf(round: number): RoundPlace | undefined {
    let pass = lastAtMost(firsts, round);
    while (pass < passes && firstOf(pass + 1) <= round) pass++;
    return pass >= passes ? undefined : { pass, round: round - firstOf(pass) };
  }

  return {
    lanes,
    roundsOf,
    firstOf,
    placeOf,
    batchOf(round, lane) {
      assert(lane >= 0 && lane < lanes, 'the lane is one of the job');
      const place = placeOf(round);
      if (place === undefined) return undefined;
      const { tasks, starts } = lanesOf(place.pass)[lane]!;
      if (place.round >= starts[tasks.length]!) return undefined;
      const at = lastAtMost(starts, place.round);
      const task = tasks[at]!;
      const push = place.round - starts[at]!;
      const from = push * batchSize;
      const to = Math.min(from + batchSize, taskRecords[task]!);
      return { pass: place.pass, task, push, from, to, last: push === batchesOf(task) - 1 };
    },
  };
}

/** Index of the last of the ascending values that is at most `bound`; the first value is. */
function lastAtMost(values: ArrayLike<number>, bound: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (values[middle]! <= bound) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * The records of this trainer's lanes, round by round. Of each lane the task in work and the one after it are held: the next
 * is read while the one before is worked.
 */
import type { LaneBatch, RoundPlan } from '../../../core/rounds/plan.ts';
import type { TaskRecords } from '../../../data/source.ts';
import type { Batch } from '../../../model/model.ts';

export interface LaneRecords {
  readonly place: LaneBatch;
  readonly batch: Batch;
  /** Good records of the task up to the end of the batch. */
  readonly good: number;
  /** File and lines, for messages. */
  describe(): string;
}

export interface LaneReader {
  /** Undefined when the lane is empty in that round. Rejects when its task cannot be read; the next call tries again. */
  read(round: number, lane: number): Promise<LaneRecords | undefined>;
  /** From that round on these lanes are wanted: what else is held is let go, and what comes next is read ahead. */
  ahead(round: number, lanes: readonly number[]): void;
  /** Tasks held, for tests. */
  held(): number;
}

type Held = Promise<TaskRecords>;

export function createLaneReader(plan: RoundPlan, readTask: (task: number) => Promise<TaskRecords>): LaneReader {
  /** For each lane, tasks by number. */
  const lanes = new Map<number, Map<number, Held>>();
  /** For each lane, a batch of the task that it was in when looked ahead last. */
  const at = new Map<number, LaneBatch>();

  function hold(lane: number, task: number): Held {
    const into = lanes.get(lane) ?? new Map<number, Held>();
    lanes.set(lane, into);
    const known = into.get(task);
    if (known !== undefined) return known;
    const records = readTask(task);
    into.set(task, records);
    // A failure is for whoever waits for it; the next call reads again.
    records.catch(() => {
      if (into.get(task) === records) into.delete(task);
    });
    return records;
  }

  /** The task that the lane works after the one of that round, in the next pass if need be. */
  function taskAfter(round: number, lane: number, now: LaneBatch | undefined): LaneBatch | undefined {
    for (let later = round + 1; ; later++) {
      const place = plan.placeOf(later);
      if (place === undefined) return undefined;
      const batch = plan.batchOf(later, lane);
      if (batch === undefined) later = plan.firstOf(place.pass + 1) - 1;
      else if (batch.task !== now?.task || batch.pass !== now.pass) return batch;
    }
  }

  function aheadOf(round: number, lane: number): void {
    const now = plan.batchOf(round, lane);
    const begun = at.get(lane);
    // Within a task nothing changes.
    if (begun !== undefined && now?.pass === begun.pass && now.task === begun.task && lanes.has(lane)) return;
    const next = taskAfter(round, lane, now);
    if (now === undefined) at.delete(lane);
    else at.set(lane, now);
    const held = lanes.get(lane);
    for (const task of held?.keys() ?? []) if (task !== now?.task && task !== next?.task) held?.delete(task);
    const first = now === undefined ? undefined : hold(lane, now.task);
    if (next === undefined) return;
    // What is wanted first is read first; if it cannot be, whoever wants it hears of it.
    if (first === undefined) hold(lane, next.task);
    else {
      const then = (): unknown => isHeld(lane, now!.task, first) && hold(lane, next.task);
      first.then(then).catch(() => {});
    }
  }

  const isHeld = (lane: number, task: number, records: Held): boolean => lanes.get(lane)?.get(task) === records;

  return {
    async read(round, lane) {
      const place = plan.batchOf(round, lane);
      if (place === undefined) return undefined;
      const records = await hold(lane, place.task);
      return {
        place,
        batch: records.batch(place.from, place.to),
        good: records.goodBefore(place.to),
        describe: () => records.describe(place.from, place.to),
      };
    },
    ahead(round, wanted) {
      for (const lane of lanes.keys()) {
        if (wanted.includes(lane)) continue;
        lanes.delete(lane);
        at.delete(lane);
      }
      for (const lane of wanted) aheadOf(round, lane);
    },
    held: () => [...lanes.values()].reduce((sum, tasks) => sum + tasks.size, 0),
  };
}

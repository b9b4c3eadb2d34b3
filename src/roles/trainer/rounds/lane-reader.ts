/**
 * The records of this trainer's lanes, round by round. For each lane it holds the current task and the next one, which
 * is read while the current one is trained on.
 */
import type { LaneBatch, RoundPlan } from '../../../core/rounds/plan.ts';
import type { TaskRecords } from '../../../data/source.ts';
import type { Batch } from '../../../model/model.ts';
import type { PassOrder } from '../tasks/pass-order.ts';

export interface LaneRecords {
  readonly position: LaneBatch;
  readonly batch: Batch;
  /** Good records of the task before the end of the batch. */
  readonly good: number;
  /** File and lines, for messages. */
  describe(): string;
}

export interface LaneReader {
  /**
   * Undefined when the lane is empty in that round. Rejects when its task cannot be read; the next call tries again.
   */
  read(round: number, lane: number): Promise<LaneRecords | undefined>;
  /**
   * From that round on these lanes are wanted: drops the tasks of other lanes, and reads the next tasks of these ahead.
   */
  ahead(round: number, lanes: readonly number[]): void;
  /** Tasks held, for tests. */
  held(): number;
}

type Held = Promise<TaskRecords>;

/** For each lane, the task that was read last, in the order of its pass. */
class OrderedTasks {
  readonly #order: PassOrder;
  readonly #last = new Map<number, { from: TaskRecords; pass: number; records: TaskRecords }>();

  constructor(order: PassOrder) {
    this.#order = order;
  }

  of(lane: number, from: TaskRecords, { pass, task }: LaneBatch): TaskRecords {
    const known = this.#last.get(lane);
    if (known?.from === from && known.pass === pass) return known.records;
    const records = this.#order(from, { pass, task });
    this.#last.set(lane, { from, pass, records });
    return records;
  }

  drop(lane: number): void {
    this.#last.delete(lane);
  }
}

export function createLaneReader(
  plan: RoundPlan,
  readTask: (task: number) => Promise<TaskRecords>,
  passOrder: PassOrder,
): LaneReader {
  /** For each lane, tasks by number. */
  const lanes = new Map<number, Map<number, Held>>();
  /** For each lane, a batch of the task that was current at the last `ahead`. */
  const at = new Map<number, LaneBatch>();

  const ordered = new OrderedTasks(passOrder);

  function hold(lane: number, task: number): Held {
    const into = lanes.get(lane) ?? new Map<number, Held>();
    lanes.set(lane, into);
    const known = into.get(task);
    if (known !== undefined) return known;
    const records = readTask(task);
    into.set(task, records);
    // The failure is seen where the promise is awaited; the next call reads again.
    records.catch(() => {
      if (into.get(task) === records) into.delete(task);
    });
    return records;
  }

  /** The task of the lane after the one of that round, perhaps in the next pass. */
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
    // The current task is read before the next one. Its failure is seen by `read`.
    if (first === undefined) hold(lane, next.task);
    else {
      const then = (): unknown => isHeld(lane, now!.task, first) && hold(lane, next.task);
      first.then(then).catch(() => {});
    }
  }

  const isHeld = (lane: number, task: number, records: Held): boolean => lanes.get(lane)?.get(task) === records;

  return {
    async read(round, lane) {
      const position = plan.batchOf(round, lane);
      if (position === undefined) return undefined;
      const { task, from, to } = position;
      const records = ordered.of(lane, await hold(lane, task), position);
      return {
        position,
        batch: records.batch(from, to),
        good: records.goodBefore(to),
        describe: () => records.describe(from, to),
      };
    },
    ahead(round, wanted) {
      for (const lane of lanes.keys()) {
        if (wanted.includes(lane)) continue;
        lanes.delete(lane);
        at.delete(lane);
        ordered.drop(lane);
      }
      for (const lane of wanted) aheadOf(round, lane);
    },
    held: () => [...lanes.values()].reduce((sum, tasks) => sum + tasks.size, 0),
  };
}

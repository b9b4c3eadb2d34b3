/** Trainers that compute a lane beside its own trainer, each for some rounds. Pure. */

export interface Helper {
  readonly trainer: string;
  /** The trainer helps until this many rounds have passed in all. */
  readonly until: number;
}

export interface LaneHelpers {
  of(lane: number): readonly Helper[];
  add(lane: number, helper: Helper): void;
  /** Keeps those for which it holds; true when one was dropped. */
  keep(holds: (helper: Helper) => boolean): boolean;
}

export function createLaneHelpers(): LaneHelpers {
  const helpers = new Map<number, readonly Helper[]>();
  return {
    of: (lane) => helpers.get(lane) ?? [],
    add: (lane, helper) => void helpers.set(lane, [...(helpers.get(lane) ?? []), helper]),
    keep(holds) {
      let isDropped = false;
      for (const [lane, some] of [...helpers]) {
        const kept = some.filter(holds);
        isDropped ||= kept.length < some.length;
        if (kept.length === 0) helpers.delete(lane);
        else helpers.set(lane, kept);
      }
      return isDropped;
    },
  };
}

/** The trainer with the least to do among those that could help; of equal ones, the one that joined last. */
export function leastLoaded(
  live: ReadonlySet<string>,
  busy: ReadonlySet<string>,
  assigned: readonly string[],
): string | undefined {
  const load = new Map<string, number>([...live].reverse().map((trainer) => [trainer, 0]));
  for (const trainer of assigned) load.set(trainer, (load.get(trainer) ?? 0) + 1);
  let best: string | undefined;
  for (const [trainer, count] of load) {
    if (!live.has(trainer) || busy.has(trainer)) continue;
    if (best === undefined || count < load.get(best)!) best = trainer;
  }
  return best;
}

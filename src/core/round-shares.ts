/** Sync mode: the share of its learning rate that an optimizer has in each round, a function of the job alone. */
import type { RoundPlan } from './rounds/plan.ts';
import { rateShareAt, type Schedule } from './shard/schedule.ts';

/** After the last round it is that of the end of `passes`. */
export function roundShares(
  schedule: Schedule | undefined,
  plan: Pick<RoundPlan, 'placeOf' | 'roundsOf'>,
  passes: number,
): (round: number) => number {
  return (round) => {
    if (schedule === undefined) return 1;
    const place = plan.placeOf(round);
    return rateShareAt(schedule, place === undefined ? passes : place.pass + place.round / plan.roundsOf(place.pass));
  };
}

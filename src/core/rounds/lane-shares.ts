/**
 * Which trainer has which lanes of a job in sync mode: shares as even as can be, reached with as few moves as can be,
 * since a trainer that gets a lane has to read its data first. Pure.
 */
import { assert } from '../../base/assert.ts';

/** The owner of each lane; undefined before a trainer had it. */
export type LaneOwners = readonly (string | undefined)[];

/**
 * Lanes of trainers that are not among `working` (in the order in which they joined) go to those with the fewest;
 * then lanes go from those with the most to those with the fewest until they differ by one at most. A slow trainer
 * counts as having `handicapOf` more lanes than it has, but keeps one.
 */
export function shareLanes(
  owners: LaneOwners,
  working: readonly string[],
  handicapOf: (trainer: string) => number,
): string[] {
  assert(working.length > 0 && working.length <= owners.length, 'a trainer that works has a lane');
  const held = new Map<string, number[]>(working.map((trainer) => [trainer, []]));
  const orphans: number[] = [];
  owners.forEach((owner, lane) => {
    const lanes = owner === undefined ? undefined : held.get(owner);
    (lanes ?? orphans).push(lane);
  });
  const weight = (trainer: string): number => {
    const count = held.get(trainer)!.length;
    // Every trainer has a lane before one counts as slow.
    return count === 0 ? Number.NEGATIVE_INFINITY : count + handicapOf(trainer);
  };
  const lightest = (): string => working.reduce((best, one) => (weight(one) < weight(best) ? one : best));
  const heaviest = (): string | undefined => {
    const givers = working.filter((trainer) => held.get(trainer)!.length > 1);
    return givers.length === 0 ? undefined : givers.reduce((best, one) => (weight(one) > weight(best) ? one : best));
  };
  for (const lane of orphans) held.get(lightest())!.push(lane);
  for (;;) {
    const from = heaviest();
    const to = lightest();
    if (from === undefined || weight(from) - weight(to) <= 1) break;
    held.get(to)!.push(held.get(from)!.pop()!);
  }
  const shares: string[] = [];
  for (const [trainer, lanes] of held) for (const lane of lanes) shares[lane] = trainer;
  return shares;
}

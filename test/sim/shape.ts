/** How large a simulated cluster is, and how quick its disks are. */
import { createDice } from './dice.ts';

export interface ClusterShape {
  readonly pservers: number;
  readonly trainers: number;
  readonly shards: number;
  /** Groups that the shards move in. */
  readonly units: number;
  /** Every operation of a pserver's disk takes so many times longer. */
  readonly diskSlowness: number;
  /** Every pserver sees the files of all. */
  readonly isFolderShared: boolean;
  /** Each shard of a file is captured and written by itself, so that updates come in between. */
  readonly isCapturedByShard: boolean;
}

/** What the kept seeds were found with. */
export const SMALL: ClusterShape = {
  pservers: 2,
  trainers: 3,
  shards: 6,
  units: 4,
  diskSlowness: 1,
  isFolderShared: false,
  isCapturedByShard: false,
};

/** Larger ones are rarer: they take longer to simulate. */
const PSERVERS = [1, 2, 2, 2, 2, 3, 3, 4, 5] as const;
const TRAINERS = [1, 2, 2, 3, 3, 3, 4, 6] as const;

export function drawShape(seed: number): ClusterShape {
  const dice = createDice(seed, 'shape');
  const pservers = dice.pick(PSERVERS);
  const trainers = dice.pick(TRAINERS);
  const shards = pservers + dice.whole(0, 5);
  return {
    pservers,
    trainers,
    shards,
    units: createDice(seed, 'units').whole(pservers, shards),
    diskSlowness: dice.pick([1, 1, 8, 40]),
    isFolderShared: createDice(seed, 'folder').chance(0.6),
    isCapturedByShard: dice.chance(0.6),
  };
}

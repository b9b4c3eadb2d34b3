/** How large a simulated cluster is, and how quick its disks are. */
import { createDice } from './dice.ts';

export interface ClusterShape {
  /** At the beginning. */
  readonly pservers: number;
  /** That there can be at one time. */
  readonly mostPservers: number;
  readonly trainers: number;
  readonly shards: number;
  /** Groups that the shards move in. */
  readonly units: number;
  /** Copies of each unit. */
  readonly replicas: number;
  /** With fewer, updates wait. */
  readonly minInSync: number;
  /** How long a pserver that is stopped alone hands over its units. */
  readonly leaveLimitMs: number;
  /** Trainers take so many times longer, so that the job does. */
  readonly trainerSlowness: number;
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
  mostPservers: 2,
  trainers: 3,
  shards: 6,
  units: 4,
  replicas: 1,
  minInSync: 1,
  leaveLimitMs: 20_000,
  trainerSlowness: 1,
  diskSlowness: 1,
  isFolderShared: false,
  isCapturedByShard: false,
};

/** Larger ones are rarer: they take longer to simulate. */
const PSERVERS = [1, 2, 2, 2, 2, 3, 3, 4, 5] as const;
const TRAINERS = [1, 2, 2, 3, 3, 3, 4, 6] as const;

/** The number of pservers does not change. */
export function drawFixedShape(seed: number): ClusterShape {
  const dice = createDice(seed, 'shape');
  const pservers = dice.pick(PSERVERS);
  const trainers = dice.pick(TRAINERS);
  const shards = pservers + dice.whole(0, 5);
  return {
    pservers,
    mostPservers: pservers,
    trainers,
    shards,
    units: createDice(seed, 'units').whole(pservers, shards),
    ...{ replicas: 1, minInSync: 1 },
    leaveLimitMs: SMALL.leaveLimitMs,
    trainerSlowness: 1,
    diskSlowness: dice.pick([1, 1, 8, 40]),
    isFolderShared: createDice(seed, 'folder').chance(0.6),
    isCapturedByShard: dice.chance(0.6),
  };
}

const MOST_PSERVERS = 6;
/** So many units for each pserver that there can be; the default of a job is 4. */
const UNITS_A_PSERVER = [1, 2, 2, 4] as const;
/** Slow ones leave time to spread the units after the last fault. */
const TRAINER_SLOWNESS = [1, 1, 1, 1, 1, 25] as const;
const LEAVE_LIMITS_MS = [1_000, 5_000, 20_000] as const;

/** Pservers come and go while the job runs. */
export function drawShape(seed: number): ClusterShape {
  const fixed = drawFixedShape(seed);
  const dice = createDice(seed, 'room');
  const mostPservers = dice.whole(Math.max(fixed.pservers, 2), MOST_PSERVERS);
  const units = Math.max(fixed.units, mostPservers * dice.pick(UNITS_A_PSERVER));
  const times = { trainerSlowness: dice.pick(TRAINER_SLOWNESS), leaveLimitMs: dice.pick(LEAVE_LIMITS_MS) };
  return { ...fixed, mostPservers, units, shards: Math.max(fixed.shards, units), ...times };
}

const REPLICAS = [2, 2, 3] as const;
/** Units are copied a few at a time: the more there are, the longer it takes after each fault. */
const MOST_COPIED_UNITS = 12;
/** All but the first leave time to kill one pserver after the other. */
const COPIED_SLOWNESS = [1, 4, 8, 25] as const;

/** The same, with copies of each unit. */
export function drawCopiedShape(seed: number): ClusterShape {
  const drawn = drawShape(seed);
  const dice = createDice(seed, 'copies');
  const replicas = Math.min(dice.pick(REPLICAS), drawn.mostPservers);
  const minInSync = dice.chance(0.2) ? 2 : 1;
  const pservers = Math.max(drawn.pservers, dice.whole(minInSync, drawn.mostPservers));
  const units = Math.max(drawn.mostPservers, Math.min(drawn.units, MOST_COPIED_UNITS));
  const trainerSlowness = dice.pick(COPIED_SLOWNESS);
  return { ...drawn, pservers, replicas, minInSync, units, trainerSlowness };
}

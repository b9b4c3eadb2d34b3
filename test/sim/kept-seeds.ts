/**
 * Schedules that fail when what they found is undone; they stay for good. A change of the simulation itself may turn a
 * seed into another schedule: then look for one that fails again without the fix, and put it in its place.
 */
export const KEPT_SEEDS: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 9, why: 'a record that kills its trainer at once was never counted against its task' },
  { seed: 52, why: 'a trainer whose job ended before its work began waited for a master for ever' },
  { seed: 92, why: 'a trainer that was late ended with the error of a task although the job had succeeded' },
  { seed: 952, why: "a trainer died of another role that answered at a dead master's address" },
  { seed: 1239, why: 'a pserver gave its index up while the store, which kept its old lease, was away' },
  { seed: 6, why: 'tasks timed out while their trainers waited for a pserver' },
  {
    seed: 33509,
    why: 'a pserver restored while the job was concluded was asked for its final checkpoint, and took no repairs',
  },
  { seed: 182, why: 'a claim of the lock that landed late made a master the owner without its knowing' },
];

/** The same, with more kinds of faults, and shapes that are drawn. */
export const KEPT_DRAWN_SEEDS: typeof KEPT_SEEDS = [
  { seed: 70405, why: 'a pserver that took units from files of another one waited for a folder that it never had' },
  {
    seed: 70233,
    why: 'units that a pserver had not yet loaded when it lost its index were repaired, all of its others too',
  },
  { seed: 70643, why: 'a pserver ended without a file of units that it had never loaded, which is not its fault' },
  { seed: 81620, why: 'a starting pserver waited for files out of its reach after another one had taken their units' },
  { seed: 81091, why: 'a pserver that held no shards answered that no task had begun' },
];

/** Of jobs that get more passes when they have ended, while pservers come and go. */
export const KEPT_CONTINUED_SEEDS: typeof KEPT_SEEDS = [
  { seed: 35929, why: 'the heads named a last checkpoint that lacked a unit which had come after it was taken' },
];

/** The same in sync mode. */
export const KEPT_CONTINUED_SYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 55966, why: 'a pserver left while it led a unit that it had yet to load from the cut' },
];

/** In sync mode, with shapes that are drawn. */
export const KEPT_SYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 27334, why: 'a unit came by a move while a pserver was about to take it as one without a primary' },
];

/** In sync mode, with pservers that come and go. */
export const KEPT_RESIZED_SYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 365, why: 'units at two rounds were in one file, which no pserver could load' },
];

/** In sync mode, with pservers that come and go, and folders that some pservers do not share. */
export const KEPT_DRAWN_SYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 43349, why: 'a cut was answered while a unit was handed over, as it had been asked for before' },
  { seed: 44609, why: 'the snapshots of an owner that lost its index again and again all stayed' },
];

/** The same with disks that fail. */
export const KEPT_DISK_SYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 45, why: 'a unit stayed without a primary while a pserver with the index of its last one was leaving' },
];

/** In async mode, with pservers that come and go, and folders that some pservers do not share. */
export const KEPT_RESIZED_SEEDS: typeof KEPT_SEEDS = [
  { seed: 132, why: 'a pserver waited for a file that only a live pserver had, of a unit that had moved' },
  { seed: 155, why: 'the same after another move' },
  { seed: 3, why: 'an update of a unit on its way has to be in its copy' },
  { seed: 50102, why: 'a pserver took a copy from one that had lost its index, and waited with it for ever' },
];

/** In async mode, with all faults but those of disks. */
export const KEPT_ASYNC_SEEDS: typeof KEPT_SEEDS = [
  { seed: 46176, why: 'a pserver that was stopped while it was taking units ended without saving what it led' },
  { seed: 50467, why: 'the recovery number was raised for a unit that had been handed over, by one that saw it late' },
];

/** The same with disks that fail. */
export const KEPT_DISK_SEEDS: typeof KEPT_SEEDS = [
  {
    seed: 57613,
    why: 'a file that a pserver read through its live owner was replaced before it had read it, again and again',
  },
  { seed: 79461, why: 'a first word of a pserver landed late, over its later ones, and no unit moved any more' },
];

/** Of units with copies, in both modes. */
export const KEPT_COPIED_SEEDS: typeof KEPT_SEEDS = [
  { seed: 300017, why: 'a pserver asked at once, for ever, for a hand-over that its copy refused' },
  { seed: 50045, why: 'the same while it left, with its units and their copies: no clock moved any more' },
];

/** The same with disks that fail. */
export const KEPT_COPIED_DISK_SEEDS: typeof KEPT_SEEDS = [
  {
    seed: 410129,
    why: 'a pserver that had taken its last checkpoint took no copies, though a restored one made all others go on',
  },
];

/** The kinds of faults, and how often each is drawn. */
import type { Mode } from './mode.ts';

/** How often each kind is drawn, relative to the others; 0 leaves it out. */
export type FaultMix = Readonly<Record<FaultKind, number>>;

/** Of pservers that come and go, and of what is between them. */
export const RESIZING_KINDS = ['resize', 'join pserver', 'leave pserver', 'pserver partition', 'slow peers'] as const;
export type ResizingKind = (typeof RESIZING_KINDS)[number];

/** In the middle of a move of a unit. */
export const MOVE_KINDS = ['death in a move', 'cut in a move', 'trouble in a hand-over'] as const;
export type MoveKind = (typeof MOVE_KINDS)[number];

/** Where units have copies. */
export const COPY_KINDS = ['second death', 'death after a promotion'] as const;
export type CopyKind = (typeof COPY_KINDS)[number];

export const FAULT_KINDS = [
  'kill trainer',
  'kill master',
  'kill pserver',
  'terminate trainer',
  'terminate master',
  'terminate pserver',
  'stop trainer',
  'stop master',
  'stop pserver',
  'break connection',
  'half-open connection',
  'partition',
  'one-way partition',
  'swapped addresses',
  'slow node',
  'store outage',
  'store standstill',
  'store cut off',
  'store trouble',
  'compaction',
  'corrupt checkpoint',
  'full disk',
  'early death',
  'slow store',
  'store without writes',
  'clock stop',
  'stranger',
  'corrupt at rest',
  'death before the result',
  'absent folder',
  ...RESIZING_KINDS,
  ...MOVE_KINDS,
  ...COPY_KINDS,
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What the kept seeds were found with. */
export const KEPT_MIX: FaultMix = {
  'kill trainer': 4,
  'kill master': 3,
  'kill pserver': 2,
  'terminate trainer': 2,
  'terminate master': 1,
  'terminate pserver': 2,
  'stop trainer': 3,
  'stop master': 2,
  'stop pserver': 2,
  'break connection': 4,
  'half-open connection': 2,
  partition: 3,
  'one-way partition': 2,
  'swapped addresses': 0,
  'slow node': 2,
  'store outage': 2,
  'store standstill': 1,
  'store cut off': 3,
  'store trouble': 4,
  compaction: 2,
  'corrupt checkpoint': 0,
  'full disk': 0,
  'early death': 0,
  'slow store': 0,
  'store without writes': 0,
  'clock stop': 0,
  stranger: 0,
  'corrupt at rest': 0,
  'death before the result': 0,
  'absent folder': 0,
  resize: 0,
  'join pserver': 0,
  'leave pserver': 0,
  'pserver partition': 0,
  'slow peers': 0,
  'death in a move': 0,
  'cut in a move': 0,
  'trouble in a hand-over': 0,
  'second death': 0,
  'death after a promotion': 0,
};

/** The number of pservers does not change. */
export const FIXED_MIX: FaultMix = {
  ...KEPT_MIX,
  'early death': 3,
  'slow store': 2,
  'store without writes': 2,
  'clock stop': 1,
  stranger: 2,
};

/** Pservers come and go. */
export const RESIZED_MIX: FaultMix = {
  ...FIXED_MIX,
  resize: 6,
  'join pserver': 3,
  'leave pserver': 3,
  'pserver partition': 3,
  'slow peers': 2,
  'death in a move': 4,
  'cut in a move': 2,
  'trouble in a hand-over': 3,
};

/** Where units have copies: pservers die more often. */
export const COPIED_MIX: FaultMix = {
  ...RESIZED_MIX,
  'kill pserver': 8,
  'stop pserver': 4,
  'pserver partition': 5,
  'second death': 6,
  'death after a promotion': 4,
};

const USUAL: Readonly<Record<Mode, FaultMix>> = { async: RESIZED_MIX, sync: RESIZED_MIX };

/** The same, and disks that fail. */
const withDisks = (mix: FaultMix): FaultMix => ({
  ...mix,
  'corrupt checkpoint': 6,
  'full disk': 6,
  'corrupt at rest': 5,
  'death before the result': 6,
  'absent folder': 4,
});

const USUAL_WITH_DISKS: Readonly<Record<Mode, FaultMix>> = {
  async: withDisks(USUAL.async),
  sync: withDisks(USUAL.sync),
};

const COPIED_WITH_DISKS = withDisks(COPIED_MIX);
export const copiedMix = (hasDisks: boolean): FaultMix => (hasDisks ? COPIED_WITH_DISKS : COPIED_MIX);
export const usualMix = (mode: Mode): FaultMix => USUAL[mode];
export const usualDiskMix = (mode: Mode): FaultMix => USUAL_WITH_DISKS[mode];

/** Pservers come and go. */
export const isResized = (mix: FaultMix): boolean => RESIZING_KINDS.some((kind) => mix[kind] > 0);

export const kindsIn = (mix: FaultMix): FaultKind[] => FAULT_KINDS.filter((kind) => mix[kind] > 0);

/** Of a mix only these kinds; one that it does not have is as likely as the rarest. Throws for another name. */
export function onlyFaults(mix: FaultMix, kinds: readonly string[]): FaultMix {
  const unknown = kinds.find((kind) => !FAULT_KINDS.some((known) => known === kind));
  if (unknown !== undefined) throw new Error(`no fault is named '${unknown}': ${FAULT_KINDS.join(', ')}`);
  const weights = FAULT_KINDS.map((kind) => [kind, kinds.includes(kind) ? mix[kind] || 1 : 0]);
  return Object.fromEntries(weights) as FaultMix;
}

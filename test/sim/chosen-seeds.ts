/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 17],
    disks: [0, 3],
    copies: [0, 37],
    'copies and disks': [0, 6, 15, 17, 20, 22, 24, 31, 32],
    continued: [0, 12, 21, 24, 30, 38],
    'continued with copies': [0, 25],
    evaluated: [0, 8, 12, 31, 38, 39],
    'evaluated with copies': [0, 37],
    deltas: [0, 14, 21],
    'deltas and copies': [0, 24, 38],
  },
  sync: {
    usual: [0],
    disks: [0, 21],
    copies: [0, 38],
    'copies and disks': [0, 11, 20, 22, 23, 27, 31, 38],
    continued: [0, 1, 4, 19, 30, 31, 34, 39],
    'continued with copies': [0],
    evaluated: [0, 17, 21, 24, 25],
    'evaluated with copies': [0],
    deltas: [0, 21, 36],
    'deltas and copies': [0, 2],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: [], sync: [] };

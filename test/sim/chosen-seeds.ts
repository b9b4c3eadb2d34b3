/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1],
    disks: [0, 1, 2, 5, 20, 21, 23, 25, 26, 27],
    copies: [0, 1, 17, 19],
    'copies and disks': [0, 1, 26, 31, 35],
    continued: [0, 1, 7, 25, 30],
    'continued with copies': [0, 1, 15, 23, 25],
  },
  sync: {
    usual: [0, 1, 19],
    disks: [0, 1, 3, 21, 27, 29],
    copies: [0, 1, 22, 24],
    'copies and disks': [0, 1, 31],
    continued: [0, 1, 10, 16, 19, 23],
    'continued with copies': [0, 1, 21, 22],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: [], sync: [] };

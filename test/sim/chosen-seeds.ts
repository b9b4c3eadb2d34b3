/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1, 17, 24, 25, 30, 38],
    disks: [0, 1, 5, 10, 14, 17, 20, 21, 23, 24, 27],
    copies: [0, 1, 17, 19, 23],
    'copies and disks': [0, 1, 24, 26, 31],
    continued: [0, 1],
    'continued with copies': [0, 1, 25],
  },
  sync: {
    usual: [0, 1, 19],
    disks: [0, 1, 3, 20, 21, 23, 27, 29, 33],
    copies: [0, 1, 22, 24, 36, 38],
    'copies and disks': [0, 1, 28, 34],
    continued: [0, 1, 19, 27],
    'continued with copies': [0, 1],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: [], sync: [] };

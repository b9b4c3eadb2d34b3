/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1, 16, 17, 19, 20, 22, 25, 30, 38],
    disks: [0, 1, 2, 5, 10, 17, 20, 21, 23, 27, 31],
    copies: [0, 1, 17, 22],
    'copies and disks': [0, 1, 6, 18, 20, 24, 31],
    continued: [0, 1, 25],
    'continued with copies': [0, 1, 25, 30, 34, 35, 39],
  },
  sync: {
    usual: [0, 1, 19, 20, 23],
    disks: [0, 1, 21, 23, 25, 27, 29, 32, 33, 39],
    copies: [0, 1, 22, 24, 38],
    'copies and disks': [0, 1, 6, 11, 20, 22, 28, 31, 34],
    continued: [0, 1, 25, 27],
    'continued with copies': [0, 1, 22],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: ['refused StaleRecovery'], sync: [] };

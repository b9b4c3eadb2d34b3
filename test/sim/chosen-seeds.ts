/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1, 14, 17, 18, 30, 133, 198],
    disks: [0, 1, 3, 10, 17, 20, 21, 23, 24, 27, 39],
    copies: [0, 1, 17, 21, 24],
    'copies and disks': [0, 1, 22, 24, 31],
    continued: [0, 1, 14],
    'continued with copies': [0, 1, 12, 24],
    evaluated: [5, 12, 13],
    'evaluated with copies': [5, 6],
  },
  sync: {
    usual: [0, 1, 19, 31, 39],
    disks: [0, 1, 3, 19, 20, 21, 27, 33],
    copies: [0, 1, 22, 38],
    'copies and disks': [0, 1, 28, 31],
    continued: [0, 1, 23],
    'continued with copies': [0, 1, 22],
    evaluated: [6, 8, 12],
    'evaluated with copies': [6, 9],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: [], sync: [] };

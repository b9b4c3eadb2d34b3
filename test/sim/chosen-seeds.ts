/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1, 17],
    disks: [0, 1, 17, 20, 27, 30, 31],
    copies: [0, 1],
    'copies and disks': [0, 1, 6, 22, 24],
    continued: [0, 1, 8, 18, 23],
    'continued with copies': [0, 1],
    evaluated: [0, 1, 12, 17, 36, 38],
    'evaluated with copies': [0, 1, 22, 24, 37],
  },
  sync: {
    usual: [0, 1],
    disks: [0, 1, 21, 27, 29, 33],
    copies: [0, 1, 38],
    'copies and disks': [0, 1, 22, 31],
    continued: [0, 1, 11, 21],
    'continued with copies': [0, 1, 18],
    evaluated: [0, 1, 8],
    'evaluated with copies': [0, 1],
  },
};

/** What happens in few schedules, perhaps in none of the chosen ones. */
export const RARE: Readonly<Record<Mode, readonly string[]>> = { async: [], sync: [] };

/** Schedules in which everything happens, chosen by `node scripts/choose-seeds.ts`. */
import type { Kind } from './kinds.ts';
import type { Mode } from './mode.ts';

export const CHOSEN_SEEDS: Readonly<Record<Mode, Readonly<Record<Kind, readonly number[]>>>> = {
  async: {
    usual: [0, 1, 17, 23, 30, 38, 39],
    disks: [0, 1, 2, 3, 14, 19, 20, 21, 22, 23, 26, 27, 29, 30, 31, 33, 35, 39],
    copies: [0, 1, 17, 19, 24, 35],
    'copies and disks': [0, 1, 20, 22, 31],
    continued: [0, 1, 12],
    'continued with copies': [0, 1, 25, 30],
  },
  sync: {
    usual: [0, 1, 18, 19, 23, 25, 30],
    disks: [0, 1, 15, 20, 21, 23, 25, 27, 29, 33],
    copies: [0, 1, 19, 24],
    'copies and disks': [0, 1, 20, 22, 31],
    continued: [0, 1, 2, 17, 22, 24, 32],
    'continued with copies': [0, 1],
  },
};

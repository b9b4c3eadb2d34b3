/** What the table of commands is made of. The table itself, which loads every command, is `src/commands/index.ts`. */
import type { CommandClass } from './command-class.ts';

export const GROUPS = {
  train: 'Train',
  cluster: 'Cluster: one process per role',
  checkpoints: 'Checkpoints',
  data: 'Data',
  help: 'Help',
} as const;

export interface CommandEntry {
  /** Words separated by `:`. */
  readonly id: string;
  /** A second id, which help does not list. */
  readonly alias?: string | undefined;
  readonly group: keyof typeof GROUPS;
  /** The same as in the class (a test compares them), so that it is shown without loading the class. */
  readonly summary: string;
  readonly load: () => Promise<CommandClass>;
}

/** What names of commands of several words begin with: `data`, `data recordio`. */
export const groupsOf = (names: readonly string[]): string[] => [
  ...new Set(names.flatMap((name) => [...name.matchAll(/ /g)].map(({ index }) => name.slice(0, index)))),
];

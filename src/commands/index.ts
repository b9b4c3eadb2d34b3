/** The table of all subcommands: one line each. A command's module is loaded only when it is run or helped with. */
import type { CommandClass } from './base/command-class.ts';

export const GROUPS = {
  train: 'Train',
  cluster: 'Cluster, one process a role',
  data: 'Data',
  help: 'Help',
} as const;

export interface CommandEntry {
  /** Words separated by `:`. */
  readonly id: string;
  readonly group: keyof typeof GROUPS;
  /** As in the class itself (a test compares them): shown without loading it. */
  readonly summary: string;
  readonly load: () => Promise<CommandClass>;
}

const entry = (
  group: keyof typeof GROUPS,
  id: string,
  summary: string,
  load: () => Promise<{ readonly default: CommandClass }>,
): CommandEntry => ({ id, group, summary, load: async () => (await load()).default });

export const COMMANDS: readonly CommandEntry[] = [
  entry('data', 'data:index', 'Index data files: records, chunks, bounds and digest', () => import('./data/index.ts')),
  entry('data', 'data:synth', 'Make a data set with a planted model', () => import('./data/synth.ts')),
  entry(
    'help',
    'doctor',
    'Check that this machine can run paddlet, and say what is wrong',
    () => import('./doctor/index.ts'),
  ),
];

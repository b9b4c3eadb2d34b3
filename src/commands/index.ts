/** The table of all subcommands: one line each. A command's module is loaded only when it is run or helped with. */
import type { CommandClass } from './base/command-class.ts';

export const GROUPS = {
  train: 'Train',
  cluster: 'Cluster, one process a role',
  checkpoints: 'Checkpoints',
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
  entry('train', 'run', 'Run a whole cluster on this machine and train a job', () => import('./run.ts')),
  entry('train', 'evaluate', 'Score a file with a trained model', () => import('./evaluate.ts')),
  entry('cluster', 'master', 'Publish a job and deal its tasks', () => import('./master.ts')),
  entry('cluster', 'pserver', 'Hold a part of the parameters and serve it', () => import('./pserver.ts')),
  entry('cluster', 'trainer', 'Train: work the tasks that the master deals', () => import('./trainer.ts')),
  entry('cluster', 'status', 'Show where a job stands, or wait for it', () => import('./status.ts')),
  entry('cluster', 'stop', 'Stop a job cleanly, to go on later', () => import('./stop.ts')),
  entry(
    'checkpoints',
    'checkpoint:save',
    'Have the pservers of a running job save now',
    () => import('./checkpoint/save.ts'),
  ),
  entry('checkpoints', 'checkpoint:inspect', 'Show what is in a checkpoint', () => import('./checkpoint/inspect.ts')),
  entry(
    'checkpoints',
    'checkpoint:verify',
    'Check that a checkpoint is whole, and name what is damaged',
    () => import('./checkpoint/verify.ts'),
  ),
  entry(
    'checkpoints',
    'checkpoint:ls',
    'List the checkpoints of a job: generations, sizes, ages',
    () => import('./checkpoint/ls.ts'),
  ),
  entry(
    'checkpoints',
    'checkpoint:diff',
    'Compare the values of two checkpoints',
    () => import('./checkpoint/diff.ts'),
  ),
  entry(
    'checkpoints',
    'checkpoint:export',
    'Write a checkpoint as one model file: safetensors, npz or CSV',
    () => import('./checkpoint/export.ts'),
  ),
  entry('checkpoints', 'restore', 'Deal a checkpoint to another number of pservers', () => import('./restore.ts')),
  entry('data', 'data:index', 'Index data files: records, chunks, bounds and digest', () => import('./data/index.ts')),
  entry('data', 'data:synth', 'Make a data set with a planted model', () => import('./data/synth.ts')),
  entry(
    'help',
    'doctor',
    'Check that this machine can run paddlet, and say what is wrong',
    () => import('./doctor/index.ts'),
  ),
];

/**
 * The table of all subcommands. A command's module is loaded only when it runs or shows its help. A command that needs
 * the table itself asks `this.config.commands`, since an import of this file would close a circle.
 */
import type { CommandClass } from './base/command-class.ts';
import type { CommandEntry, GROUPS } from './base/command-table.ts';

const entry = (
  group: keyof typeof GROUPS,
  id: string,
  summary: string,
  load: () => Promise<{ readonly default: CommandClass }>,
  alias?: string,
): CommandEntry => ({ id, alias, group, summary, load: async () => (await load()).default });

export const COMMANDS: readonly CommandEntry[] = [
  entry('train', 'run', 'Run a whole cluster on this machine and train a job', () => import('./run/index.ts')),
  entry('train', 'init', 'Write a job file for a data file', () => import('./init/index.ts')),
  entry(
    'train',
    'evaluate',
    'Compute the metrics of a trained model on data files',
    () => import('./evaluate/index.ts'),
  ),
  entry('train', 'predict', 'Score each record of a file with a trained model', () => import('./predict/index.ts')),
  entry('cluster', 'master', 'Publish a job and hand out its tasks', () => import('./master.ts')),
  entry('cluster', 'pserver', "Hold and serve a part of the model's parameters", () => import('./pserver.ts')),
  entry('cluster', 'trainer', 'Train on the tasks that the master hands out', () => import('./trainer/index.ts')),
  entry(
    'cluster',
    'status',
    'Show the status of a job, or wait until it runs or has ended',
    () => import('./status/index.ts'),
  ),
  entry('cluster', 'why', 'Explain why a job makes no progress', () => import('./why/index.ts')),
  entry('cluster', 'top', 'Show what each process of a job is doing, live', () => import('./top/index.ts')),
  entry(
    'cluster',
    'logs',
    'Show the logs of a job that `paddlet run` started on this machine',
    () => import('./logs/index.ts'),
  ),
  entry('cluster', 'history', 'Show the loss and the metrics of a job over time', () => import('./history/index.ts')),
  entry(
    'cluster',
    'resize',
    'Change the number of pservers or trainers of a job while it runs',
    () => import('./resize/index.ts'),
  ),
  entry(
    'cluster',
    'ui',
    'Serve a web page of all jobs in a store, including finished jobs',
    () => import('./ui/index.ts'),
  ),
  entry('cluster', 'token:view', "Print the link to a running job's web page", () => import('./token/view.ts')),
  entry('cluster', 'token:rotate', 'Replace the join token of a job', () => import('./token/rotate.ts')),
  entry('cluster', 'jobs', 'List jobs with their state, progress and size', () => import('./jobs/index.ts')),
  entry(
    'cluster',
    'jobs:delete',
    'Delete a job, including its checkpoints and its folder',
    () => import('./jobs/delete.ts'),
    'jobs:rm',
  ),
  entry('cluster', 'stop', 'Stop a job cleanly so that it can be resumed', () => import('./stop/index.ts')),
  entry(
    'checkpoints',
    'checkpoint:save',
    'Save the parameters of a running job now',
    () => import('./checkpoint/save.ts'),
  ),
  entry(
    'checkpoints',
    'checkpoint:inspect',
    'Show what a checkpoint contains',
    () => import('./checkpoint/inspect.ts'),
  ),
  entry('checkpoints', 'checkpoint:verify', 'Check a checkpoint for damage', () => import('./checkpoint/verify.ts')),
  entry(
    'checkpoints',
    'checkpoint:ls',
    'List the checkpoints of a job with their sizes and ages',
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
  entry(
    'checkpoints',
    'checkpoint:forget',
    'Let a job continue without lost checkpoint files',
    () => import('./checkpoint/forget.ts'),
  ),
  entry(
    'checkpoints',
    'restore',
    'Redistribute a checkpoint across a different number of pservers',
    () => import('./restore/index.ts'),
  ),
  entry(
    'data',
    'data:index',
    'Index data files: count records, and find the ranges of features and labels',
    () => import('./data/index.ts'),
  ),
  entry(
    'data',
    'data:convert',
    "Convert text or Parquet files to paddlet's columns format",
    () => import('./data/convert.ts'),
  ),
  entry(
    'data',
    'data:inspect',
    'Show what a data file contains, and how paddlet would read it',
    () => import('./data/inspect.ts'),
  ),
  entry(
    'data',
    'data:recordio:pack',
    'Pack the lines of a text file into a RecordIO file',
    () => import('./data/recordio/pack.ts'),
  ),
  entry(
    'data',
    'data:recordio:list',
    'List the chunks of a RecordIO file and check them',
    () => import('./data/recordio/list.ts'),
  ),
  entry(
    'data',
    'data:recordio:cat',
    'Print records of a RecordIO file, one per line',
    () => import('./data/recordio/cat.ts'),
  ),
  entry('data', 'data:synth', 'Generate a data set from a planted model', () => import('./data/synth.ts')),
  entry(
    'help',
    'doctor',
    'Check that this machine can run paddlet, and report problems',
    () => import('./doctor/index.ts'),
  ),
  entry('help', 'docs', 'Show the documents and manual pages that come with paddlet', () => import('./docs/index.ts')),
  entry('help', 'completion', 'Print a completion script for bash, zsh or fish', () => import('./completion/index.ts')),
];

/** By its id or its alias: words separated by `:`. */
export const commandNamed = (name: string): CommandEntry | undefined =>
  COMMANDS.find(({ id, alias }) => id === name || alias === name);

import { relative } from 'node:path';
import { bytesText } from '../base/bytes-text.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { milliseconds } from '../base/duration-flag.ts';
import { columnsOf, cut, durationText } from '../base/fit.ts';
import { storeFlags } from '../base/flags.ts';
import { PaddletCommand } from '../base-command.ts';
import { type JobRow, type JobRowProgress, jobRows } from './rows.ts';

export default class JobsCommand extends PaddletCommand<typeof JobsCommand> {
  static override summary = 'List jobs with their state, progress and size';
  static override description =
    `Lists the jobs in ./.paddlet, or, with --store, all jobs in that store. The command changes nothing. If the store
of a job is damaged or locked, the row of the job shows the error.

The column "age" shows how long ago the job was published, and "last alive" how long ago it ended. If the job has not
ended, "last alive" is the time since its last log entry or checkpoint. The column "size" shows the size of the job's
folder and checkpoints; with --store, only of the checkpoints. The column "where" shows the folder or the store.`;
  static override examples = [
    { command: '<%= config.bin %> jobs', description: 'List the jobs in ./.paddlet.' },
    {
      command: '<%= config.bin %> jobs --store etcd://127.0.0.1:2379 --json',
      description: 'List all jobs of a store as JSON for a script.',
    },
  ];
  static override flags = { ...storeFlags, timeout: storeTimeoutFlag };

  override async execute(): Promise<void> {
    const { flags } = this;
    const limitMs = milliseconds(flags.timeout);
    const host = this.host('jobs');
    const jobs = await jobRows({ flags, host, signal: this.interruption(), limitMs });
    this.output({ jobs }, () => this.textOf(jobs, host.clock.wallSeconds()));
  }

  private textOf(jobs: readonly JobRow[], now: number): string {
    if (jobs.length === 0) return this.flags.store === undefined ? 'no jobs in ./.paddlet' : 'no jobs in the store';
    const columns = [
      ...['name', 'state', 'progress', 'age', 'last alive'].map((head) => ({ head })),
      ...[{ head: 'size', align: 'right' as const }, { head: 'where' }],
    ];
    const table = this.table(
      columns,
      jobs.map((job) => cells(job, now)),
    );
    const width = process.stdout.isTTY ? columnsOf(process.stdout) : Number.POSITIVE_INFINITY;
    const lines = table.split('\n').map((line) => cut(line, width));
    for (const { name, state, error } of jobs) {
      if (state === 'not started') {
        lines.push(`start ${name} with \`paddlet run FILE\`, or delete it with \`paddlet jobs delete ${name}\``);
      }
      if (error === undefined) continue;
      lines.push(`${name}: ${error.code}: ${error.message}`);
      if (error.hint !== undefined) lines.push(`  hint: ${error.hint}`);
    }
    return lines.join('\n');
  }
}

function cells(
  { name, state, progress, created, lastAlive, bytes, error, folder, store }: JobRow,
  now: number,
): string[] {
  const ago = (time: number): string => `${durationText(now - time)} ago`;
  return [
    name,
    state ?? error?.code ?? '',
    progress === undefined ? '' : progressText(progress),
    created === undefined ? '' : durationText(now - created),
    state === 'running' ? 'now' : lastAlive === undefined ? '' : ago(lastAlive),
    bytes === undefined ? '' : bytesText(bytes),
    folder === undefined ? (store ?? '') : relative('', folder),
  ];
}

function progressText({ pass, passes, tasks, rounds }: JobRowProgress): string {
  const at = `pass ${Math.min(pass + 1, passes)} of ${passes}`;
  if (tasks !== undefined) return `${at}, task ${tasks.done} of ${tasks.total}`;
  return rounds === undefined ? at : `${at}, round ${rounds.done} of ${rounds.total}`;
}

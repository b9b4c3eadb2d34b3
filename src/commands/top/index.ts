import { Flags } from '@oclif/core';
import { pause } from '../../base/backoff.ts';
import { EXIT, type ExitCode } from '../../base/errors.ts';
import { type JobView, viewOf } from '../../view/job-view.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { columnsOf, cut, DEFAULT_COLUMNS, wrapped } from '../base/fit.ts';
import { showLive } from '../base/live-view.ts';
import { lookAtJob } from '../base/look-at-job.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { headLines, rowOf, topTable } from './rows.ts';

/** Rates need two looks. */
const FIRST_INTERVAL_MS = 500;

export default class TopCommand extends PaddletCommand<typeof TopCommand> {
  static override summary = 'Show what each process of a job is doing, live';
  static override description =
    `Shows a table of the processes of the job: the speed of each process, and how the process spent its time since the
last refresh. Stragglers are marked. The lines above the table show the progress of the job and what holds the job up
(see \`paddlet why\`). The display closes when the job ends, or when you press q or Ctrl-C.`;
  static override examples = [
    {
      command: '<%= config.bin %> top clicks',
      description: 'Show the processes of the job `clicks`, and refresh the display every two seconds.',
    },
    {
      command: '<%= config.bin %> top clicks --count 1 --json',
      description: 'Print the processes once, as JSON for a script.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    interval: durationFlag('2s', 'Time between refreshes.'),
    count: Flags.integer({
      min: 1,
      helpValue: 'NUMBER',
      description: 'Number of refreshes after which to exit. Default: no limit.',
    }),
    timeout: storeTimeoutFlag,
  };

  override async execute(): Promise<ExitCode> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    return withJob({ flags, host: this.host('top'), signal: this.interruption() }, (job) => this.show(job));
  }

  private async show(job: OpenJob): Promise<ExitCode> {
    const { clock } = job.host;
    const { count = Number.POSITIVE_INFINITY } = this.flags;
    let before = await lookAtJob(job, { isWhole: false });
    if (before.seen.end === undefined) await pause(clock, FIRST_INTERVAL_MS, job.signal);
    let shown = 0;
    const end = await showLive({
      ...{ clock, isInLines: this.flags.json, signal: job.signal, intervalMs: milliseconds(this.flags.interval) },
      look: async () => {
        const now = await lookAtJob(job, { isWhole: false });
        const view = viewOf(now, before);
        before = now;
        shown += 1;
        const text = this.flags.json ? JSON.stringify(frameJson(view)) : this.textOf(view);
        return { text, isLast: view.end !== undefined || shown >= count };
      },
    });
    return end === 'over' ? EXIT.done : EXIT.interrupted;
  }

  private textOf(view: JobView): string {
    const { isTTY } = process.stdout;
    const columns = columnsOf(process.stdout);
    const head = headLines(view).join('\n');
    const rows = view.live.map(rowOf);
    if (rows.length === 0) return isTTY ? wrapped(head, columns) : head;
    const top = topTable(rows, isTTY ? columns : DEFAULT_COLUMNS);
    const table = this.table(top.columns, top.rows);
    if (!isTTY) return `${head}\n\n${table}`;
    const lines = table.split('\n').map((line) => cut(line, columns));
    return `${wrapped(head, columns)}\n\n${lines.join('\n')}`;
  }
}

const frameJson = ({ record, processes }: JobView): object => ({
  job: record.job.name,
  processes: processes.map(rowOf),
});

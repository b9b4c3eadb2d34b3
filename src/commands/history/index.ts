import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { modelOf } from '../../cluster/job/job-model.ts';
import { readHistory } from '../../roles/master/load-history.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { localFolder } from '../base/folder-flag.ts';
import { linesOf, tableLinesOf } from '../base/history-lines.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { historyText, tablesText } from './history-text.ts';
import { scalarsOf, tableScalarsOf } from './scalars.ts';
import { writeEvents } from './write-events.ts';

export default class HistoryCommand extends PaddletCommand<typeof HistoryCommand> {
  static override summary = 'Show the loss and the metrics of a job over time';
  static override description =
    `Shows the training loss and metrics at evenly spaced points, and the metrics of each pass and each evaluation. If
there are too many points, some are left out. The job may be running or finished. With --as jsonl, prints one JSON
object per line. With --as tensorboard, writes an event file to the folder that --output specifies.`;
  static override examples = [
    { command: '<%= config.bin %> history clicks', description: 'Show the loss and the metrics of the job `clicks`.' },
    {
      command: '<%= config.bin %> history clicks --as tensorboard --output runs/clicks',
      description: 'Write an event file for TensorBoard, which compares all runs in the folder runs.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    timeout: storeTimeoutFlag,
    as: Flags.option({
      options: ['table', 'jsonl', 'tensorboard'] as const,
      default: 'table' as const,
      description: 'Format of the output. The format tensorboard requires --output.',
    })(),
    output: Flags.string({
      char: 'o',
      helpValue: 'FOLDER',
      parse: localFolder,
      description: 'Folder in which to write the event file. Only for --as tensorboard.',
    }),
  };

  override async execute(): Promise<void> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    const host = this.host('history');
    if ((flags.as === 'tensorboard') !== (flags.output !== undefined)) throw outOnly();
    await withJob({ flags, host, signal: this.interruption() }, async ({ store, keys, record, retryStore }) => {
      const history = await retryStore(() => readHistory(store, keys));
      const lines = linesOf(history, modelOf(record).task);
      const tables = tableLinesOf(history);
      const points = [...lines, ...tables].sort((a, b) => a.time - b.time);
      const { name } = record.job;
      if (flags.output !== undefined) {
        const { id: jobId, created } = record;
        const events = {
          folder: resolve(flags.output),
          job: name,
          jobId,
          created,
          scalars: [...scalarsOf(lines), ...tableScalarsOf(tables)],
        };
        const path = await writeEvents(host, events);
        this.output({ job: name, path, scalars: events.scalars.length }, () => path);
      } else if (flags.as === 'jsonl') {
        for (const line of points) process.stdout.write(`${JSON.stringify(line)}\n`);
      } else {
        const width = process.stdout.columns ?? 80;
        this.output({ job: name, points }, () => {
          const makeTable = this.table.bind(this);
          return [historyText(name, lines, makeTable, width), ...tablesText(tables, makeTable)].join('\n\n');
        });
      }
    });
  }
}

const outOnly = (): PaddletError =>
  new PaddletError(
    'Usage',
    '--output and --as tensorboard must be used together: --output is the folder of the event file',
    {
      hint: 'pass both flags, or neither',
    },
  );

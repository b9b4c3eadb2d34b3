import { Flags } from '@oclif/core';
import { isPaddletError, PaddletError } from '../../base/errors.ts';
import { STORE_LIMIT_MS } from '../base/command-store.ts';
import { durationFlag, milliseconds } from '../base/duration-flag.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { type OpenJob, withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { type SavedCut, type SavedFile, saveNow } from './save-now.ts';

export default class CheckpointSaveCommand extends PaddletCommand<typeof CheckpointSaveCommand> {
  static override summary = 'Save the parameters of a running job now';
  static override description =
    `Each pserver writes a checkpoint of its shards and publishes the checkpoint, while training continues. If a
pserver is already saving, it ignores the request, and the command reports this. In sync mode, the master makes all
pservers save the state after the same round. Such a set of checkpoints is called a cut.

If the job saves deltas (\`checkpoint.delta\` in the job file), each pserver writes a base or a delta, whichever is due.`;
  static override examples = [
    { command: '<%= config.bin %> checkpoint save clicks', description: 'Save the job `clicks`.' },
    {
      command: '<%= config.bin %> checkpoint save clicks --mode base',
      description: 'Save all rows, although the job saves deltas.',
    },
    {
      command: '<%= config.bin %> checkpoint save clicks --store etcd://127.0.0.1:2379 --json',
      description: 'Save a job in etcd, and print JSON for a script.',
    },
  ];
  static override args = jobArg;
  static override flags = {
    ...jobFlags,
    mode: Flags.option({
      options: ['base', 'delta'] as const,
      description:
        'What to save. `base`: all rows. `delta`: only the rows that changed since the checkpoint before. A pserver without one, or with 32 deltas since its last base, writes a base.',
    })(),
    timeout: durationFlag(
      '10m',
      'Longest time to wait until the checkpoints are written. The store must answer within 10s.',
    ),
  };

  override async execute(): Promise<void> {
    const host = this.host('checkpoint');
    const limitMs = Math.min(milliseconds(this.flags.timeout), STORE_LIMIT_MS);
    const flags = namedJob(this.args.job, this.flags, this.typed);
    await withJob({ flags, host, signal: this.interruption(), limitMs }, (job) => this.save(job));
  }

  private async save(job: OpenJob): Promise<void> {
    const timeoutMs = milliseconds(this.flags.timeout);
    const { mode } = this.flags;
    const { name, checkpoint } = job.record.job;
    if (mode === 'delta' && checkpoint.delta === undefined)
      throw new PaddletError('Usage', `--mode delta needs a job that saves deltas, but ${name} does not`, {
        hint: 'set checkpoint.delta in the job file before the job is started',
      });
    const limit = AbortSignal.timeout(timeoutMs);
    const wait = await this.wait('saving');
    try {
      const { cut, pservers } = await saveNow(job, { mode, timeoutMs, signal: AbortSignal.any([job.signal, limit]) });
      wait.done();
      this.output({ job: name, ...(cut && { cut }), pservers }, () =>
        [...(cut === undefined ? [] : [cutText(cut)]), ...pservers.map(fileText)].join('\n'),
      );
    } catch (error) {
      throw limit.aborted && !job.signal.aborted && isPaddletError(error, 'Interrupted') ? tooLate(timeoutMs) : error;
    } finally {
      wait.done();
    }
  }
}

const tooLate = (ms: number): PaddletError =>
  new PaddletError('RequestTimeout', `the checkpoints were not written within ${ms / 1000} s`, {
    hint: 'check the job with `paddlet status`, or raise --timeout',
  });

function cutText({ outcome, round, timeline }: SavedCut): string {
  if (outcome === 'running') return 'the master is already saving a cut, so it ignored the request';
  return `cut of round ${round}, timeline ${timeline}`;
}

function fileText({ index, outcome, uuid, bytes }: SavedFile): string {
  if (outcome === 'running') return `pserver ${index}: already saving; the request is ignored`;
  return `pserver ${index}: ${uuid} (${bytes} bytes)`;
}

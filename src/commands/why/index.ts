import { isPaddletError } from '../../base/errors.ts';
import { viewOf } from '../../view/job-view.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { findStore } from '../base/find-store.ts';
import { lookAtJob } from '../base/look-at-job.ts';
import { jobArg, namedJob } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { type Answer, answerOf, storeAway, whyText } from './answer.ts';

export default class WhyCommand extends PaddletCommand<typeof WhyCommand> {
  static override summary = 'Explain why a job makes no progress';
  static override description =
    `Queries the store and every process of the job once. Prints one sentence for each thing that holds the job up. The
sentence says which role, phase, task and records are affected. The cause comes first, followed by its consequences.

The command changes nothing. The exit code is 0, whether or not something holds the job up.`;
  static override examples = [
    { command: '<%= config.bin %> why clicks', description: 'Explain why the job `clicks` is not making progress.' },
    {
      command: '<%= config.bin %> why clicks --store etcd://127.0.0.1:2379 --json | jq -r ".causes[0].sentence"',
      description: 'Print only the first cause, for a script.',
    },
  ];
  static override args = jobArg;
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag };

  override async execute(): Promise<void> {
    const answer = await this.ask();
    this.output(answer, () => whyText(answer));
  }

  private async ask(): Promise<Answer> {
    const flags = namedJob(this.args.job, this.flags, this.typed);
    try {
      return await withJob({ flags, host: this.host('why'), signal: this.interruption() }, async (job) =>
        answerOf(viewOf(await lookAtJob(job, { isWhole: false }))),
      );
    } catch (error) {
      // That the store does not answer is an answer; that its file is missing is not.
      if (!isPaddletError(error, 'StoreUnavailable')) throw error;
      return storeAway(findStore(flags).url, error);
    }
  }
}

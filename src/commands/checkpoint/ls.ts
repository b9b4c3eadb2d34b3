import { type ListedGeneration, listGenerations } from '../../checkpoint/registry/listing.ts';
import { bytesText } from '../base/bytes-text.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { pathArg } from '../base/named-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { ofJobFlags, withCheckpoint } from './find-checkpoint.ts';
import { ageText, stateText } from './inspection-text.ts';

export default class CheckpointLsCommand extends PaddletCommand<typeof CheckpointLsCommand> {
  static override summary = 'List the checkpoints of a job with their sizes and ages';
  static override description =
    `Lists the checkpoints of each pserver, newest first. Reads only the headers of the files.

The state "clean" means that the pserver applied no updates after it wrote the checkpoint. The state "opened" means
that a pserver has since loaded a clean checkpoint and applied updates. If a checkpoint has no state, it was written
during training. A "delta" has only what changed since other files, and is damaged without them.`;
  static override examples = [
    { command: '<%= config.bin %> checkpoint ls clicks', description: 'List the checkpoints of the job `clicks`.' },
    {
      command: '<%= config.bin %> checkpoint ls /backup/clicks --json',
      description: 'List the checkpoints in a folder as JSON for a script.',
    },
  ];
  static override args = pathArg;
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag, ...ofJobFlags };

  override async execute(): Promise<void> {
    const { flags, args } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const { found, generations } = await withCheckpoint(
      { path: args.path, typed: this.typed, flags, host, signal, which: 'all' },
      async (found) => ({ found, generations: await listGenerations({ storage: host.storage, ...found }) }),
      (listed) => listed.generations.every(({ state }) => state !== 'missing'),
    );
    const { from, folder, unfinished } = found;
    const nowSeconds = host.clock.wallSeconds();
    this.output({ from, folder, generations, unfinished }, () => {
      const columns = [
        ...(['pserver', 'age'] as const).map((head) => ({ head, align: 'right' as const })),
        { head: 'file' },
        ...(['bytes', 'rows', 'shards'] as const).map((head) => ({ head, align: 'right' as const })),
        { head: 'state' },
      ];
      const lines = [
        this.table(
          columns,
          generations.map((one) => cells(one, nowSeconds)),
        ),
      ];
      for (const { complaint } of generations) if (complaint !== undefined) lines.push(complaint);
      for (const path of unfinished) lines.push(`${path}: incomplete (being written, or left by a crash)`);
      return lines.join('\n');
    });
  }
}

function cells(one: ListedGeneration, nowSeconds: number): (string | number)[] {
  return [
    one.index ?? '',
    one.createdAt === undefined ? '' : ageText(nowSeconds - one.createdAt),
    one.uuid ?? one.path,
    one.bytes === undefined ? '' : bytesText(one.bytes),
    one.rows ?? '',
    one.shards ?? '',
    stateText(one.kind, one.state === 'running' ? '' : one.state),
  ];
}

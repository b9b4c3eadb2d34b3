import { Args } from '@oclif/core';
import type { Log } from '../../base/seams.ts';
import { type CheckpointSet, chooseVariables } from '../../checkpoint/set/checkpoint-set.ts';
import { contentBytes } from '../../checkpoint/set/content.ts';
import { type CheckpointDiff, diffCheckpoints } from '../../checkpoint/set/diff.ts';
import { bytesText } from '../base/bytes-text.ts';
import { PaddletCommand } from '../base-command.ts';
import { ofJobFlags, openFound, varsFlags } from './find-checkpoint.ts';

export default class CheckpointDiffCommand extends PaddletCommand<typeof CheckpointDiffCommand> {
  static override summary = 'Compare the values of two checkpoints';
  static override description =
    `Shows how many rows were added, removed and changed in each table and dense parameter. Also shows the Euclidean
distance between the two checkpoints, over the rows that both contain. The checkpoints may come from different jobs,
and from different numbers of pservers. The command does not compare optimizer state. Memory use is bounded.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint diff /backup/clicks clicks',
      description: 'Show what training has changed since a backup.',
    },
    {
      command: '<%= config.bin %> checkpoint diff a/0/5f0c… a/0/77e1… --vars "emb*" --json',
      description:
        'Compare the tables whose names start with emb in two files of pserver 0, and print JSON for a script.',
    },
  ];
  static override args = {
    before: Args.string({
      required: true,
      description: 'Older checkpoint: a job, or a checkpoint folder or file.',
    }),
    after: Args.string({
      required: true,
      description: 'Newer checkpoint: a job, or a checkpoint folder or file.',
    }),
  };
  static override flags = { ...ofJobFlags, ...varsFlags };

  override async execute(): Promise<void> {
    const { flags, args } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const open = (path: string) => openFound({ path, typed: this.typed, flags, host, signal, which: 'newest' });
    const { found: first, set: before } = await open(args.before);
    try {
      const { found: second, set: after } = await open(args.after);
      for (const [{ from, folder }, set] of [
        [first, before],
        [second, after],
      ] as const) {
        if (folder !== undefined) warnOfMissing(host.log, from, set);
      }
      const progress = this.progress('comparing');
      try {
        const variables = chooseVariables(before.facts.parameters, flags.vars);
        const total = (await contentBytes(before, variables)) * 2;
        let done = 0;
        const onBytes = (bytes: number): void => {
          done += bytes;
          progress.update(Math.min(done, total), total, bytesText(done));
        };
        const diff = await diffCheckpoints({ before, after, variables, signal, onBytes });
        progress.end();
        this.output({ before: first.from, after: second.from, ...diff }, () => this.describe(diff));
      } finally {
        progress.end();
        await after.close();
      }
    } finally {
      await before.close();
    }
  }

  private describe({ same, tables, dense, unlike }: CheckpointDiff): string {
    const right = { align: 'right' } as const;
    const heads = ['before', 'after', 'added', 'removed', 'changed', 'distance'];
    const columns = [{ head: 'name' }, ...heads.map((head) => ({ head, ...right }))];
    const distance = (value: number): string => String(Number(value.toPrecision(6)));
    const rows = [
      ...dense.map((one) => [one.name, one.elements, one.elements, 0, 0, one.changed, distance(one.distance)]),
      ...tables.map((one) => [
        ...[one.name, one.rowsBefore, one.rowsAfter, one.added, one.removed, one.changed],
        distance(one.distance),
      ]),
    ];
    return [this.table(columns, rows), ...unlike, same ? 'the values are equal' : 'the values differ'].join('\n');
  }
}

/** Missing shards are expected if the path is a single file. */
function warnOfMissing(log: Log, from: string, { missing, facts }: CheckpointSet): void {
  if (missing.length === 0) return;
  log.warn(
    `${from}: ${missing.length} of ${facts.shards} shards are not in any of the files, so their rows count as absent`,
  );
}

import { EXIT, type ExitCode } from '../../base/errors.ts';
import type { Storage } from '../../base/seams.ts';
import { verifyModel } from '../../checkpoint/export/verify-model.ts';
import { formatShards } from '../../checkpoint/file/coverage.ts';
import { bytesOfFile } from '../../checkpoint/file/files.ts';
import { newestFiles, publishedFiles } from '../../checkpoint/registry/newest.ts';
import { type FileVerdict, type Verification, verifyCheckpoint } from '../../checkpoint/set/verify.ts';
import { bytesText } from '../base/bytes-text.ts';
import { storeTimeoutFlag } from '../base/command-store.ts';
import { pathArg } from '../base/named-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { type FoundCheckpoint, ofJobFlags, withCheckpoint } from './find-checkpoint.ts';

const COMPARED = { md5: 'MD5', checksums: 'checksums in the file', nothing: 'nothing' } as const;

export default class CheckpointVerifyCommand extends PaddletCommand<typeof CheckpointVerifyCommand> {
  static override summary = 'Check a checkpoint for damage';
  static override description =
    `Reads every file completely, and compares the file with its published MD5 or with the checksums that it contains.
Checks that ids and blocks are in the right shards, that all files belong to one job, and that no shard is missing.
PATH may also be a merged model. If a safetensors file has no checksums, the command reports it as unchecked. The exit
code is 7 if the checkpoint is damaged.`;
  static override examples = [
    {
      command: '<%= config.bin %> checkpoint verify clicks',
      description: 'Check all checkpoints of the job `clicks`.',
    },
    {
      command: '<%= config.bin %> checkpoint verify /backup/clicks --json',
      description: 'Check a copy of a checkpoint folder, and print JSON for a script.',
    },
  ];
  static override args = pathArg;
  static override flags = { ...jobFlags, timeout: storeTimeoutFlag, ...ofJobFlags };

  override async execute(): Promise<ExitCode> {
    const { flags, args } = this;
    const host = this.host('checkpoint');
    const signal = this.interruption();
    const verification = await withCheckpoint(
      { path: args.path, typed: this.typed, flags, host, signal, which: 'all' },
      (found) => this.verify(found, host.storage, signal),
      ({ files }) =>
        areAllThere(
          host.storage,
          files.filter(({ problems }) => problems.length > 0),
        ),
    );
    for (const { path } of verification.files.filter(isUnchecked)) {
      host.log.warn(`${path}: unchecked: the file has no checksums to check its tensors with`);
    }
    this.output(verification, () => this.describe(verification));
    return verification.ok ? EXIT.done : EXIT.parametersLost;
  }

  private async verify({ files, published, jobId }: FoundCheckpoint, storage: Storage, signal: AbortSignal) {
    const newest =
      published && new Set(newestFiles(publishedFiles(published)).map(({ generation }) => generation.uuid));
    const sizes = await Promise.all(files.map(async ({ path }) => (await bytesOfFile(storage, path)) ?? 0));
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    const progress = this.progress('verifying');
    let done = 0;
    const onBytes = (bytes: number): void => {
      done += bytes;
      progress.update(done, total, bytesText(done));
    };
    try {
      const [first] = files;
      const isNamed = files.length === 1 && first!.index === undefined;
      const model = isNamed ? await verifyModel(storage, first!.path, { signal, onBytes }) : undefined;
      if (model !== undefined) return model;
      return await verifyCheckpoint({
        ...{ storage, files, signal },
        ...(newest && { newest: new Set(files.flatMap(({ path, uuid }) => (newest.has(uuid ?? '') ? [path] : []))) }),
        ...(jobId === undefined ? {} : { jobId }),
        onBytes,
      });
    } finally {
      progress.end();
    }
  }

  private describe({ ok, files, missing, shards, jobName }: Verification): string {
    const columns = [
      { head: 'file' },
      { head: 'bytes', align: 'right' },
      { head: 'compared with' },
      { head: 'verdict' },
    ] as const;
    const rows = files.map((file) => [
      file.path,
      file.bytes === undefined ? '' : bytesText(file.bytes),
      COMPARED[file.checked],
      isUnchecked(file) ? 'unchecked' : file.problems.length === 0 ? 'ok' : 'DAMAGED',
    ]);
    const problems = files.flatMap((file) =>
      file.problems.map(({ part, message }) => `${file.path}: ${part}: ${message.replace(`${file.path}: `, '')}`),
    );
    const coverage =
      missing.length === 0
        ? `all ${shards} shards of job ${jobName} are present`
        : `${missing.length} of ${shards} shards are missing or damaged: ${formatShards(missing)}`;
    const verdict = !ok ? 'DAMAGED' : files.some(isUnchecked) ? 'unchecked' : 'ok';
    const whose = shards > 0 ? coverage : ok ? 'not a paddlet file' : 'none of the files is intact';
    return [this.table(columns, rows), ...problems, whose, verdict].join('\n');
  }
}

const isUnchecked = ({ checked, problems }: FileVerdict): boolean => checked === 'nothing' && problems.length === 0;

async function areAllThere(storage: Storage, files: readonly Pick<FileVerdict, 'path'>[]): Promise<boolean> {
  for (const { path } of files) if ((await bytesOfFile(storage, path)) === undefined) return false;
  return true;
}

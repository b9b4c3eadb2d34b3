import { basename, dirname, join } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { removeEmptyFolder } from '../../base/files.ts';
import type { Host } from '../../base/seams.ts';
import { shellCommand } from '../../cluster/job/start-command.ts';
import { type FolderLock, lockFolder } from '../../host/folder-lock.ts';
import { type Keys, keysOf } from '../../store/keys.ts';
import { retryUntilAnswered } from '../../store/retry-until-answered.ts';
import { askYesNo, canAsk } from '../base/ask.ts';
import { bytesText } from '../base/bytes-text.ts';
import { type CommandStore, openCommandStore, storeTimeoutFlag } from '../base/command-store.ts';
import { milliseconds } from '../base/duration-flag.ts';
import { embeddedStore, findChroot, findStore, unknownJob } from '../base/find-store.ts';
import { jobNetwork } from '../base/job-network.ts';
import { namedJob, neededJobArg } from '../base/named-job.ts';
import { commandWith } from '../base/typed-command.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { readJobBefore } from '../run/job-before.ts';
import { deleteJob } from '../run/reset-job.ts';
import { folderUse } from './folder-use.ts';
import { removeEmptyStore, removeJobEntries } from './remove-folder.ts';

/** What came of it. `kept`: what was not deleted, as sentences. */
interface Deletion {
  readonly kept: readonly string[];
  readonly freedBytes: number;
}

export default class JobsDeleteCommand extends PaddletCommand<typeof JobsDeleteCommand> {
  static override summary = 'Delete a job, including its checkpoints and its folder';
  static override description =
    `Deletes a job that is not running: its keys in the store, its checkpoints and its folder. The command asks first;
if it cannot ask on a terminal, --yes is required. Files that paddlet did not write are kept. With --store, the command
deletes the keys, and the checkpoints in the folder checkpoint.dir of the job. If the command is interrupted, run it
again. The name jobs rm means the same command.`;
  static override examples = [
    { command: '<%= config.bin %> jobs delete clicks', description: 'Delete the job in ./.paddlet/clicks.' },
    {
      command: '<%= config.bin %> jobs delete clicks --store etcd://127.0.0.1:2379 --yes',
      description: 'Delete a job in etcd from a script.',
    },
  ];
  static override args = neededJobArg;
  static override flags = {
    ...jobFlags,
    yes: Flags.boolean({ description: 'Delete without asking. Required if paddlet cannot ask on a terminal.' }),
    timeout: storeTimeoutFlag,
  };

  override async execute(): Promise<void> {
    const { job } = this.args;
    this.flags = namedJob(job, this.flags, this.typed);
    const host = this.host('jobs');
    const found = findStore(this.flags);
    // Only a store in the folder says that the folder is the job's.
    const isInFolder = found.folder !== undefined && found.url === embeddedStore(found.folder);
    const folder = isInFolder ? found.folder : undefined;
    const lock = folder === undefined ? undefined : this.locked(folder);
    let deletion: Deletion;
    try {
      deletion = await this.deleteNamed(host, folder);
    } catch (error) {
      lock?.describe(lock.before);
      throw error;
    } finally {
      lock?.release();
    }
    if (folder !== undefined) await removeEmptyFolder(host.disk, folder);
    const name = basename(job);
    const { kept, freedBytes } = deletion;
    this.output({ job: name, deleted: true, freedBytes, kept }, () =>
      [`deleted the job ${name}: ${bytesText(freedBytes)} freed`, ...kept].join('\n'),
    );
  }

  private locked(folder: string): FolderLock {
    const lock = lockFolder(folder);
    if (lock !== undefined) return lock;
    throw new PaddletError('JobConflict', `a \`paddlet run\` works in ${folder}; nothing was deleted`, {
      hint: `stop the job first with \`${this.stopCommand()}\``,
    });
  }

  private stopCommand(): string {
    const { store, chroot, dir } = this.flags;
    if (store !== undefined) return shellCommand(['paddlet', 'stop', '--store', store, '--chroot', chroot ?? '']);
    return shellCommand(['paddlet', 'stop', dir ?? '']);
  }

  private async deleteNamed(host: Host, folder: string | undefined): Promise<Deletion> {
    const { flags } = this;
    const signal = this.interruption();
    const limitMs = milliseconds(flags.timeout);
    const opened = await openCommandStore({ flags, host, signal, access: 'write', limitMs });
    const kept: string[] = [];
    const inFolder = (): number => (folder === undefined ? 0 : folderUse(folder).bytes);
    const before = inFolder();
    let outside = 0;
    let isEmpty = false;
    try {
      const { store, ask } = opened;
      const chroot = await retryUntilAnswered(ask, () => findChroot(store, flags));
      isEmpty = await this.isEmpty(opened);
      const isUnfinishedDeletion = folder !== undefined && isEmpty;
      if (chroot === undefined && !isUnfinishedDeletion) throw await unknownJob(store, flags);
      if (chroot !== undefined) outside = await this.bytesOutside(opened, keysOf(chroot));
      await this.agree(folder ?? `${chroot} in ${store.url}`, before + outside, signal);
      if (chroot !== undefined && !isUnfinishedDeletion) {
        kept.push(...(await this.deleteKeys(host, opened, keysOf(chroot), folder, signal)));
      }
      isEmpty = await this.isEmpty(opened);
    } finally {
      await opened.store.close();
    }
    const freed = (more: readonly string[]): Deletion => ({
      kept: [...kept, ...more],
      freedBytes: Math.max(0, before - inFolder()) + outside,
    });
    if (folder === undefined) return freed([]);
    if (!isEmpty) return freed([`${folder} stays: its store holds other keys`]);
    await removeJobEntries(host.disk, folder, { isOwn: basename(dirname(folder)) === '.paddlet' });
    const others = await removeEmptyStore(host.disk, folder);
    return freed(others.length === 0 ? [] : [`${folder} stays: it holds ${others.join(', ')}`]);
  }

  private async isEmpty({ store, ask }: CommandStore): Promise<boolean> {
    const { entries } = await retryUntilAnswered(ask, () => store.range({ prefix: '/', limit: 1 }));
    return entries.length === 0;
  }

  /** Bytes of the checkpoints in the folder that `checkpoint.dir` of the job names, if it does. */
  private async bytesOutside({ store, ask }: CommandStore, keys: Keys): Promise<number> {
    const { folder, publishedBytes } = await retryUntilAnswered(ask, () => readJobBefore(store, keys));
    return folder === undefined ? 0 : publishedBytes;
  }

  private async agree(what: string, bytes: number, signal: AbortSignal): Promise<void> {
    if (this.flags.yes) return;
    const isAsked = !this.flags.json && canAsk();
    if (isAsked && (await askYesNo(`Delete the job ${what} with its checkpoints (${bytesText(bytes)})?`, signal)))
      return;
    if (isAsked) throw new PaddletError('Interrupted', `${what} was not deleted`);
    throw new PaddletError('Usage', `expected --yes without a terminal to ask on; ${what} was not deleted`, {
      hint: `${commandWith(['--yes'], this.typed)} deletes it with its checkpoints`,
    });
  }

  private async deleteKeys(
    host: Host,
    { store, ask }: CommandStore,
    keys: Keys,
    folder: string | undefined,
    signal: AbortSignal,
  ): Promise<string[]> {
    const before = await retryUntilAnswered(ask, () => readJobBefore(store, keys));
    if (before.entry === undefined) throw await unknownJob(store, { ...this.flags, chroot: keys.chroot });
    await deleteJob({
      ...{ ...host, store, keys, signal, leaseTtlMs: 0, stopCommand: this.stopCommand() },
      network: jobNetwork(host, store, keys),
      folder: folder === undefined ? undefined : join(folder, 'checkpoints'),
    });
    if (folder !== undefined || before.folder !== undefined) return [];
    return ['checkpoints stay: the job does not name their folder (checkpoint.dir)'];
  }
}

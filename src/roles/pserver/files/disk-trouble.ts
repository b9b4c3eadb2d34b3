/**
 * Reports checkpoints that the disk refuses, and since when it has refused them. It does not write to a disk that is
 * known to be too full: each try would fill the disk to the last byte, and harm other programs that use it.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { isFull } from '../../../base/files.ts';
import type { Clock, Disk, Log } from '../../../base/seams.ts';
import type { FileKind } from '../../../checkpoint/file/format.ts';
import type { Troubles } from '../../../cluster/troubles.ts';

export interface DiskTroubleOptions {
  readonly host: { readonly clock: Clock; readonly disk: Disk; readonly log: Log };
  /** Gets the reason while saves fail. */
  readonly troubles: Pick<Troubles, 'set' | 'clear'>;
  /** Folder of this pserver's files. */
  readonly folder: string;
  /** Approximate size of a checkpoint in bytes. */
  readonly expectedBytes: () => number;
}

export class DiskTrouble {
  readonly #options: DiskTroubleOptions;
  /**
   * Least bytes that a file of each kind needs: the size of the last one, or more than the disk took of an unfinished
   * one. A delta has only what changed, so that one kind says little about the size of the other.
   */
  readonly #leastBytes: Record<FileKind, number> = { base: 0, delta: 0 };
  /** Kind of the file that is being saved. */
  #kind: FileKind = 'base';
  #failingSinceMs: number | undefined;
  #isFolderKnown: boolean;

  constructor(options: DiskTroubleOptions, isFolderKnown: boolean) {
    this.#options = options;
    this.#isFolderKnown = isFolderKnown;
  }

  /** The folder existed before: if it is missing now, its file system is probably not mounted. */
  get isFolderKnown(): boolean {
    return this.#isFolderKnown;
  }

  /** The caller has found files in the folder. */
  folderSeen(): void {
    this.#isFolderKnown = true;
  }

  /** The disk took only this many bytes of a file. */
  unfinished(bytes: number): void {
    this.#leastBytes[this.#kind] = Math.max(this.#leastBytes[this.#kind], bytes + 1);
  }

  /** Runs a save. Throws `CheckpointNotWritten` if the disk refuses it, and without trying if the disk lacks space. */
  async save<T>(kind: FileKind, write: () => Promise<T>, fileOf: (saved: T) => { readonly bytes: number }): Promise<T> {
    this.#kind = kind;
    const { folder, troubles } = this.#options;
    const { clock, log } = this.#options.host;
    try {
      await this.#expectRoom();
      const saved = await write();
      this.#leastBytes[kind] = fileOf(saved).bytes;
      this.#isFolderKnown = true;
      if (this.#failingSinceMs !== undefined) {
        const failedForMs = Math.round(clock.monotonicMs() - this.#failingSinceMs);
        log.info(`checkpoints are written again to ${folder}`, { failedForMs });
      }
      this.#failingSinceMs = undefined;
      troubles.clear('checkpointFolder');
      return saved;
    } catch (error) {
      const refused = await this.#refusal(error);
      if (!isPaddletError(refused, 'CheckpointNotWritten')) throw refused;
      this.#failingSinceMs ??= clock.monotonicMs();
      troubles.set('checkpointFolder', `the checkpoint folder: ${refused.message}`);
      throw refused;
    }
  }

  async #expectRoom(): Promise<void> {
    const free = await this.#freeBytes();
    if (free !== undefined && free < this.#leastBytes[this.#kind]) throw this.#full(free);
  }

  /** Explains an error of the disk to the operator, who must fix it; the parameters are still in memory. */
  async #refusal(error: unknown): Promise<unknown> {
    if (error instanceof PaddletError || !(error instanceof Error) || !('code' in error)) return error;
    const { folder } = this.#options;
    if (isFull(error)) return this.#full(await this.#freeBytes(), error);
    if (error.code === 'ENOENT' && this.#isFolderKnown) {
      return new PaddletError('CheckpointNotWritten', `the checkpoint folder ${folder} has vanished`, {
        hint: 'mount the folder again; if its files are lost, create the folder again and leave it empty',
        cause: error,
      });
    }
    return new PaddletError('CheckpointNotWritten', `the checkpoint could not be written: ${error.message}`, {
      hint: `make ${folder} writable`,
      cause: error,
    });
  }

  #full(free: number | undefined, cause?: Error): PaddletError {
    const { folder } = this.#options;
    const needed = this.#neededText();
    const message = `the disk of ${folder} is full: ${needed}, ${free ?? 'an unknown number'} are free`;
    return new PaddletError('CheckpointNotWritten', message, {
      hint: 'free space on this disk; paddlet tries again until the checkpoint fits',
      ...(cause === undefined ? {} : { cause }),
    });
  }

  #neededText(): string {
    const least = this.#leastBytes[this.#kind];
    if (this.#kind === 'delta') return `a delta needs at least ${least} bytes`;
    const expected = this.#options.expectedBytes();
    return `a checkpoint needs ${least > expected ? 'at least' : 'about'} ${Math.max(least, expected)} bytes`;
  }

  /** Undefined if the disk does not report its free space: then the write shows whether the file fits. */
  async #freeBytes(): Promise<number | undefined> {
    try {
      return await this.#options.host.disk.freeBytes(this.#options.folder);
    } catch (error) {
      if (error instanceof Error && 'code' in error) return undefined;
      throw error;
    }
  }
}

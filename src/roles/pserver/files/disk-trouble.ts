/**
 * Checkpoints that the disk does not take: what is said of it, and since when. A disk that is known to be too full is
 * not written to: each try would fill it to the last byte, for everything else that is on it.
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import type { Clock, Disk, Log } from '../../../base/seams.ts';
import { isFull } from '../../../checkpoint/file/write-durable-file.ts';
import type { Troubles } from '../../../cluster/troubles.ts';

export interface DiskTroubleOptions {
  readonly host: { readonly clock: Clock; readonly disk: Disk; readonly log: Log };
  /** Gets the reason while saves fail. */
  readonly troubles: Pick<Troubles, 'set' | 'clear'>;
  /** Of this pserver's files. */
  readonly folder: string;
  /** Bytes that a checkpoint takes, roughly. */
  readonly expectedBytes: () => number;
}

export class DiskTrouble {
  readonly #options: DiskTroubleOptions;
  /** So much a checkpoint takes at least: the last one did, or the disk took so much of it and no more. */
  #leastBytes = 0;
  #failingSinceMs: number | undefined;
  #isFolderKnown: boolean;

  constructor(options: DiskTroubleOptions, isFolderKnown: boolean) {
    this.#options = options;
    this.#isFolderKnown = isFolderKnown;
  }

  /** Something was written into the folder before, so that it is there unless its file system is not mounted. */
  get isFolderKnown(): boolean {
    return this.#isFolderKnown;
  }

  /** There was something in the folder. */
  sawFolder(): void {
    this.#isFolderKnown = true;
  }

  /** The disk took so many bytes of a file, and no more. */
  unfinished(bytes: number): void {
    this.#leastBytes = Math.max(this.#leastBytes, bytes + 1);
  }

  /** Runs a save. Throws `CheckpointNotWritten` for what the disk refuses, at once when the disk has no room for it. */
  async save<T>(write: () => Promise<T>, fileOf: (saved: T) => { readonly bytes: number }): Promise<T> {
    const { folder, troubles } = this.#options;
    const { clock, log } = this.#options.host;
    try {
      await this.#expectRoom();
      const saved = await write();
      this.#leastBytes = fileOf(saved).bytes;
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
    if (free !== undefined && free < this.#leastBytes) throw this.#full(free);
  }

  /** A full or failing disk is for the operator to fix; the parameters are still in memory. */
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
    const { folder, expectedBytes } = this.#options;
    const least = this.#leastBytes;
    const needed = `${least > expectedBytes() ? 'at least' : 'about'} ${Math.max(least, expectedBytes())} bytes`;
    const message = `the disk of ${folder} is full: a checkpoint needs ${needed}, ${free ?? 'an unknown number'} are free`;
    return new PaddletError('CheckpointNotWritten', message, {
      hint: 'free space on this disk; paddlet tries again until the checkpoint fits',
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** Undefined when the disk does not tell: then the write will. */
  async #freeBytes(): Promise<number | undefined> {
    try {
      return await this.#options.host.disk.freeBytes(this.#options.folder);
    } catch (error) {
      if (error instanceof Error && 'code' in error) return undefined;
      throw error;
    }
  }
}

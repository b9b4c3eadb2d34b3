/**
 * The bytes that parsed tasks take on a disk, of all processes that share the folder: when there would be too many,
 * those that were not used for the longest time go.
 */
import { join } from 'node:path';
import { LIMITS } from '../../base/limits.ts';
import type { DataPlace } from '../place.ts';

/** How much of the bound a process writes before it looks again at what others have written. */
const UNSEEN_FRACTION = 1 / 32;
/** What is left of the bound after some went, so that not every write has to make room. */
const LEFT_FRACTION = 7 / 8;

export class KeptBytes {
  readonly #disk: DataPlace['host']['disk'];
  readonly #folder: string;
  readonly #most: number;
  /** Bytes as last read from the folder; `#written` has those written here since. */
  #seen: number | undefined;
  #written = 0;

  constructor(place: DataPlace, folder: string, most: number) {
    this.#disk = place.host.disk;
    this.#folder = folder;
    this.#most = most;
  }

  /** Makes room for a file of `bytes` bytes. False if the disk has no room. */
  async makeRoom(bytes: number): Promise<boolean> {
    const unseen = this.#written + bytes;
    const isKnown = this.#seen !== undefined && unseen <= this.#most * UNSEEN_FRACTION;
    if (!isKnown || this.#seen! + unseen > this.#most) await this.#sweep(bytes);
    this.#written += bytes;
    const free = await this.#disk.freeBytes(this.#folder);
    return free === undefined || free >= bytes + LIMITS.keptFreeBytes;
  }

  async #sweep(bytes: number): Promise<void> {
    const files: { path: string; bytes: number; modifiedMs: number }[] = [];
    for (const name of await this.#disk.list(this.#folder)) {
      const path = join(this.#folder, name);
      const facts = await this.#disk.inspect(path);
      if (facts?.kind === 'file') files.push({ path, bytes: facts.bytes, modifiedMs: facts.modifiedMs });
    }
    let sum = files.reduce((all, file) => all + file.bytes, 0);
    if (sum + bytes > this.#most) {
      files.sort((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1));
      const left = Math.max(0, Math.min(this.#most * LEFT_FRACTION, this.#most - bytes));
      for (const file of files) {
        if (sum <= left) break;
        await this.#disk.remove(file.path);
        sum -= file.bytes;
      }
    }
    this.#seen = sum;
    this.#written = 0;
  }
}

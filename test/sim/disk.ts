/**
 * The disk of one simulated machine, as one process of it sees it: every call takes time, and a dead process makes
 * none.
 */
import type { Disk, DiskFile, FileFacts } from '../../src/base/seams.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../simulated-disk.ts';
import { DiskCrash } from '../simulated-faults.ts';
import type { Dice } from './dice.ts';
import { CHECKPOINTS_DIR, indexOfPath } from './paths.ts';
import { never, type SimulatedProcess } from './process.ts';

/** Outlives its processes. */
export class Machine {
  disk: SimulatedDisk = createSimulatedDisk();
  /** A stored byte was changed. */
  wasDamaged = false;
  /** At some time it was full, or its checkpoint folder absent. */
  refusedWrites = false;
  isAbsent = false;
  /** Every operation takes so many times longer. */
  slowness: number;
  readonly #removed: (path: string) => void;
  readonly #dice: Dice;
  #spareBytes: number | undefined;

  /** `removed` hears of each file that a process removes. */
  constructor(dice: Dice, slowness: number, removed: (path: string) => void) {
    this.#dice = dice;
    this.slowness = slowness;
    this.#removed = removed;
  }

  async remove(path: string): Promise<void> {
    const isThere = this.disk.content(path) !== undefined;
    await this.disk.remove(path);
    if (isThere) this.#removed(path);
  }

  flip(path: string, at: number, mask: number): void {
    this.wasDamaged = true;
    this.disk.flip(path, at, mask);
  }

  /** Full but for so many bytes, until that ends; a crash does not end it. */
  fillUp(spareBytes: number): void {
    this.refusedWrites = true;
    this.#spareBytes = spareBytes;
    this.disk.fillUp(spareBytes);
  }

  /** The folder of checkpoints is not mounted: its place is empty, and cannot be written. */
  unmount(): void {
    this.refusedWrites = true;
    this.isAbsent = true;
  }

  mount(): void {
    this.isAbsent = false;
  }

  hides(path: string): boolean {
    return this.isAbsent && path.startsWith(CHECKPOINTS_DIR);
  }

  makeRoom(): void {
    this.#spareBytes = undefined;
    this.disk.setCapacity(Number.MAX_SAFE_INTEGER);
  }

  /** What was not synced may be lost or torn. */
  crash(): void {
    this.disk = this.disk.afterCrash(() => this.#dice.fraction());
    if (this.#spareBytes !== undefined) this.disk.fillUp(this.#spareBytes);
  }
}

const absent = (path: string): Error => Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });

const QUICK_MS = [0.02, 0.3] as const;
const SYNC_MS = [0.5, 8] as const;

export class ProcessDisk implements Disk {
  readonly #process: SimulatedProcess;
  readonly #machine: Machine;
  readonly #others: (index: number) => Machine | undefined;

  /** `others`: where the files of other pservers are read, if this machine sees them. */
  constructor(process: SimulatedProcess, machine: Machine, others: (index: number) => Machine | undefined) {
    this.#process = process;
    this.#machine = machine;
    this.#others = others;
  }

  makeFolder = (path: string): Promise<void> => this.#at(path, (disk) => disk.makeFolder(path));
  create = (path: string): Promise<DiskFile> =>
    this.#at(path, async (disk) => this.#fileOf(path, await disk.create(path)));
  open = (path: string): Promise<DiskFile> => this.#at(path, async (disk) => this.#fileOf(path, await disk.open(path)));
  rename = (from: string, to: string): Promise<void> => this.#at(from, (disk) => disk.rename(from, to));
  syncFolder = (path: string): Promise<void> => this.#at(path, (disk) => disk.syncFolder(path), SYNC_MS);
  remove = (path: string): Promise<void> => this.#at(path, () => this.#machine.remove(path));
  removeFolder = (path: string): Promise<void> => this.#at(path, (disk) => disk.removeFolder(path));
  list = (path: string): Promise<string[]> => this.#at(path, (disk) => disk.list(path));
  exists = (path: string): Promise<boolean> =>
    this.#call(async () => !this.#machine.hides(path) && this.#diskOf(path).exists(path));
  inspect = (path: string): Promise<FileFacts | undefined> =>
    this.#call(async () => (this.#machine.hides(path) ? undefined : this.#diskOf(path).inspect(path)));
  touch = (path: string): Promise<void> => this.#at(path, (disk) => disk.touch(path));
  freeBytes = (path: string): Promise<number> => this.#call((disk) => disk.freeBytes(path));

  #at<T>(path: string, run: (disk: SimulatedDisk) => Promise<T>, range?: readonly [number, number]): Promise<T> {
    return this.#call(async () => {
      if (this.#machine.hides(path)) throw absent(path);
      return run(this.#diskOf(path));
    }, range);
  }

  #diskOf(path: string): SimulatedDisk {
    const index = indexOfPath(path);
    return ((index === undefined ? undefined : this.#others(index)) ?? this.#machine).disk;
  }

  #fileOf(path: string, opened: DiskFile): DiskFile {
    let file = opened;
    // Of another machine, which crashed and is there again: storage that both share has its durable files still.
    const reading = async <T>(run: () => Promise<T>): Promise<T> => {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof DiskCrash) || this.#diskOf(path) === this.#machine.disk) throw error;
        file = await this.#diskOf(path).open(path);
        return run();
      }
    };
    return {
      write: (bytes, offset) => this.#call(() => file.write(bytes, offset)),
      read: (into, offset) => this.#call(() => reading(() => file.read(into, offset))),
      size: () => this.#call(() => reading(() => file.size())),
      sync: () => this.#call(() => file.sync(), SYNC_MS),
      close: () => this.#call(() => reading(() => file.close())),
    };
  }

  #call<T>(run: (disk: SimulatedDisk) => Promise<T>, [low, high]: readonly [number, number] = QUICK_MS): Promise<T> {
    const process = this.#process;
    if (!process.operate()) return never();
    return new Promise((resolve, reject) => {
      process.timeline.after(process.takes(low, high) * this.#machine.slowness, () => {
        if (process.isDead) return;
        run(this.#machine.disk).then(
          (value) => process.deliver(() => resolve(value)),
          (error: unknown) => process.deliver(() => reject(error as Error)),
        );
      });
    });
  }
}

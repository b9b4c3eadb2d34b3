/**
 * The disk of one simulated machine, as one process of it sees it: every call takes time, and a dead process makes
 * none.
 */
import type { Disk, DiskFile, FileFacts } from '../../src/base/seams.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../simulated-disk.ts';
import type { Dice } from './dice.ts';
import { never, type SimulatedProcess } from './process.ts';

/** Outlives its processes. */
export class Machine {
  disk: SimulatedDisk = createSimulatedDisk();
  readonly #dice: Dice;
  #spareBytes: number | undefined;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** Full but for so many bytes, until that ends; a crash does not end it. */
  fillUp(spareBytes: number): void {
    this.#spareBytes = spareBytes;
    this.disk.fillUp(spareBytes);
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

const QUICK_MS = [0.02, 0.3] as const;
const SYNC_MS = [0.5, 8] as const;

export class ProcessDisk implements Disk {
  readonly #process: SimulatedProcess;
  readonly #machine: Machine;

  constructor(process: SimulatedProcess, machine: Machine) {
    this.#process = process;
    this.#machine = machine;
  }

  makeFolder = (path: string): Promise<void> => this.#call((disk) => disk.makeFolder(path));
  create = (path: string): Promise<DiskFile> => this.#call(async (disk) => this.#fileOf(await disk.create(path)));
  open = (path: string): Promise<DiskFile> => this.#call(async (disk) => this.#fileOf(await disk.open(path)));
  rename = (from: string, to: string): Promise<void> => this.#call((disk) => disk.rename(from, to));
  syncFolder = (path: string): Promise<void> => this.#call((disk) => disk.syncFolder(path), SYNC_MS);
  remove = (path: string): Promise<void> => this.#call((disk) => disk.remove(path));
  list = (path: string): Promise<string[]> => this.#call((disk) => disk.list(path));
  exists = (path: string): Promise<boolean> => this.#call((disk) => disk.exists(path));
  inspect = (path: string): Promise<FileFacts | undefined> => this.#call((disk) => disk.inspect(path));
  freeBytes = (path: string): Promise<number> => this.#call((disk) => disk.freeBytes(path));

  #fileOf(file: DiskFile): DiskFile {
    return {
      write: (bytes, offset) => this.#call(() => file.write(bytes, offset)),
      read: (into, offset) => this.#call(() => file.read(into, offset)),
      size: () => this.#call(() => file.size()),
      sync: () => this.#call(() => file.sync(), SYNC_MS),
      close: () => this.#call(() => file.close()),
    };
  }

  #call<T>(run: (disk: SimulatedDisk) => Promise<T>, [low, high]: readonly [number, number] = QUICK_MS): Promise<T> {
    const process = this.#process;
    if (!process.operate()) return never();
    return new Promise((resolve, reject) => {
      process.timeline.after(process.takes(low, high), () => {
        if (process.isDead) return;
        run(this.#machine.disk).then(
          (value) => process.deliver(() => resolve(value)),
          (error: unknown) => process.deliver(() => reject(error as Error)),
        );
      });
    });
  }
}

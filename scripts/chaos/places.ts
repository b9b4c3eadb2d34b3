/** Where a cluster keeps its checkpoints and its store: on small disks of their own, so that these can be filled. */
import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { SmallDisk } from '../../test/store/small-disk.ts';

/** More than the checkpoints of any job here, or its store, ever take. */
const DISK_BYTES = 64 * 1024 ** 2;
/** What pservers free while the disk is full is taken as well. */
const REFILL_MS = 100;

export type DiskName = 'disk' | 'store-disk';

export class Places {
  readonly disks: ReadonlyMap<DiskName, SmallDisk>;
  /** For `--dir` of the pservers. */
  readonly roles: string;
  readonly checkpoints: string;
  readonly sqlitePath: string;

  /** Mounts the disks. What has none is in `folder`. */
  constructor(folder: string, disks: readonly DiskName[]) {
    const mounted = new Map<DiskName, SmallDisk>();
    this.disks = mounted;
    // Also after Ctrl-C and failures.
    process.once('exit', () => {
      for (const disk of mounted.values()) disk.unmount();
    });
    for (const name of disks) mounted.set(name, SmallDisk.mount(DISK_BYTES));
    this.roles = join(mounted.get('disk')?.folder ?? folder, 'roles');
    this.checkpoints = join(this.roles, 'checkpoints');
    this.sqlitePath = join(mounted.get('store-disk')?.folder ?? folder, 'store.db');
  }

  /** Fills a disk. The function returned makes room again. */
  fill(name: DiskName): () => void {
    const disk = this.disks.get(name)!;
    disk.fill();
    const refill = setInterval(() => disk.fill(), REFILL_MS);
    return () => {
      clearInterval(refill);
      disk.freeUp();
    };
  }

  /** Takes the folder of the checkpoints away. The function returned puts it back: false if it was made again. */
  takeCheckpoints(): () => boolean {
    const away = `${this.checkpoints}.away`;
    renameSync(this.checkpoints, away);
    return () => {
      const isMadeAgain = existsSync(this.checkpoints);
      if (isMadeAgain) renameSync(this.checkpoints, `${this.checkpoints}.made-again.${Date.now()}`);
      renameSync(away, this.checkpoints);
      return !isMadeAgain;
    };
  }

  /** Copies what is on the disks, which their end would remove. */
  keep(folder: string): void {
    for (const [name, disk] of this.disks) cpSync(disk.folder, join(folder, name), { recursive: true });
  }
}

/** Real processes on a real disk that is full for longer than their leases last. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { SharedTime } from '../shared-time.ts';
import { SmallDisk } from '../small-disk.ts';
import { StoreProcess } from '../store-process.ts';
import { failureOf, SILENT } from '../support.ts';

const TTL_MS = 1_000;
const reason = SmallDisk.whyNot();

describe.skipIf(reason !== undefined)(
  `SqliteStore on a small disk${reason === undefined ? '' : ` (${reason})`}`,
  () => {
    let disk: SmallDisk;
    const processes: StoreProcess[] = [];

    beforeAll(() => {
      disk = SmallDisk.mount(600 * 1024);
    });
    afterAll(async () => {
      await Promise.all(processes.map((child) => child.kill()));
      disk.unmount();
    });

    it('a full disk ends no lease when there is room again', async () => {
      const url = `sqlite:${join(disk.folder, 'store.db')}`;
      const time = new SharedTime();
      for (const name of ['a', 'b', 'c']) {
        const child = new StoreProcess(url, 'hold', [`/owner/${name}`, String(TTL_MS)], time);
        processes.push(child);
        await child.until('held');
      }
      await time.pass(2 * TTL_MS);
      disk.fill();
      for (const child of processes) await time.passUntil(child, 'suspended', 2 * TTL_MS);
      await time.pass(1.5 * TTL_MS);
      disk.freeUp();
      for (const child of processes) await time.passUntil(child, 'resumed', TTL_MS);
      await time.pass(3 * TTL_MS);
      for (const child of processes) expect(child.lines).toEqual(['held', 'suspended', 'resumed']);
    });

    it('a store cannot be created on a full disk, which is no reason to give up', async () => {
      disk.fill();
      const url = `sqlite:${join(disk.folder, 'other.db')}`;
      const error = await failureOf(openStore(url, { clock: createClock(), log: SILENT }));
      expect(error).toMatchObject({ code: 'StoreUnavailable', details: { kind: 'full' } });
      disk.freeUp();
      await (await openStore(url, { clock: createClock(), log: SILENT })).close();
    });
  },
);

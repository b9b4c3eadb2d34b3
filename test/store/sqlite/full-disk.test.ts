/** Real processes on a real disk that is full for longer than their leases last. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
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
      for (const name of ['a', 'b', 'c'])
        processes.push(new StoreProcess(url, 'hold', `/owner/${name}`, String(TTL_MS)));
      for (const child of processes) await child.until('held');
      disk.fill();
      for (const child of processes) await child.until('suspended');
      await new Promise((resolve) => setTimeout(resolve, 1.5 * TTL_MS));
      disk.freeUp();
      for (const child of processes) await child.until('resumed');
      await new Promise((resolve) => setTimeout(resolve, 1.5 * TTL_MS));
      for (const child of processes) expect(child.lines.slice(0, 3)).toEqual(['held', 'suspended', 'resumed']);
      for (const child of processes) expect(child.lines).not.toContain('lost');
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

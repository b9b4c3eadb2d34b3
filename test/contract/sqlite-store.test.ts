import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { SqliteTables } from '../../src/store/sqlite/tables.ts';
import type { Store } from '../../src/store/store.ts';
import { SILENT } from '../store/support.ts';
import { storeContract } from './store-contract.ts';

const CAPABILITIES = {
  sharedBetweenProcesses: true,
  survivesRestart: true,
  canBeReplaced: true,
  leaseTtlStepMs: 1,
};

storeContract('SqliteStore', CAPABILITIES, async () => {
  const clock = createClock();
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-sqlite-'));
  const path = join(folder, 'store.db');
  const url = `sqlite:${path}`;
  const open = (): Promise<Store> => openStore(url, { clock, log: SILENT });
  return {
    clock,
    url,
    leaseTtlMs: 1_500,
    connect: open,
    compact: async (revision) => {
      const db = new DatabaseSync(path, { timeout: 5_000 });
      new SqliteTables(db).dropHistory(revision);
      db.close();
    },
    restart: async () => {},
    replace: async () => {
      // The store's file, and the two that SQLite keeps beside it.
      for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, `${path}.old${suffix}`);
      await (await open()).close();
    },
    stop: async () => rmSync(folder, { recursive: true }),
  };
});

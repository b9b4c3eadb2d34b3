import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { SqliteTables } from '../../src/store/sqlite/tables.ts';
import { SILENT } from '../store/support.ts';
import { storeContract } from './store-contract.ts';

storeContract('SqliteStore', async () => {
  const clock = createClock();
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-sqlite-'));
  const path = join(folder, 'store.db');
  return {
    clock,
    leaseTtlMs: 1_500,
    connect: () => openStore(`sqlite:${path}`, { clock, log: SILENT }),
    compact: async (revision) => {
      const db = new DatabaseSync(path, { timeout: 5_000 });
      new SqliteTables(db).dropHistory(revision);
      db.close();
    },
    stop: async () => rmSync(folder, { recursive: true }),
  };
});

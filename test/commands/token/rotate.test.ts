/** `paddlet token rotate` as a user meets it, on a SQLite file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { aJob, publishing, recordOf } from '../../cluster/job/stored-job.ts';
import { SILENT } from '../../store/support.ts';
import { runCommand } from '../run-command.ts';

const keys = keysOf('/paddlet/test');
const OLD = 'a'.repeat(64);

test('it replaces the token of the job, and shows neither', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-token-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  const store = await openStore(url, { clock: createClock(), log: SILENT });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await store.txn({ if: [], then: [...publishing(keys, recordOf(aJob())), { put: keys.token, value: OLD }] });
  const { code, out, err } = await runCommand(['token', 'rotate', '--store', url], { cwd: folder });
  const said = out + err;
  expect([code, said]).toEqual([0, 'job test has a new join token\n']);
  const { value } = (await store.get(keys.token))!;
  expect(value).not.toBe(OLD);
  expect(said).not.toContain(value);
});

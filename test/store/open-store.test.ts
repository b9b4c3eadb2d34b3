import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClock } from '../../src/host/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { failureOf, put, SILENT } from './support.ts';

const options = { clock: createClock(), log: SILENT };

describe('openStore', () => {
  it.each([
    '',
    'memory',
    'redis://localhost',
    'sqlite:',
    'etcd://',
    'etcd://host',
    'etcd://host:0',
    'etcd://host:70000',
    'etcd://a:1,,b:2',
    'etcd://user@host:1',
    'etcd:///host:1',
  ])('refuses %j, with a hint', async (url) => {
    const error = await failureOf(openStore(url, options));
    expect(error).toMatchObject({ code: 'Usage', hint: expect.stringContaining('etcd://') });
  });

  it('opens SQLite, making the folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'paddlet-open-'));
    const url = `sqlite:${join(folder, 'a/b/store.db')}`;
    const store = await openStore(url, options);
    expect(store.url).toBe(url);
    await put(store, '/a', '1');
    await store.close();
    rmSync(folder, { recursive: true });
  });

  it('opens an etcd that is unreachable: only its calls fail', async () => {
    // Port 1 is reserved: no process listens there.
    const store = await openStore('etcd://127.0.0.1:1,[::1]:1', options);
    const failures = await Promise.all([store.get('/a'), put(store, '/a', '1')].map(failureOf));
    expect(failures.map((error) => error.code)).toEqual(['StoreUnavailable', 'StoreUnavailable']);
    await store.close();
  });
});

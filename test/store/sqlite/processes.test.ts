/** One SQLite store, several processes: they are stopped and killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { SharedTime } from '../shared-time.ts';
import { StoreProcess } from '../store-process.ts';
import { put, SILENT } from '../support.ts';

const TTL_MS = 1_000;
let folder = '';
let url = '';
const processes: StoreProcess[] = [];

type Task = ConstructorParameters<typeof StoreProcess>[1];

function start(task: Task, args: readonly string[], time?: SharedTime): StoreProcess {
  const child = new StoreProcess(url, task, args, time);
  processes.push(child);
  return child;
}

/** An observer and an owner, which the observer has seen. */
async function startPair(time: SharedTime): Promise<{ observer: StoreProcess; owner: StoreProcess }> {
  const observer = start('watch', ['/'], time);
  await observer.until('watching');
  const owner = start('hold', ['/owner', String(TTL_MS)], time);
  await owner.until('held');
  await time.passUntil(observer, '/owner=owner', TTL_MS);
  return { observer, owner };
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-processes-'));
  url = `sqlite:${join(folder, 'store.db')}`;
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((child) => child.kill()));
  rmSync(folder, { recursive: true });
});

describe('SqliteStore, several processes', () => {
  it('expires nothing when everything is stopped for longer than a lease, and goes on', async () => {
    const time = new SharedTime();
    const { observer, owner } = await startPair(time);
    await time.pass(2 * TTL_MS);
    for (const child of [owner, observer]) child.pause();
    await time.pass(2.5 * TTL_MS);
    // The owner goes on later than the observer, and within a lease.
    observer.resume();
    await time.pass(0.8 * TTL_MS);
    owner.resume();
    // Its own deadline has passed, the lease has not.
    await time.passUntil(owner, 'resumed', TTL_MS);
    await time.pass(3 * TTL_MS);
    expect(owner.lines).toEqual(['held', 'suspended', 'resumed']);
    expect(observer.lines).toEqual(['watching', '/owner=owner']);
  });

  it('expires the lease of an owner that alone is stopped; it learns so when it goes on', async () => {
    const time = new SharedTime();
    const { observer, owner } = await startPair(time);
    owner.pause();
    await time.passUntil(observer, '-/owner', 2 * TTL_MS);
    owner.resume();
    await time.passUntil(owner, 'lost', TTL_MS);
    expect(owner.lines).toEqual(['held', 'suspended', 'lost']);
  });

  it('keeps what was acknowledged, and is free for others, after a writer was killed', async () => {
    const observer = start('watch', ['/']);
    await observer.until('watching');
    const writer = start('write', ['/n/']);
    await writer.until('200');
    await writer.kill();
    const acknowledged = writer.lines.length;
    const store = await openStore(url, { clock: createClock(), log: SILENT });
    const { entries } = await store.range({ prefix: '/n/' });
    const kept = new Set(entries.map((entry) => entry.value));
    expect(writer.lines.filter((line) => !kept.has(line))).toEqual([]);
    expect(kept.size - acknowledged).toBeLessThanOrEqual(1 + 20);
    await put(store, '/end', 'x');
    await observer.until('/end=x');
    expect(observer.lines.slice(1, -1)).toEqual(
      [...kept].sort((a, b) => Number(a) - Number(b)).map((n) => `/n/${n}=${n}`),
    );
    await store.close();
  });

  it('closes wholly: nothing keeps the process alive', async () => {
    const child = start('close', ['/']);
    await child.until('closed');
    expect(await child.exit()).toBe(0);
  });
});

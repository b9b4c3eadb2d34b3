/** One SQLite store, several processes: they are stopped and killed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { StoreProcess } from '../store-process.ts';
import { put, SILENT } from '../support.ts';

const TTL_MS = 1_000;
let folder = '';
let url = '';
const processes: StoreProcess[] = [];

function start(...task: ConstructorParameters<typeof StoreProcess> extends [string, ...infer Rest] ? Rest : never) {
  const child = new StoreProcess(url, ...task);
  processes.push(child);
  return child;
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
    const observer = start('watch', '/');
    await observer.until('watching');
    const owner = start('hold', '/owner', String(TTL_MS));
    await owner.until('held');
    await observer.until('/owner=owner');
    for (const child of [owner, observer]) child.pause();
    await new Promise((resolve) => setTimeout(resolve, 2.5 * TTL_MS));
    for (const child of [observer, owner]) child.resume();
    // Its own deadline has passed, the lease has not.
    await owner.until('resumed');
    expect(owner.lines).toEqual(['held', 'suspended', 'resumed']);
    expect(observer.lines).toEqual(['watching', '/owner=owner']);
  });

  it('expires the lease of an owner that alone is stopped; it learns so when it goes on', async () => {
    const observer = start('watch', '/');
    await observer.until('watching');
    const owner = start('hold', '/owner', String(TTL_MS));
    await owner.until('held');
    owner.pause();
    await observer.until('-/owner');
    owner.resume();
    await owner.until('lost');
    expect(owner.lines).toEqual(['held', 'suspended', 'lost']);
  });

  it('keeps what was acknowledged, and is free for others, after a writer was killed', async () => {
    const observer = start('watch', '/');
    await observer.until('watching');
    const writer = start('write', '/n/');
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
    const child = start('close', '/');
    await child.until('closed');
    expect(await child.exit()).toBe(0);
  });
});

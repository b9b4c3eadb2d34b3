/** The SQL in docs/store-keys.md, run as a program in another language would, against a store that paddlet has open. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClock } from '../../../src/host/clock.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { ROOT } from '../../source-files.ts';
import { failureOf, put, SILENT, WatchRecorder } from '../support.ts';

type Values = Record<string, string | number>;
type Row = Record<string, string | number | null>;

const docs = readFileSync(join(ROOT, 'docs/store-keys.md'), 'utf8');
const blocks = new Map([...docs.matchAll(/```sql\n-- (\w+)\n([^`]+)```/g)].map(([, name, text]) => [name!, text!]));

let folder = '';
let store: Store;
let foreign: DatabaseSync;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paddlet-sql-'));
  const path = join(folder, 'store.db');
  store = await openStore(`sqlite:${path}`, { clock: createClock(), log: SILENT });
  foreign = new DatabaseSync(path, { timeout: 5_000 });
  foreign.exec('PRAGMA synchronous = FULL');
});
afterEach(async () => {
  foreign.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Runs the statements of a block in order; what one returns in `id` or `revision` is given to the next ones. */
function run(name: string, given: Values): Row[][] {
  const values: Values = { ...given };
  return blocks
    .get(name)!
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const statement = foreign.prepare(text);
      const used = Object.fromEntries(Object.entries(values).filter(([key]) => new RegExp(`:${key}\\b`).test(text)));
      const rows = statement.all(used) as Row[];
      if (/RETURNING id/.test(text)) values.lease = Number(rows[0]!.id);
      if (/RETURNING revision/.test(text)) values.revision = Number(rows[0]!.revision);
      return rows;
    });
}

const pragma = (name: string): unknown => Object.values(foreign.prepare(`PRAGMA ${name}`).get() as Row)[0];
const TRAINER = { key: '/paddlet/a/trainer/é', value: 'host:1' };

describe('docs/store-keys.md, the SQLite file', () => {
  it('states the numbers that mark the file', () => {
    for (const name of ['application_id', 'user_version']) {
      expect(docs).toContain(`| \`PRAGMA ${name}\` | ${pragma(name)} `);
    }
  });

  it('names every table and column', () => {
    const tables = foreign.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    const section = docs.slice(docs.indexOf('### Tables'), docs.indexOf('### Reading'));
    for (const { name } of tables.all() as { name: string }[]) {
      expect(section).toContain(`\`${name}\``);
      const columns = foreign.prepare('SELECT name FROM pragma_table_info(?)').all(name) as { name: string }[];
      for (const column of columns) expect(section, `${name}.${column.name}`).toContain(`\`${column.name}\``);
    }
  });

  it('reads a key, and lists a prefix with its revision', async () => {
    await put(store, '/a/1', 'one');
    await put(store, '/a0', 'outside');
    const { revision } = await put(store, '/a/2', 'two');
    expect(run('get', { key: '/a/1' })[0]).toEqual([expect.objectContaining({ value: 'one', lease_id: 0 })]);
    const [, entries, meta] = run('list', { prefix: '/a/', end: '/a0' });
    expect(entries!.map(({ key, value }) => [key, value])).toEqual([
      ['/a/1', 'one'],
      ['/a/2', 'two'],
    ]);
    expect(meta).toEqual([{ revision: Number(revision) }]);
  });

  it('sees changes: puts and deletions, in order', async () => {
    const { revision } = await put(store, '/a/1', 'one');
    const before = pragma('data_version');
    await put(store, '/a/1', 'two');
    await store.txn({ if: [], then: [{ delete: '/a/1' }] });
    expect(pragma('data_version')).not.toBe(before);
    const [events, meta] = run('changes', { next: Number(revision) + 1 });
    expect(events!.map(({ key, value }) => [key, value])).toEqual([
      ['/a/1', 'two'],
      ['/a/1', null],
    ]);
    expect(meta).toEqual([{ compacted: 0, revision: Number(revision) + 2 }]);
  });

  it('registers a key under a lease, which paddlet sees, renews it, and ends it', async () => {
    const watch = new WatchRecorder(store, '/paddlet/', 1n);
    const [, granted, raised] = run('register', { ...TRAINER, ttl_ms: 60_000 });
    const lease = Number(granted![0]!.id);
    await watch.until((story) => story.length === 1);
    const revision = BigInt(Number(raised![0]!.revision));
    expect(await store.get(TRAINER.key)).toEqual({
      ...TRAINER,
      createRevision: revision,
      modRevision: revision,
      leaseId: BigInt(lease),
    });
    run('renew', { lease });
    expect(foreign.prepare('SELECT renewals, ttl_ms FROM lease').get()).toEqual({ renewals: 1, ttl_ms: 60_000 });
    run('end', { lease, key: TRAINER.key });
    await watch.untilDeleted(TRAINER.key);
    expect((await failureOf(store.leaseKeepAlive(BigInt(lease)))).code).toBe('LeaseGone');
    // As large as paddlet itself counts them.
    const bytes = foreign.prepare('SELECT bytes FROM event WHERE value IS NOT NULL').all();
    await put(store, TRAINER.key, TRAINER.value);
    const own = foreign.prepare('SELECT bytes FROM event WHERE value IS NOT NULL ORDER BY revision DESC').get();
    expect(bytes).toEqual([own]);
  });

  it('refuses to register a key that exists, changing nothing', async () => {
    await put(store, TRAINER.key, 'another');
    const { revision } = await store.identity();
    expect(() => run('register', { ...TRAINER, ttl_ms: 60_000 })).toThrow('UNIQUE');
    foreign.exec('ROLLBACK');
    expect((await store.identity()).revision).toBe(revision);
    expect(foreign.prepare('SELECT count(*) AS leases FROM lease').get()).toEqual({ leases: 0 });
  });

  it('has the keys of a client that stops renewing deleted by paddlet', async () => {
    const watch = new WatchRecorder(store, '/paddlet/', 1n);
    run('register', { ...TRAINER, ttl_ms: 300 });
    await watch.untilDeleted(TRAINER.key);
    expect(watch.story).toEqual([`${TRAINER.key}=${TRAINER.value}`, `-${TRAINER.key}`]);
  });
});

/** `checkpoint export --since`: the changes applied to the earlier export are the later export. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changedRows } from '../../../src/checkpoint/export/changes.ts';
import { type ExportFileOptions, exportFile, exportSince } from '../../../src/checkpoint/export/files.ts';
import { withModelFile } from '../../../src/checkpoint/export/model-file.ts';
import { checkpointPath } from '../../../src/checkpoint/file/paths.ts';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createStorage } from '../../../src/host/storage.ts';
import type { ShardRows } from '../../../src/tensor/parameters.ts';
import * as fc from '../../properties.ts';
import { withSet } from '../cluster-fixture.ts';
import { allShards, emptyParameters, fill, jobOf, metaOf, momentOf, uuidOf } from '../fixture.ts';

type Table = ReadonlyMap<bigint, number>;

const rowsOf = (rows: readonly (readonly [bigint, number])[]): ShardRows => ({
  ids: BigUint64Array.from(rows, ([id]) => id),
  values: Float32Array.from(rows.flatMap(([, value]) => [value, -value])),
  slots: { n: Float32Array.from(rows.flatMap(([id]) => [Number(id), 1])) },
  steps: Uint32Array.from(rows, ([id]) => Number(id % 3n)),
});

/** In batches of this number of rows, each in place of the one before. */
async function* batches(table: Table, count: number): AsyncGenerator<ShardRows> {
  const sorted = [...table].sort(([a], [b]) => (a < b ? -1 : 1));
  for (let from = 0; from < sorted.length; from += count) yield rowsOf(sorted.slice(from, from + count));
}

it('has the rows that are new or changed, and the ids that are gone', async () => {
  const counts = { added: 0, changed: 0, same: 0, gone: 0 };
  const table = fc
    .array(fc.tuple(fc.bigInt({ min: 0n, max: 20n }), fc.constantFrom(0, -0, 1, Number.NaN)), { maxLength: 20 })
    .map((rows): Table => new Map(rows));
  const size = fc.integer({ min: 1, max: 8 });
  await fc.assert(
    fc.asyncProperty(table, table, size, size, async (before, after, some, others) => {
      const applied = new Map(before);
      for await (const { rows, gone } of changedRows(batches(before, some), batches(after, others))) {
        for (const id of gone) {
          expect(applied.delete(id) && !after.has(id)).toBe(true);
          counts.gone += 1;
        }
        rows.ids.forEach((id, at) => {
          counts[before.has(id) ? 'changed' : 'added'] += 1;
          expect(Object.is(before.get(id), after.get(id))).toBe(false);
          expect([rows.slots.n![2 * at], rows.steps![at]]).toEqual([Number(id), Number(id % 3n)]);
          applied.set(id, rows.values[2 * at]!);
        });
      }
      for (const id of before.keys()) if (Object.is(before.get(id), after.get(id))) counts.same += 1;
      expect(new Map([...applied].sort())).toEqual(new Map([...after].sort()));
    }),
  );
  for (const [what, times] of Object.entries(counts)) expect(times, what).toBeGreaterThan(0);
});

describe('of real files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'paddlet-changes-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const storage = createStorage(createDisk());
  const job = jobOf();
  const [kept, changed, added, removed] = [0, 1, 2, 3].map((part) =>
    Array.from({ length: 40 }, (_, at) => (BigInt(4 * at + part) * 0x3000_0000_0000_0007n) % 2n ** 64n),
  ) as [bigint[], bigint[], bigint[], bigint[]];
  let names = 0;
  const random = { uuid: () => `changes-${names++}` };

  /** A checkpoint of these ids, and its place. */
  async function saved(number: number, parts: readonly (readonly [bigint[], number])[]): Promise<string> {
    const parameters = emptyParameters(job);
    for (const shard of allShards(job)) parameters.addShard(shard);
    for (const [ids, salt] of parts) fill(parameters, job, ids, salt);
    const meta = metaOf(job, { uuid: uuidOf(number) });
    const options = { storage, folder, meta, parameters, shards: allShards(job), momentOf: momentOf() };
    await writeCheckpointFile(options);
    return checkpointPath({ folder, index: meta.index }, meta.uuid);
  }

  const at = (name: string): string => join(folder, name);
  const variables = { dense: [0, 1], sparse: [0, 1] };
  const exporting = (path: string, out: string, more: Partial<ExportFileOptions> & { readonly since?: never } = {}) =>
    withSet(storage, [{ path }], (set) => {
      const options = { storage, random, set, variables, format: 'safetensors' as const, out: at(out) };
      return exportFile({ ...options, state: true, replace: true, ...more });
    });

  let later: string;
  beforeAll(async () => {
    const earlier = await saved(1, [
      [kept, 1],
      [changed, 1],
      [removed, 1],
    ]);
    later = await saved(2, [
      [kept, 1],
      [changed, 2],
      [added, 1],
    ]);
    await exporting(earlier, 'earlier.safetensors');
    await exporting(later, 'later.safetensors');
    await exporting(earlier, 'values.safetensors', { state: false });
  });

  const since = (path: string, out: string, more: Partial<ExportFileOptions> = {}) =>
    withSet(storage, [{ path: later }], (set) => {
      const options = { storage, random, set, variables, format: 'safetensors' as const, out: at(out) };
      return exportSince({ ...options, state: true, replace: true, ...more }, at(path));
    });

  it('counts rows and ids that are gone', async () => {
    const { tables } = await since('earlier.safetensors', 'changes.safetensors');
    expect(tables).toMatchObject([
      { name: 'emb', rows: 80, gone: 40 },
      { name: 'emb/values.0', rows: 80, gone: 40 },
    ]);
    const same = await since('later.safetensors', 'nothing.safetensors');
    expect(same.tables).toMatchObject([
      { rows: 0, gone: 0 },
      { rows: 0, gone: 0 },
    ]);
    await withModelFile(storage, at('changes.safetensors'), async (model) => {
      expect(await model.damaged()).toEqual([]);
      await expect(model.load()).rejects.toThrow('has only what has changed since another export');
      expect(() => model.asEarlier()).toThrow('has only what has changed since another export');
    });
  });

  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'gives the later export by the example in Python',
    async () => {
      await since('earlier.safetensors', 'changes.safetensors');
      const python = (...names: string[]): string =>
        execFileSync('python3', ['examples/checkpoints/apply_changes.py', ...names.map(at), 'emb'], {
          encoding: 'utf8',
        });
      await since('later.safetensors', 'nothing.safetensors');
      const whole = python('later.safetensors', 'nothing.safetensors');
      expect(python('earlier.safetensors', 'changes.safetensors')).toBe(whole);
      expect(whole.split('\n')).toHaveLength(121);
      expect(() => python('later.safetensors', 'changes.safetensors')).toThrow('the changes are since another export');
    },
  );

  it('is refused if the earlier export lacks the state, is damaged, or has no order', async () => {
    await expect(since('values.safetensors', 'never')).rejects.toThrow('was exported without --state');
    await since('values.safetensors', 'values-changes.safetensors', { state: false });
    const bytes = readFileSync(at('earlier.safetensors'));
    bytes[bytes.length - 3]! ^= 1;
    await storage.put(at('damaged.safetensors'), {
      spool: at('damaged.part'),
      write: async (file) => {
        await file.write(bytes, 0);
        return { bytes: bytes.length };
      },
    });
    await expect(since('damaged.safetensors', 'never')).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
    await expect(since('missing', 'never')).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });

  it('is refused if the earlier export has rows of another width', async () => {
    await withModelFile(storage, at('earlier.safetensors'), async (model) => {
      const { parameters } = model.facts;
      const [emb] = parameters.sparse;
      const rows = model.asEarlier().rowsOf({ ...emb!, width: 5 }, { slots: [], steps: false });
      await expect(rows.next()).rejects.toMatchObject({ code: 'Usage', message: expect.stringContaining('rows of 5') });
    });
  });
});

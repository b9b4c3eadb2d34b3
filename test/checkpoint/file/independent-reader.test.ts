/** The file, on a real disk, through a reader written in another language from the format's public description. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writeCheckpointFile } from '../../../src/checkpoint/file/write-durable-file.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createStorage } from '../../../src/host/storage.ts';
import type { Parameters } from '../../../src/tensor/parameters.ts';
import { filledParameters, jobOf, metaOf, momentOf } from '../fixture.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
const folder = mkdtempSync(join(tmpdir(), 'paddlet-safetensors-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Read {
  readonly metadata: Record<string, string>;
  readonly tensors: Record<string, { dtype: string; shape: number[]; data: string[] }>;
}

async function readByPython(parameters: Parameters, extentBytes: number): Promise<Read> {
  const job = jobOf();
  const meta = metaOf(job);
  const disk = createDisk();
  const { uuid } = await writeCheckpointFile({
    ...{
      storage: createStorage(disk),
      folder,
      meta,
      parameters,
      shards: parameters.shards(),
      momentOf: momentOf(),
      extentBytes,
    },
  });
  const script = join(import.meta.dirname, '../read_safetensors.py');
  const out = execFileSync('python3', [script, join(folder, '1', uuid)], { maxBuffer: 2 ** 28, encoding: 'utf8' });
  return JSON.parse(out) as Read;
}

/** All pieces of a tensor, one extent after the other. */
function gather({ metadata, tensors }: Read, name: string): string[] {
  return Array.from(
    { length: Number(metadata.extents) },
    (_, extent) => tensors[`${name}.${extent}`]?.data ?? [],
  ).flat();
}

const bits = (floats: Float32Array): string[] =>
  Array.from(new Uint32Array(floats.buffer, floats.byteOffset, floats.length), String);

describe('an independent reader of safetensors', () => {
  if (!hasPython) {
    it.skip('there is no python3 here', () => {});
    return;
  }
  it.each([1_000_000, 500])('opens the file and finds what is in it (extents of %s bytes)', async (extentBytes) => {
    const parameters = filledParameters();
    const read = await readByPython(parameters, extentBytes);
    const shards = parameters.shards();
    expect(read.metadata).toMatchObject({ format: 'paddlet.checkpoint', formatVersion: '4', index: '1', token: '5' });
    expect(gather(read, 'paddlet/shards')).toEqual(
      expect.arrayContaining(shards.flatMap((shard) => [shard, 1 + (shard % 2), 10 + shard].map(String))),
    );
    const { sparse } = JSON.parse(read.metadata.state!) as { sparse: { slots: string[] }[] };
    const states = sparse.map(({ slots }) => slots);
    expect(states).toEqual([
      ['m', 'v'],
      ['z', 'n'],
    ]);
    for (const [table, name] of ['emb', 'emb/values.0'].entries()) {
      const rows = shards.map((shard) => parameters.exportRows(shard, table));
      const of = (field: string): string[] => gather(read, `sparse/${name}/${field}`);
      expect(of('ids')).toEqual(rows.flatMap(({ ids }) => Array.from(ids, String)));
      expect(of('values')).toEqual(rows.flatMap(({ values }) => bits(values)));
      const slots = states[table]!;
      for (const slot of slots) {
        expect(of(`slot.${slot}`)).toEqual(rows.flatMap((part) => bits(part.slots[slot]!)));
      }
      expect(of('steps')).toEqual(rows.flatMap(({ steps }) => (steps === undefined ? [] : Array.from(steps, String))));
    }
    const blocks = shards.flatMap((shard) => parameters.exportBlocks(shard)).filter(({ parameter }) => parameter === 1);
    expect(gather(read, 'dense/layer/bias/values')).toEqual(blocks.flatMap(({ values }) => bits(values)));
    expect(gather(read, 'dense/layer/bias/blocks')).toEqual(blocks.map(({ block }) => String(block)));
  });
});

/** Exported models, read back by readers of another language that know the formats from their public descriptions. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExportFormat, exportFile } from '../../../src/checkpoint/export/files.ts';
import { floatText } from '../../../src/checkpoint/export/float-text.ts';
import type { CheckpointSet } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { chooseVariables } from '../../../src/checkpoint/set/checkpoint-set.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createStorage } from '../../../src/host/storage.ts';
import type { Parameters } from '../../../src/tensor/parameters.ts';
import * as fc from '../../properties.ts';
import { type SavedCluster, saveCluster, withSet } from '../cluster-fixture.ts';
import { IDS } from '../fixture.ts';

const hasPython = spawnSync('python3', ['--version']).status === 0;
const folder = mkdtempSync(join(tmpdir(), 'paddlet-export-'));
afterAll(() => rmSync(folder, { recursive: true }));
const storage = createStorage(createDisk());
let saved: SavedCluster;
beforeAll(async () => {
  saved = await saveCluster({ storage, pservers: 3, folder: join(folder, 'checkpoints') });
});

const SORTED = [...IDS].sort((a, b) => (a < b ? -1 : 1));
let names = 0;
const random = { uuid: () => `export-${names++}` };

interface Wanted {
  readonly format: ExportFormat;
  readonly name: string;
  readonly state?: boolean;
  readonly vars?: readonly string[];
  readonly replace?: boolean;
}

async function exported({ format, name, state = true, vars = [], replace = false }: Wanted): Promise<string> {
  const out = join(folder, name);
  await withSet(storage, saved.refs, (set) => {
    const variables = chooseVariables(set.facts.parameters, vars);
    return exportFile({ storage, random, set, variables, format, out, state, replace });
  });
  return out;
}

/** To export all variables of a checkpoint, with their state. */
const allOf = (set: CheckpointSet) => {
  return { storage, random, set, variables: chooseVariables(set.facts.parameters, []), state: true, replace: false };
};

interface Read {
  readonly metadata: Record<string, string>;
  readonly tensors: Record<string, { dtype: string; shape: number[]; data: string[] }>;
}

const byPython = (script: string, path: string): Read =>
  JSON.parse(
    execFileSync('python3', [join(import.meta.dirname, script), path], { maxBuffer: 2 ** 28, encoding: 'utf8' }),
  ) as Read;

const bits = (floats: Float32Array): string[] =>
  Array.from(new Uint32Array(floats.buffer, floats.byteOffset, floats.length), String);

/** What must be in the file, from the memory that the checkpoint was made of. */
function expectedArrays(whole: Parameters): Record<string, string[]> {
  const arrays: Record<string, string[]> = {};
  for (const [table, name] of ['emb', 'emb/values.0'].entries()) {
    const { values, slots, steps } = whole.readRows(table, BigUint64Array.from(SORTED));
    arrays[`sparse/${name}/ids`] = SORTED.map(String);
    arrays[`sparse/${name}/values`] = bits(values);
    for (const [slot, all] of Object.entries(slots)) arrays[`sparse/${name}/slot.${slot}`] = bits(all);
    if (steps !== undefined) arrays[`sparse/${name}/steps`] = Array.from(steps, String);
  }
  for (const [parameter, name, blocks] of [
    [0, 'w', 1],
    [1, 'layer/bias', 2],
  ] as const) {
    const all = Array.from({ length: blocks }, (_, block) => whole.readBlock(parameter, block));
    arrays[`dense/${name}/values`] = all.flatMap(({ values }) => bits(values));
    for (const slot of Object.keys(all[0]!.slots)) {
      arrays[`dense/${name}/slot.${slot}`] = all.flatMap(({ slots }) => bits(slots[slot]!));
    }
    if (all[0]!.step !== undefined) arrays[`dense/${name}/steps`] = all.map(({ step }) => String(step));
  }
  return arrays;
}

describe.skipIf(!hasPython)('an exported model (skipped without python3)', () => {
  it.each([
    ['safetensors', '../read_safetensors.py'],
    ['npz', 'read_npz.py'],
  ] as const)(
    '%s: rows of all pservers sorted by unsigned id, whole dense parameters, state',
    async (format, script) => {
      const { tensors, metadata } = byPython(script, await exported({ format, name: `all.${format}` }));
      const data = Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, tensor.data]));
      expect(data).toEqual(expectedArrays(saved.whole));
      expect(tensors['dense/w/values']!.shape).toEqual([3, 5]);
      expect(tensors['sparse/emb/values']!.shape).toEqual([IDS.length, 3]);
      expect(metadata).toMatchObject({ format: 'paddlet.model', jobName: 'small', state: 'true' });
    },
  );

  it('values only, of chosen variables', async () => {
    const path = await exported({ format: 'npz', name: 'some.npz', state: false, vars: ['e?b', 'w'] });
    const { tensors } = byPython('read_npz.py', path);
    expect(Object.keys(tensors).sort()).toEqual(['dense/w/values', 'sparse/emb/ids', 'sparse/emb/values']);
  });
});

describe('a model exported as CSV', () => {
  it('has a file for each variable, and every float comes back', async () => {
    const out = await exported({ format: 'csv', name: 'csv' });
    expect(readdirSync(out).sort()).toEqual([
      'dense-layer%2Fbias.csv',
      'dense-w.csv',
      'sparse-emb%2Fvalues.0.csv',
      'sparse-emb.csv',
    ]);
    const lines = readFileSync(join(out, 'sparse-emb.csv'), 'utf8').trimEnd().split('\n');
    expect(lines[0]).toBe('id,v0,v1,v2,m.0,m.1,m.2,v.0,v.1,v.2,steps');
    const rows = saved.whole.readRows(0, BigUint64Array.from(SORTED));
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(SORTED.map(String));
    const column = (at: number): number[] => lines.slice(1).map((line) => Math.fround(Number(line.split(',')[at])));
    expect(column(2)).toEqual(SORTED.map((_, row) => rows.values[3 * row + 1]));
    expect(column(9)).toEqual(SORTED.map((_, row) => rows.slots.v![3 * row + 2]));
    const dense = readFileSync(join(out, 'dense-layer%2Fbias.csv'), 'utf8').trimEnd().split('\n');
    expect(dense[0]).toBe('index,value');
    expect(readFileSync(join(out, 'dense-w.csv'), 'utf8')).toMatch(/^index,value,m,v,steps\n/);
    expect(readFileSync(join(out, 'sparse-emb%2Fvalues.0.csv'), 'utf8')).toMatch(/^id,v0,z.0,n.0\n/);
    expect(dense).toHaveLength(20_001);
    expect(dense.at(-1)!.split(',')[0]).toBe('19999');
  });

  it('is one file for one variable', async () => {
    const text = readFileSync(await exported({ format: 'csv', name: 'w.csv', vars: ['w'], state: false }), 'utf8');
    expect(text.split('\n')).toHaveLength(17);
    expect(text).toMatch(/^index,value\n0,/);
  });

  it('writes every f32 so that it is read as the same', () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(Math.fround(Number(floatText(value)))).toBe(value);
      }),
      { numRuns: 2000 },
    );
    expect(
      [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, Math.fround(0.1)].map(floatText),
    ).toEqual(['nan', 'inf', '-inf', '-0', '0.1']);
  });
});

describe('export', () => {
  it('does not touch what is there, unless told to', async () => {
    const path = await exported({ format: 'npz', name: 'twice.npz' });
    const before = readFileSync(path);
    await expect(exported({ format: 'npz', name: 'twice.npz', vars: ['w'] })).rejects.toMatchObject({ code: 'Usage' });
    expect(readFileSync(path).equals(before)).toBe(true);
    await exported({ format: 'npz', name: 'twice.npz', replace: true });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('leaves nothing half written', async () => {
    const controller = new AbortController();
    const out = join(folder, 'never.safetensors');
    const stopped = withSet(storage, saved.refs, (set) =>
      exportFile({
        ...allOf(set),
        ...{ format: 'safetensors', out, signal: controller.signal },
        onBytes: () => controller.abort(new Error('stop')),
      }),
    );
    await expect(stopped).rejects.toThrow('stop');
    expect(readdirSync(folder).filter((name) => name.startsWith('never'))).toEqual([]);
  });

  it('leaves the file that it was to replace when it is stopped', async () => {
    const out = await exported({ format: 'npz', name: 'stays.npz' });
    const before = readFileSync(out);
    const controller = new AbortController();
    const stopped = withSet(storage, saved.refs, (set) =>
      exportFile({
        ...allOf(set),
        ...{ format: 'npz', out, replace: true, signal: controller.signal },
        onBytes: () => controller.abort(new Error('stop')),
      }),
    );
    await expect(stopped).rejects.toThrow('stop');
    expect(readFileSync(out).equals(before)).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith('stays'))).toEqual(['stays.npz']);
  });

  it('refuses to replace a folder', async () => {
    const exporting = exported({ format: 'npz', name: 'checkpoints', replace: true });
    await expect(exporting).rejects.toMatchObject({
      code: 'Usage',
      message: expect.stringMatching(/cannot be replaced/),
    });
  });

  it('refuses a checkpoint that lacks shards', async () => {
    const missing = withSet(storage, saved.refs.slice(1), (set) =>
      exportFile({
        ...allOf(set),
        ...{ format: 'npz', out: join(folder, 'part.npz') },
      }),
    );
    await expect(missing).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });
});

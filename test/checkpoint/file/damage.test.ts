import { describe, expect, it } from 'vitest';
import { isPaddletError } from '../../../src/base/errors.ts';
import { digestOf } from '../../../src/base/files.ts';
import type { Storage } from '../../../src/base/seams.ts';
import { checkpointPath } from '../../../src/checkpoint/file/paths.ts';
import { openCheckpoint } from '../../../src/checkpoint/file/reader.ts';
import type { TensorInfo } from '../../../src/checkpoint/file/safetensors/header.ts';
import { type LoadOptions, loadGeneration } from '../../../src/checkpoint/load/load.ts';
import {
  type CheckpointEntry,
  type Generation,
  generationsOf,
  parseEntry,
} from '../../../src/checkpoint/registry/entry.ts';
import { trainedSpec } from '../../../src/tensor/optimizer.ts';
import * as fc from '../../properties.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import {
  contentOf,
  createFiles,
  emptyParameters,
  filledParameters,
  jobOf,
  loadUsable,
  PLACE,
  save,
  uuidOf,
} from '../fixture.ts';

/** Small, so that every part of it is hit often. */
const JOB = jobOf({
  parameters: {
    dense: [{ name: 'w', shape: [40], initializer: { type: 'zeros' } }],
    sparse: [{ name: 'emb', width: 2, initializer: { type: 'zeros' } }],
  },
});
const SGD = { type: 'sgd', learningRate: 1, l2: 0 } as const;
const IDS = Array.from({ length: 60 }, (_, at) => BigInt(at) * 3n);

const pathOf = ({ uuid }: Pick<Generation, 'uuid'>): string => checkpointPath(PLACE, uuid);
const optionsOf = (disk: StoredFiles, changes: Partial<LoadOptions> = {}): LoadOptions => ({
  storage: disk.storage,
  place: PLACE,
  expected: JOB,
  into: emptyParameters(JOB),
  ...changes,
});

/** As if each file had its MD5 computed in another thread. */
const digestingBeside = (storage: Storage): Storage => ({
  ...storage,
  async openRange(path) {
    const file = await storage.openRange(path);
    return { ...file, md5: () => digestOf(file) };
  },
});

async function saved(number = 1, salt = 1, disk = createFiles()) {
  const parameters = filledParameters(JOB, IDS, salt);
  const generation = await save({ disk, parameters, job: JOB, meta: { uuid: uuidOf(number) }, extentBytes: 600 });
  return { disk, generation, parameters, bytes: disk.content(pathOf(generation))! };
}

describe('a damaged file', () => {
  it.each([
    { how: 'before it is loaded', isBeside: false },
    { how: 'while it is loaded', isBeside: true },
  ])('is noticed whichever byte was flipped, and the part is named: MD5 $how', async ({ isBeside }) => {
    const { disk, generation, bytes } = await saved();
    const storage = isBeside ? digestingBeside(disk.storage) : disk.storage;
    const reader = await openCheckpoint(disk.storage, pathOf(generation));
    const { dataStart } = reader.source;
    const tensors = [...reader.source.tensors.values()];
    const partAt = (offset: number): TensorInfo | undefined =>
      tensors.find(({ begin, end }) => offset - dataStart >= begin && offset - dataStart < end);
    const into = emptyParameters(JOB);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(7), async (offset, bit) => {
        disk.flip(pathOf(generation), offset, 1 << bit);
        const error = await loadGeneration(generation, optionsOf(disk, { into, storage })).catch(
          (reason: unknown) => reason,
        );
        disk.flip(pathOf(generation), offset, 1 << bit);
        expect(error).toMatchObject({ code: 'CheckpointCorrupt', message: expect.stringContaining(generation.uuid) });
        const part = partAt(offset);
        if (part !== undefined) expect((error as Error).message).toContain(part.name);
        expect(into.shards()).toEqual([]);
      }),
      { numRuns: 400 },
    );
    await loadGeneration(generation, optionsOf(disk, { into, storage }));
  });

  it('is refused at any length but its own', async () => {
    const { disk, generation, bytes } = await saved();
    for (const length of [0, 1, 7, 8, 9, 1000, bytes.length - 8, bytes.length - 1, bytes.length + 1]) {
      const changed = new Uint8Array(length);
      changed.set(bytes.subarray(0, length));
      disk.place(pathOf(generation), changed);
      await expect(loadGeneration(generation, optionsOf(disk))).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
    }
  });

  it('never does more than fail when it is read without its MD5', async () => {
    const { generation, bytes } = await saved();
    const mutation = fc.record({ offset: fc.nat(bytes.length - 1), value: fc.nat(255) });
    const cut = fc.option(fc.nat(bytes.length - 1), { freq: 5, nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), cut, async (mutations, length) => {
        const disk = createFiles();
        const changed = bytes.slice();
        for (const { offset, value } of mutations) changed[offset] = value;
        disk.place(pathOf(generation), changed.subarray(0, length));
        await readEverything(disk, pathOf(generation)).catch((error: unknown) => {
          if (!isPaddletError(error, 'CheckpointCorrupt')) throw error;
        });
      }),
      { numRuns: 600 },
    );
  });
});

async function readEverything(disk: StoredFiles, path: string): Promise<void> {
  const reader = await openCheckpoint(disk.storage, path);
  for (const { shard } of reader.positions) {
    await reader.ledgerOf(shard);
    for (const table of reader.facts.parameters.sparse.keys()) for await (const _ of reader.rowsOf(shard, table));
    for await (const _ of reader.blocksOf(shard));
  }
}

describe('a file that is not the one wanted', () => {
  it('is refused when it is of another job, pserver, name or model', async () => {
    const { disk, generation } = await saved();
    const others: [Partial<LoadOptions>, RegExp][] = [
      [{ expected: { ...JOB, jobId: 'other' } }, /belongs to job small/],
      [{ expected: { ...JOB, seed: 8 } }, /different seed/],
      [{ expected: { ...JOB, shards: 9 } }, /different shards/],
      [{ expected: { ...JOB, parameters: trainedSpec(JOB.parameters, { optimizer: SGD }) } }, /different optimizers/],
      [{ expected: { ...JOB, parameters: { dense: [], sparse: [] } } }, /different parameters/],
    ];
    for (const [changes, message] of others) {
      const attempt = loadGeneration(generation, optionsOf(disk, changes));
      await expect(attempt).rejects.toMatchObject({
        code: 'CheckpointCorrupt',
        message: expect.stringMatching(message),
      });
    }
    const moved = { ...generation, uuid: uuidOf(9) };
    disk.place(pathOf(moved), disk.content(pathOf(generation))!);
    await expect(loadGeneration(moved, optionsOf(disk))).rejects.toThrow(/moved it here/);
  });

  it('is refused when it is safetensors of another program, or of a later format', async () => {
    const { disk, generation } = await saved();
    const metadata = (value: string): Uint8Array => {
      const json = Buffer.from(`{"__metadata__":${value}}`);
      return Buffer.concat([Uint8Array.of(json.length, 0, 0, 0, 0, 0, 0, 0), json]);
    };
    const later = '{"format":"paddlet.checkpoint","formatVersion":"5"}';
    for (const [json, message] of [
      ['{"format":"pt"}', /not a checkpoint of paddlet/],
      [later, /format version 3 or 4, got version 5/],
    ] as const) {
      disk.place(pathOf(generation), metadata(json));
      await expect(openCheckpoint(disk.storage, pathOf(generation))).rejects.toThrow(message);
    }
  });

  it('is never looked for outside the folder', async () => {
    const { disk, generation } = await saved();
    for (const uuid of [
      '../1/x',
      '../../etc/passwd',
      '/etc/passwd',
      `${generation.uuid}/..`,
      uuidOf(10).toUpperCase(),
      '',
    ]) {
      await expect(loadGeneration({ ...generation, uuid }, optionsOf(disk))).rejects.toThrow(/is not a UUID/);
      const { entry, complaint } = parseEntry('/k', {
        value: JSON.stringify({ ...generation, uuid }),
        modRevision: 1n,
      });
      expect(entry).toBeUndefined();
      expect(complaint).toMatch(/\/k: uuid/);
    }
  });
});

describe('the newest usable generation', () => {
  async function threeGenerations() {
    const disk = createFiles();
    const [oldest, middle, newest] = [await saved(1, 1, disk), await saved(2, 2, disk), await saved(3, 3, disk)];
    const generations = [middle.generation, oldest.generation];
    const entry: CheckpointEntry = { ...newest.generation, generations };
    return { disk, entry, oldest, middle, newest };
  }

  it('is the newest', async () => {
    const { disk, entry, newest } = await threeGenerations();
    const options = optionsOf(disk);
    const outcome = await loadUsable(generationsOf(entry), options);
    expect(outcome).toMatchObject({ lost: [], complaints: [], parts: [{ file: { generation: newest.generation } }] });
    expect(contentOf(options.into, JOB)).toEqual(contentOf(newest.parameters, JOB));
  });

  it('is the one before a corrupt and a missing one, and says what was wrong with each', async () => {
    const { disk, entry, oldest, middle, newest } = await threeGenerations();
    disk.flip(pathOf(newest.generation), newest.bytes.length - 200);
    await disk.remove(pathOf(middle.generation));
    const options = optionsOf(disk);
    const outcome = await loadUsable(generationsOf(entry), options);
    expect(outcome).toMatchObject({ lost: [], parts: [{ file: { generation: oldest.generation } }] });
    expect(outcome.complaints.map(({ code }) => code)).toEqual(['CheckpointCorrupt', 'CheckpointMissing']);
    expect(outcome.complaints[0]!.message).toContain(newest.generation.uuid);
    expect(outcome.complaints[1]!.message).toContain(middle.generation.uuid);
    expect(contentOf(options.into, JOB)).toEqual(contentOf(oldest.parameters, JOB));
  });

  it('is none when all are bad, and the memory is left empty', async () => {
    const { disk, entry } = await threeGenerations();
    const into = emptyParameters(JOB);
    for (const uuid of [1, 2, 3].map(uuidOf)) disk.flip(pathOf({ uuid }), 3000);
    const outcome = await loadUsable(generationsOf(entry), optionsOf(disk, { into }));
    expect(outcome).toMatchObject({ parts: [], lost: [0, 1, 2, 3, 4, 6, 7] });
    expect(outcome.complaints).toHaveLength(3);
    expect(into.shards()).toEqual([]);
  });

  it('is not looked for when the machine, not the file, is in trouble', async () => {
    const { disk, entry } = await threeGenerations();
    disk.failNext('open', 'EMFILE');
    await expect(loadUsable(generationsOf(entry), optionsOf(disk))).rejects.toMatchObject({ code: 'EMFILE' });
    disk.failNext('open', 'EACCES');
    await expect(loadUsable(generationsOf(entry), optionsOf(disk))).rejects.toMatchObject({ code: 'EACCES' });
  });
});

describe('each shard', () => {
  /** The newest file has only the shards that this pserver held last. */
  async function filesOf(newest: readonly number[]) {
    const disk = createFiles();
    const older = await saved(1, 1, disk);
    const parameters = filledParameters(JOB, IDS, 2);
    for (const shard of parameters.shards()) if (!newest.includes(shard)) parameters.dropShard(shard);
    const generation = await save({ disk, parameters, job: JOB, meta: { uuid: uuidOf(2) } });
    return { disk, generations: [generation, older.generation] };
  }

  it('is loaded from the newest file that has it', async () => {
    const { disk, generations } = await filesOf([0, 3]);
    const into = emptyParameters(JOB);
    const { parts, ...outcome } = await loadUsable(generations, {
      ...optionsOf(disk, { into }),
      shards: [0, 2, 3],
    });
    expect(outcome).toEqual({ lost: [], complaints: [] });
    const found = parts.map(({ file, loaded }) => [file.generation, loaded.positions.map(({ shard }) => shard)]);
    expect(found).toEqual([
      [generations[0], [0, 3]],
      [generations[1], [2]],
    ]);
    expect(into.shards()).toEqual([0, 2, 3]);
  });

  it('is lost when no usable file has it, and the others are loaded', async () => {
    const { disk, generations } = await filesOf([0, 3]);
    disk.flip(pathOf(generations[1]!), 3000);
    const into = emptyParameters(JOB);
    const { lost, complaints } = await loadUsable(generations, { ...optionsOf(disk, { into }), shards: [0, 2, 5] });
    expect(lost).toEqual([2, 5]);
    expect(complaints.map(({ code }) => code)).toEqual(['CheckpointCorrupt']);
    expect(into.shards()).toEqual([0]);
  });
});

import { describe, expect, it } from 'vitest';
import { checkpointPath } from '../../src/checkpoint/file/paths.ts';
import { openCheckpoint } from '../../src/checkpoint/file/reader.ts';
import { damagedTensors } from '../../src/checkpoint/file/scan.ts';
import { loadGeneration } from '../../src/checkpoint/load/load.ts';
import {
  contentOf,
  createFiles,
  emptyParameters,
  fill,
  filledParameters,
  IDS,
  jobOf,
  ledgerOf,
  momentOf,
  PLACE,
  save,
} from './fixture.ts';

const pathOf = (uuid: string): string => checkpointPath(PLACE, uuid);

describe('a checkpoint file', () => {
  it.each([undefined, 1, 400, 3000])(
    'gives back every value, slot, step, position and ledger (extents of %s bytes)',
    async (extentBytes) => {
      const job = jobOf();
      const disk = createFiles();
      const parameters = filledParameters(job);
      const moment = (shard: number) => ({ ...momentOf()(shard), ledger: ledgerOf(`ledger ${shard >> 1}`) });
      const generation = await save({ disk, parameters, moment, ...(extentBytes ? { extentBytes } : {}) });
      const into = emptyParameters(job);
      const loaded = await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: job, into });
      expect(contentOf(into)).toEqual(contentOf(parameters));
      expect(loaded.positions).toEqual(
        parameters.shards().map((shard) => ({ shard, epoch: 1 + (shard % 2), seq: 10 + shard })),
      );
      expect([...loaded.ledgers]).toEqual(
        parameters.shards().map((shard) => [shard, ledgerOf(`ledger ${shard >> 1}`)]),
      );
      expect(loaded.facts).toMatchObject({
        jobId: job.jobId,
        token: 5n,
        recovery: 2n,
        rows: IDS.length * 2 - rowsOfShard5(job),
        clean: false,
      });
      expect(generation).toMatchObject({ uuid: loaded.facts.uuid, rows: loaded.facts.rows, token: '5', kind: 'full' });
    },
  );

  it('gives back running statistics, which are known as such', async () => {
    const zeros = { shape: [3], initializer: { type: 'zeros' } } as const;
    const dense = [
      { name: 'mean', ...zeros, statisticRate: 0.1 },
      { name: 'bias', ...zeros },
    ];
    const job = jobOf({ parameters: { dense, sparse: [] } });
    const disk = createFiles();
    const parameters = emptyParameters(job);
    for (let shard = 0; shard < job.shards; shard++) parameters.addShard(shard);
    const generation = await save({ disk, parameters, job });
    const loaded = await loadGeneration(generation, {
      storage: disk.storage,
      place: PLACE,
      expected: job,
      into: emptyParameters(job),
    });
    expect(loaded.facts.parameters).toEqual(job.parameters);
  });

  it('gives back 50,000 floats of a dense parameter byte for byte', async () => {
    const job = jobOf({
      parameters: {
        dense: [{ name: 'w', shape: [50_000], initializer: { type: 'normal', mean: 0, stddev: 1 } }],
        sparse: [],
      },
      optimizer: { type: 'sgd', learningRate: 0.1, l2: 0 },
    });
    const disk = createFiles();
    const parameters = emptyParameters(job);
    for (let shard = 0; shard < job.shards; shard++) parameters.addShard(shard);
    const bits = new Uint32Array(50_000).map((_, at) => (at * 2_654_435_761) & 0xff7fffff);
    const floats = new Float32Array(bits.buffer);
    for (const shard of parameters.shards()) {
      for (const block of parameters.exportBlocks(shard)) {
        const first = block.block * 16_384;
        parameters.importBlock(shard, { ...block, values: floats.slice(first, first + block.values.length) });
      }
    }
    const generation = await save({ disk, parameters, job });
    const into = emptyParameters(job);
    await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: job, into });
    const back = new Uint32Array(50_000);
    for (const shard of into.shards()) {
      for (const { block, values } of into.exportBlocks(shard))
        back.set(new Uint32Array(values.buffer, values.byteOffset, values.length), block * 16_384);
    }
    expect(Buffer.compare(new Uint8Array(back.buffer), new Uint8Array(bits.buffer))).toBe(0);
  });

  it('gives the same bytes for the same content', async () => {
    const [first, second] = [createFiles(), createFiles()];
    const a = await save({ disk: first, parameters: filledParameters() });
    const b = await save({ disk: second, parameters: filledParameters() });
    expect(b).toEqual(a);
    expect(second.content(pathOf(b.uuid))).toEqual(first.content(pathOf(a.uuid)));
  });

  it('may hold no shard and no row', async () => {
    const job = jobOf();
    const disk = createFiles();
    const generation = await save({ disk, parameters: emptyParameters(job) });
    const into = emptyParameters(job);
    const loaded = await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: job, into });
    expect(loaded.positions).toEqual([]);
    expect(into.shards()).toEqual([]);
  });

  it('is read by the shard, in pieces, and loads only the shards asked for', async () => {
    const job = jobOf();
    const disk = createFiles();
    const parameters = filledParameters(job);
    const generation = await save({ disk, parameters, extentBytes: 500 });
    const reader = await openCheckpoint(disk.storage, pathOf(generation.uuid));
    const captured = parameters.exportRows(3, 0);
    expect(await reader.rowCount(3, 0)).toBe(captured.ids.length);
    expect(await collect(reader.rowsOf(3, 0))).toEqual([captured]);
    expect(await damagedTensors(reader.source)).toEqual([]);
    await expect(reader.rowCount(5, 0)).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
    await reader.close();

    const into = emptyParameters(job);
    const loaded = await loadGeneration(generation, {
      storage: disk.storage,
      place: PLACE,
      expected: job,
      into,
      shards: [6, 2],
    });
    expect(loaded.positions.map(({ shard }) => shard)).toEqual([2, 6]);
    expect(into.shards()).toEqual([2, 6]);
    const lacking = { storage: disk.storage, place: PLACE, expected: job, into: emptyParameters(job), shards: [2, 5] };
    await expect(loadGeneration(generation, lacking)).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });

  it('holds each shard as it was at one instant, while the others go on growing', async () => {
    const job = jobOf();
    const disk = createFiles();
    const parameters = filledParameters(job);
    const atCapture = new Map<number, unknown>();
    let captures = 0;
    const moment = (shard: number) => {
      // Everything grows between two captures, also shards that were captured before.
      captures += 1;
      fill(
        parameters,
        job,
        Array.from({ length: captures * 300 }, (_, at) => BigInt(at) * 31n + BigInt(captures)),
        captures,
      );
      atCapture.set(shard, {
        rows: [0, 1].map((table) => parameters.exportRows(shard, table)),
        blocks: parameters.exportBlocks(shard),
      });
      return { ...momentOf(captures)(shard), ledger: ledgerOf(`${captures}`) };
    };
    const generation = await save({ disk, parameters, moment, extentBytes: 1000 });
    const into = emptyParameters(job);
    const loaded = await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: job, into });
    for (const shard of into.shards()) {
      const rows = [0, 1].map((table) => into.exportRows(shard, table));
      expect({ rows, blocks: into.exportBlocks(shard) }).toEqual(atCapture.get(shard));
    }
    expect([...loaded.ledgers.values()].map((bytes) => new TextDecoder().decode(bytes))).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
    ]);
  });

  it('keeps the header within its room however much the shards grow', async () => {
    const job = jobOf({ shards: 64 });
    const disk = createFiles();
    const parameters = emptyParameters(job);
    for (let shard = 0; shard < 64; shard++) parameters.addShard(shard);
    let isGrown = false;
    const moment = (shard: number) => {
      if (!isGrown)
        fill(
          parameters,
          job,
          Array.from({ length: 20_000 }, (_, at) => BigInt(at)),
        );
      isGrown = true;
      return momentOf()(shard);
    };
    const generation = await save({ disk, parameters, job, moment, extentBytes: 20_000 });
    const into = emptyParameters(job);
    await loadGeneration(generation, { storage: disk.storage, place: PLACE, expected: job, into });
    expect(into.stats().rows).toBe(40_000);
  });
});

function rowsOfShard5(job: ReturnType<typeof jobOf>): number {
  const all = emptyParameters(job);
  all.addShard(5);
  fill(all, job, IDS);
  return all.stats().rows;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

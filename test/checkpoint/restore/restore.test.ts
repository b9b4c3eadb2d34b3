import { describe, expect, it } from 'vitest';
import { PaddletError } from '../../../src/base/errors.ts';
import type { ExpectedJob } from '../../../src/checkpoint/load/load.ts';
import { loadGeneration } from '../../../src/checkpoint/load/load.ts';
import type { FileRef } from '../../../src/checkpoint/registry/file-ref.ts';
import { planRestore, proofOf, type Restored, restoreFiles } from '../../../src/checkpoint/restore/restore.ts';
import { chooseVariables } from '../../../src/checkpoint/set/checkpoint-set.ts';
import * as fc from '../../properties.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { epochOf, FOLDER, refsOf, saveCluster, seqOf, withSet } from '../cluster-fixture.ts';
import { contentOf, createFiles, emptyParameters, IDS, jobOf, uuidOf } from '../fixture.ts';

const ALL = { dense: [0, 1], sparse: [0, 1] };

interface RestoreAgain {
  readonly disk: StoredFiles;
  readonly refs: readonly FileRef[];
  readonly pservers: number;
  readonly folder: string;
  readonly vars?: readonly string[];
  readonly signal?: AbortSignal;
}

let names = 0x1000;
const random = { uuid: () => uuidOf(names++) };
const clock = { wallSeconds: () => 1_700_000_100 };

const restore = ({ disk, refs, vars = [], ...options }: RestoreAgain): Promise<Restored> =>
  withSet(disk.storage, refs, (set) => {
    const variables = chooseVariables(set.facts.parameters, vars);
    return restoreFiles({ storage: disk.storage, random, clock, set, variables, token: 77n, ...options });
  });

async function loadAll(disk: StoredFiles, folder: string, { generations }: Restored, job: ExpectedJob) {
  const into = emptyParameters(job);
  const positions = [];
  const ledgers = new Map<number, string>();
  for (const [index, generation] of generations.entries()) {
    const loaded = await loadGeneration(generation, {
      storage: disk.storage,
      place: { folder, index },
      expected: job,
      into,
    });
    positions.push(...loaded.positions);
    for (const [shard, ledger] of loaded.ledgers) ledgers.set(shard, Buffer.from(ledger).toString());
  }
  return { into, positions: positions.sort((a, b) => a.shard - b.shard), ledgers };
}

describe('restore', () => {
  it('2 → 3 → 1 → 2 pservers carries rows, blocks, state, positions and ledgers, whatever the ids', async () => {
    const ids = fc.uniqueArray(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(ids, fc.integer({ min: 1, max: 9 }), fc.boolean(), async (some, shards, isSgd) => {
        const optimizer = { type: 'sgd', learningRate: 0.1, l2: 0 } as const;
        const job = jobOf({ shards, ...(isSgd && { optimizer }) });
        const disk = createFiles();
        const saved = await saveCluster({
          storage: disk.storage,
          pservers: Math.min(2, shards),
          job,
          ids: some,
          extentBytes: 900,
        });
        let refs: readonly FileRef[] = saved.refs;
        const proof = await withSet(disk.storage, refs, (set) => proofOf(set, ALL));
        let restored: Restored | undefined;
        for (const pservers of [3, 1, 2]) {
          const folder = `/to/${pservers}`;
          restored = await restore({ disk, refs, pservers: Math.min(pservers, shards), folder });
          expect(restored.proof).toEqual(proof);
          refs = refsOf(folder, restored.generations);
          expect(await withSet(disk.storage, refs, (set) => proofOf(set, ALL))).toEqual(proof);
        }
        const { into, positions, ledgers } = await loadAll(disk, '/to/2', restored!, job);
        expect(contentOf(into, job)).toEqual(contentOf(saved.whole, job));
        const every = Array.from({ length: shards }, (_, shard) => shard);
        expect(positions).toEqual(every.map((shard) => ({ shard, epoch: epochOf(shard), seq: seqOf(shard) })));
        for (const shard of every) expect(ledgers.get(shard)).toBe(`ledger of pserver ${shard % Math.min(2, shards)}`);
      }),
      { numRuns: 25 },
    );
  });

  it('counts every row, and a proof differs by anything that differs', async () => {
    const disk = createFiles();
    const proofs = [];
    for (const [names, salt, ids] of [
      [0, 1, IDS],
      [10, 2, IDS],
      [20, 1, IDS.slice(1)],
    ] as const) {
      const { refs } = await saveCluster({ storage: disk.storage, pservers: 2, names, salt, ids });
      proofs.push(await withSet(disk.storage, refs, (set) => proofOf(set, ALL)));
    }
    const rows = proofs.map(({ variables }) =>
      variables.filter(({ kind }) => kind === 'sparse').map(({ rows }) => rows),
    );
    expect(rows).toEqual([
      [IDS.length, IDS.length],
      [IDS.length, IDS.length],
      [IDS.length - 1, IDS.length - 1],
    ]);
    expect(new Set(proofs.map((proof) => proof.variables[2]!.valuesDigest)).size).toBe(3);
    expect(new Set(proofs.map((proof) => proof.variables[2]!.stateDigest)).size).toBe(3);
    expect(new Set(proofs.map((proof) => proof.positionsDigest)).size).toBe(1);
  });

  it('takes chosen variables only, and says which it leaves', async () => {
    const disk = createFiles();
    const { refs, whole } = await saveCluster({ storage: disk.storage, pservers: 2 });
    const plan = await withSet(disk.storage, refs, (set) =>
      planRestore(set, { pservers: 3, variables: chooseVariables(set.facts.parameters, ['emb', 'lay*']) }),
    );
    expect(plan.leftOut).toEqual(['w', 'emb/values.0']);
    expect(plan.files.map(({ shards }) => shards)).toEqual([3, 3, 2]);
    expect(plan.files.reduce((sum, { rows }) => sum + rows, 0)).toBe(IDS.length);
    const restored = await restore({ disk, refs, pservers: 3, folder: '/to', vars: ['emb', 'lay*'] });
    const { dense, sparse } = jobOf().parameters;
    const job = { ...jobOf(), parameters: { dense: [dense[1]!], sparse: [sparse[0]!] } };
    const { into } = await loadAll(disk, '/to', restored, job);
    for (const shard of into.shards()) {
      expect(into.exportRows(shard, 0)).toEqual(whole.exportRows(shard, 0));
      const blocks = whole.exportBlocks(shard).filter(({ parameter }) => parameter === 1);
      expect(into.exportBlocks(shard)).toEqual(blocks.map((block) => ({ ...block, parameter: 0 })));
    }
  });

  it('refuses more pservers than shards, and files that lack a shard', async () => {
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 2 });
    const plan = (some: readonly FileRef[], pservers: number) =>
      withSet(disk.storage, some, (set) => planRestore(set, { pservers, variables: ALL }));
    await expect(plan(refs, 9)).rejects.toMatchObject({ code: 'Usage' });
    await expect(plan(refs.slice(1), 2)).rejects.toMatchObject({
      code: 'CheckpointMissing',
      message: expect.stringContaining('0-6/2'),
    });
  });

  it('refuses a damaged source, with and without a published MD5, and leaves nothing', async () => {
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 2 });
    const { path } = refs[1]!;
    disk.flip(path, disk.content(path)!.length - 300);
    for (const some of [refs, refs.map(({ path, index, uuid }) => ({ path, index: index!, uuid: uuid! }))]) {
      await expect(restore({ disk, refs: some, pservers: 1, folder: '/to' })).rejects.toMatchObject({
        code: 'CheckpointCorrupt',
        message: expect.stringContaining(path),
      });
    }
    expect(await disk.exists('/to')).toBe(false);
  });

  it('leaves no file when the disk fails or a person interrupts, wherever that is', async () => {
    const left = async (disk: StoredFiles): Promise<string[]> => {
      if (!(await disk.exists('/to'))) return [];
      const folders = await disk.list('/to');
      return (await Promise.all(folders.map((folder) => disk.list(`/to/${folder}`)))).flat();
    };
    let ended = 0;
    for (let at = 0; ended === 0; at += 3) {
      const disk = createFiles();
      const { refs } = await saveCluster({ storage: disk.storage, pservers: 2 });
      const controller = new AbortController();
      let calls = 0;
      const counted = async (set: Parameters<Parameters<typeof withSet>[2]>[0]) =>
        restoreFiles({
          ...{ storage: disk.storage, random, clock, set, variables: ALL, token: 77n, pservers: 3, folder: '/to' },
          signal: controller.signal,
          onBytes: () => {
            if (calls++ === at) controller.abort(new PaddletError('Interrupted', 'stopped by SIGINT'));
          },
        });
      const outcome = await withSet(disk.storage, refs, counted).catch((error: unknown) => error);
      if (outcome instanceof PaddletError) {
        expect(outcome.code).toBe('Interrupted');
        expect(await left(disk)).toEqual([]);
      } else {
        ended += 1;
        expect(await left(disk)).toHaveLength(3);
      }
    }
    for (const call of ['write', 'sync', 'rename', 'syncFolder'] as const) {
      const disk = createFiles();
      const { refs } = await saveCluster({ storage: disk.storage, pservers: 2 });
      disk.failNext(call, 'ENOSPC');
      await expect(restore({ disk, refs, pservers: 3, folder: '/to' })).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(await left(disk)).toEqual([]);
    }
  });

  it('writes beside the files it reads', async () => {
    const disk = createFiles();
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 2 });
    const restored = await restore({ disk, refs, pservers: 2, folder: FOLDER });
    for (const { path } of refs) expect(await disk.exists(path)).toBe(true);
    expect(restored.generations.map(({ token, clean }) => [token, clean])).toEqual([
      ['77', false],
      ['77', false],
    ]);
  });
});

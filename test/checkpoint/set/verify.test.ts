import { describe, expect, it } from 'vitest';
import { openCheckpoint } from '../../../src/checkpoint/file/reader.ts';
import { sealHeader } from '../../../src/checkpoint/file/safetensors/header.ts';
import { findFiles, parseEntries, readEntries } from '../../../src/checkpoint/registry/discover.ts';
import type { FileRef } from '../../../src/checkpoint/registry/file-ref.ts';
import { listGenerations } from '../../../src/checkpoint/registry/listing.ts';
import { type Verification, verifyCheckpoint } from '../../../src/checkpoint/set/verify.ts';
import * as fc from '../../properties.ts';
import type { StoredFiles } from '../../simulated-objects.ts';
import { FOLDER, saveCluster } from '../cluster-fixture.ts';
import { createFiles, jobOf, uuidOf } from '../fixture.ts';

/** Small, so that every part of it is hit often. */
const JOB = jobOf({
  parameters: {
    dense: [{ name: 'w', shape: [40], initializer: { type: 'zeros' } }],
    sparse: [{ name: 'emb', width: 2, initializer: { type: 'zeros' } }],
  },
});
const SMALL_IDS = Array.from({ length: 60 }, (_, at) => BigInt(at) * 3n);

const small = (disk: StoredFiles, pservers = 2) =>
  saveCluster({ storage: disk.storage, pservers, job: JOB, ids: SMALL_IDS, extentBytes: 600 });

const unpublished = (refs: readonly FileRef[]): FileRef[] =>
  refs.map(({ path, index, uuid }) => ({ path, index: index!, uuid: uuid! }));

const problemsOf = ({ files }: Verification) => files.flatMap(({ problems }) => problems);

describe('verify', () => {
  it('finds nothing wrong with whole files, by MD5 and by the checksums inside', async () => {
    const disk = createFiles();
    const { refs } = await small(disk);
    for (const [files, checked] of [
      [refs, 'md5'],
      [unpublished(refs), 'checksums'],
    ] as const) {
      const verification = await verifyCheckpoint({ storage: disk.storage, files, jobId: JOB.jobId });
      expect(verification).toMatchObject({ ok: true, missing: [], shards: 8, jobName: 'small' });
      expect(verification.files.map((file) => [file.checked, file.problems])).toEqual([
        [checked, []],
        [checked, []],
      ]);
    }
  });

  it.each([['with'], ['without']])('notices one flipped bit anywhere and names the part, %s an MD5', async (which) => {
    const disk = createFiles();
    const { refs } = await small(disk, 1);
    const [ref] = which === 'with' ? refs : unpublished(refs);
    const { path } = ref!;
    const size = disk.content(path)!.length;
    const { source } = await openCheckpoint(disk.storage, path);
    const partAt = (offset: number): string =>
      [...source.tensors.values()].find(
        ({ begin, end }) => offset - source.dataStart >= begin && offset - source.dataStart < end,
      )?.name ?? 'header';
    await fc.assert(
      fc.asyncProperty(fc.nat(size - 1), fc.nat(7), async (offset, bit) => {
        disk.flip(path, offset, 1 << bit);
        const verification = await verifyCheckpoint({ storage: disk.storage, files: [ref!] });
        disk.flip(path, offset, 1 << bit);
        expect(verification.ok).toBe(false);
        expect(problemsOf(verification).map(({ part }) => part)).toEqual([partAt(offset)]);
      }),
      { numRuns: 400 },
    );
    expect((await verifyCheckpoint({ storage: disk.storage, files: [ref!] })).ok).toBe(true);
  });

  it('notices every bit of the header', async () => {
    const disk = createFiles();
    const { refs } = await small(disk, 1);
    const [ref] = unpublished(refs);
    const { source } = await openCheckpoint(disk.storage, ref!.path);
    const offsets = Array.from({ length: Math.ceil(source.dataStart / 7) }, (_, at) => at * 7);
    for (const offset of offsets) {
      disk.flip(ref!.path, offset, 1 << (offset % 8));
      const verification = await verifyCheckpoint({ storage: disk.storage, files: [ref!] });
      disk.flip(ref!.path, offset, 1 << (offset % 8));
      expect(problemsOf(verification)[0]?.part, `byte ${offset}`).toBe('header');
    }
  });

  const rewrites: [string, (bytes: Uint8Array) => Uint8Array, RegExp][] = [
    ['cut off', (bytes) => bytes.subarray(0, bytes.length - 9), /cover|bytes/],
    ['empty', () => new Uint8Array(0), /0 bytes/],
    ['foreign', () => Buffer.from('%PDF-1.7 something else altogether'), /claims|bytes/],
    [
      'of 2^60 bytes, says its header',
      (bytes) => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 16, ...bytes.subarray(8)),
      /got 1152921504606846976/,
    ],
    ['safetensors of others', () => Buffer.concat([Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0), Buffer.from('{}')]), /./],
  ];
  it.each(rewrites)('says what is wrong with a file that is %s', async (_, rewrite, message) => {
    const disk = createFiles();
    const { refs } = await small(disk);
    const [ref, other] = unpublished(refs);
    disk.place(ref!.path, rewrite(disk.content(ref!.path)!));
    const verification = await verifyCheckpoint({ storage: disk.storage, files: [ref!, other!] });
    expect(verification.ok).toBe(false);
    expect(verification.files[0]!.problems[0]!.message).toMatch(message);
    expect(verification.files[1]!.problems).toEqual([]);
    expect(verification.missing).toEqual([0, 2, 4, 6]);
  });

  it('says which shards are missing, and which file is gone, moved or of another job', async () => {
    const disk = createFiles();
    const { refs } = await small(disk);
    expect(await verifyCheckpoint({ storage: disk.storage, files: refs.slice(0, 1) })).toMatchObject({
      ok: false,
      missing: [1, 3, 5, 7],
    });
    expect(
      (await verifyCheckpoint({ storage: disk.storage, files: refs, jobId: 'other' })).files[0]!.problems[0],
    ).toMatchObject({
      part: 'job',
      message: expect.stringContaining('not to this job (other)'),
    });
    const moved = { path: `${FOLDER}/2/${uuidOf(1)}`, index: 2, uuid: uuidOf(1) };
    disk.place(moved.path, disk.content(refs[0]!.path)!);
    expect((await verifyCheckpoint({ storage: disk.storage, files: [moved] })).files[0]!.problems[0]!.message).toMatch(
      /moved it here/,
    );
    await saveCluster({
      storage: disk.storage,
      pservers: 1,
      job: { ...JOB, jobId: 'job-b' },
      names: 50,
      folder: '/b',
      ids: SMALL_IDS,
    });
    const mixed = await verifyCheckpoint({ storage: disk.storage, files: [refs[0]!, { path: `/b/0/${uuidOf(51)}` }] });
    expect(mixed.files[1]!.problems[0]).toMatchObject({ part: 'job', message: expect.stringContaining('job-b') });
    await disk.remove(refs[0]!.path);
    expect((await verifyCheckpoint({ storage: disk.storage, files: refs })).files[0]!.problems).toEqual([
      { part: 'file', message: expect.stringContaining('no such file') },
    ]);
  });

  it('finds rows that are in the wrong shard although every checksum holds', async () => {
    const disk = createFiles();
    // Another number of shards sends ids elsewhere; the file says 8.
    const { refs } = await saveCluster({ storage: disk.storage, pservers: 1, job: JOB, ids: SMALL_IDS });
    const { path } = refs[0]!;
    const text = Buffer.from(disk.content(path)!).toString('latin1').replace('"shards":"8"', '"shards":"9"');
    disk.place(path, resealed(Buffer.from(text, 'latin1')));
    const verification = await verifyCheckpoint({ storage: disk.storage, files: [{ path }] });
    expect(problemsOf(verification)[0]).toMatchObject({
      part: 'structure',
      message: expect.stringMatching(/emb\/ids/),
    });
  });

  it('finds a header without a checksum damaged', async () => {
    const disk = createFiles();
    const { refs } = await small(disk, 1);
    const { path } = refs[0]!;
    const text = Buffer.from(disk.content(path)!).toString('latin1');
    const field = /,"headerCrc32":"[0-9a-f]{8}"/.exec(text)![0];
    const without = text.replace(field, '').replace(/\}( +)/, (end) => `${end}${' '.repeat(field.length)}`);
    disk.place(path, Buffer.from(without, 'latin1'));
    const verification = await verifyCheckpoint({ storage: disk.storage, files: [{ path }] });
    expect(problemsOf(verification)).toMatchObject([{ part: 'header' }]);
  });
});

/** Makes the checksum of the header again. */
function resealed(bytes: Buffer): Uint8Array {
  const header = bytes.subarray(0, 8 + Number(bytes.readBigUInt64LE(0)));
  const at = header.indexOf('"headerCrc32":"') + '"headerCrc32":"'.length;
  header.write('00000000', at);
  sealHeader(header);
  return bytes;
}

describe('finding files', () => {
  it('takes a file, a folder of a pserver, of a job, and the one above', async () => {
    const disk = createFiles();
    const { refs } = await small(disk);
    const paths = async (path: string) => (await findFiles(disk.storage, path)).files.map((file) => file.path);
    const all = refs.map(({ path }) => path);
    expect(await paths(all[1]!)).toEqual([all[1]]);
    expect(await paths(`${FOLDER}/1`)).toEqual([all[1]]);
    expect(await paths(FOLDER)).toEqual(all);
    expect(await paths('/data')).toEqual(all);
    await expect(paths('/data/nothing')).rejects.toMatchObject({ code: 'CheckpointMissing', exitCode: 7 });
    disk.place('/empty/readme', new Uint8Array(3));
    await expect(paths('/empty')).rejects.toMatchObject({ code: 'CheckpointMissing' });
  });

  it('refuses published names that lead out of the folder', () => {
    const value = JSON.stringify({ uuid: '../../etc/passwd', md5: '0'.repeat(32), timestamp: 1 });
    const entries = [{ key: '/c/0', value, modRevision: 1n }];
    expect(() => parseEntries('/c/', entries)).toThrow(expect.objectContaining({ code: 'CheckpointCorrupt' }));
    const escaping = [{ ...entries[0]!, key: '/c/../0' }];
    expect(() => parseEntries('/c/', escaping)).toThrow(/not the index of a pserver/);
  });

  it('reads the published entries that can be understood, by index, and says what is wrong with the others', () => {
    const value = JSON.stringify({ uuid: crypto.randomUUID(), md5: '0'.repeat(32), timestamp: 1 });
    const keys = ['10', '2', 'cut', '3', 'x'].map((name) => `/c/${name}`);
    const entries = keys.map((key) => ({ key, value: key === '/c/3' ? '{' : value, modRevision: 1n }));
    const { published, complaints } = readEntries('/c/', entries);
    expect(published.map(({ index }) => index)).toEqual([2, 10]);
    expect(complaints).toEqual(['/c/3: not JSON', '/c/x: not the index of a pserver']);
  });

  it('lists generations newest first with what is the matter with each', async () => {
    const disk = createFiles();
    const times = [10, 30, 20, 40];
    for (const [at, createdAt] of times.entries()) {
      await saveCluster({
        storage: disk.storage,
        pservers: 1,
        job: JOB,
        names: at,
        ids: SMALL_IDS,
        meta: { createdAt, clean: at === 1 },
      });
    }
    disk.place(`${FOLDER}/0/${uuidOf(4)}`, new Uint8Array(20));
    const listed = await listGenerations({
      storage: disk.storage,
      files: (await findFiles(disk.storage, FOLDER)).files,
    });
    expect(listed.map(({ uuid, state, age }) => [uuid, state, age])).toEqual([
      [uuidOf(2), 'clean', 0],
      [uuidOf(3), 'running', 1],
      [uuidOf(1), 'running', 2],
      [uuidOf(4), 'damaged', 3],
    ]);
  });
});

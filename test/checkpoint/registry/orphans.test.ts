import { describe, expect, it } from 'vitest';
import { jobTag, parseTemporaryName, temporaryPath } from '../../../src/checkpoint/file/paths.ts';
import { removeOrphans } from '../../../src/checkpoint/registry/orphans.ts';
import { createFiles, emptyParameters, JOB_ID, jobOf, PLACE, save, uuidOf } from '../fixture.ts';

const FOLDER = '/data/checkpoints/1';
const OTHER_JOB = 'another job';

async function world() {
  const disk = createFiles();
  const parameters = emptyParameters(jobOf());
  const write = (number: number, token: bigint, jobId = JOB_ID) =>
    save({ disk, parameters, job: jobOf({ jobId }), meta: { uuid: uuidOf(number), token } });
  const leave = (number: number, token: bigint, jobId = JOB_ID): string => {
    const path = temporaryPath(PLACE, { jobTag: jobTag(jobId), token, uuid: uuidOf(number) });
    disk.place(path, new Uint8Array(0));
    return path.slice(FOLDER.length + 1);
  };
  const clean = (token: bigint, ...published: number[]) =>
    removeOrphans({
      storage: disk.storage,
      place: PLACE,
      jobId: JOB_ID,
      token,
      published: new Set(published.map(uuidOf)),
    });
  return { disk, write, leave, clean };
}

describe('orphans', () => {
  it('are files of older owners that were never published, whole or half-written', async () => {
    const { disk, write, leave, clean } = await world();
    for (const number of [1, 2, 3]) await write(number, 5n);
    const torn = leave(4, 9n);
    const { removed, left } = await clean(10n, 2);
    expect(removed).toEqual([torn, uuidOf(1), uuidOf(3)]);
    expect(left).toEqual([]);
    expect(await disk.list(FOLDER)).toEqual([uuidOf(2)]);
  });

  it('are not files of this owner, of a later one, or of another job or pserver', async () => {
    const { disk, write, leave, clean } = await world();
    await write(1, 10n);
    await write(2, 11n);
    await write(3, 5n, OTHER_JOB);
    leave(4, 10n);
    leave(5, 5n, OTHER_JOB);
    await write(6, 5n);
    disk.place(`/data/checkpoints/0/${uuidOf(6)}`, disk.content(`${FOLDER}/${uuidOf(6)}`)!);
    const before = (await disk.list(FOLDER)).length;
    const mine = await clean(10n, 6);
    expect(mine.removed).toEqual([]);
    expect(mine.left).toHaveLength(before - 1);
    const elsewhere = {
      storage: disk.storage,
      place: { ...PLACE, index: 0 },
      jobId: JOB_ID,
      token: 10n,
      published: new Set<string>(),
    };
    expect((await removeOrphans(elsewhere)).left).toEqual([
      { name: uuidOf(6), reason: 'belongs to another job or pserver' },
    ]);
  });

  it('are not files whose writer cannot be told', async () => {
    const { disk, write, clean } = await world();
    await write(1, 5n);
    disk.flip(`${FOLDER}/${uuidOf(1)}`, 7, 0x80);
    disk.place(`${FOLDER}/${uuidOf(2)}`, new TextEncoder().encode('not safetensors'));
    disk.place(`${FOLDER}/notes.txt`, Uint8Array.of(1));
    disk.place(`${FOLDER}/${uuidOf(3)}/x`, Uint8Array.of(1));
    const { removed, left } = await clean(10n);
    expect(removed).toEqual([]);
    expect(left.map(({ name }) => name)).toEqual([uuidOf(1), uuidOf(2), uuidOf(3), 'notes.txt']);
  });

  it('are none where there is no folder', async () => {
    const { clean } = await world();
    expect(await clean(1n)).toEqual({ removed: [], left: [] });
  });

  it('are told by their names', () => {
    const name = { jobTag: jobTag(JOB_ID), token: 18_446_744_073_709_551_615n, uuid: uuidOf(1) };
    const path = temporaryPath(PLACE, name);
    expect(parseTemporaryName(path.slice(FOLDER.length + 1))).toEqual(name);
    expect(parseTemporaryName(uuidOf(1))).toBeUndefined();
    expect(parseTemporaryName(`.x.1.${uuidOf(1)}.part`)).toBeUndefined();
  });
});

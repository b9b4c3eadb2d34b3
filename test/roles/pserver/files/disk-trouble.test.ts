/** A disk that takes no checkpoint: what is said of it, and that it is not filled again. */
import { beforeEach, expect, it } from 'vitest';
import type { FileKind } from '../../../../src/checkpoint/file/format.ts';
import { writeCheckpointFile } from '../../../../src/checkpoint/file/write-durable-file.ts';
import { createTroubles, type Troubles } from '../../../../src/cluster/troubles.ts';
import { DiskTrouble } from '../../../../src/roles/pserver/files/disk-trouble.ts';
import { filledParameters, jobOf, metaOf, momentOf, PLACE, uuidOf } from '../../../checkpoint/fixture.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../../simulated-disk.ts';
import { FakeClock, SILENT } from '../../../store/support.ts';

const FOLDER = `${PLACE.folder}/${PLACE.index}`;
const JOB = jobOf();
const parameters = filledParameters(JOB);
let disk: SimulatedDisk;
let trouble: DiskTrouble;
let troubles: Troubles;
let saves: number;

beforeEach(() => {
  disk = createSimulatedDisk();
  saves = 0;
  troubles = createTroubles();
  trouble = troubleOf(false);
});

function troubleOf(isFolderKnown: boolean): DiskTrouble {
  const host = { clock: new FakeClock(), disk, log: SILENT };
  return new DiskTrouble(
    { host, troubles, folder: FOLDER, expectedBytes: () => parameters.stats().bytes },
    isFolderKnown,
  );
}

const save = (kind: FileKind = 'base') =>
  trouble.save(
    kind,
    () => {
      saves += 1;
      return writeCheckpointFile({
        ...{
          storage: disk.storage,
          parameters,
          folder: PLACE.folder,
          shards: parameters.shards(),
          momentOf: momentOf(),
        },
        meta: metaOf(JOB, { uuid: uuidOf(saves) }),
        isFolderKnown: trouble.isFolderKnown,
        onUnfinished: (bytes) => trouble.unfinished(bytes),
      });
    },
    (file) => file,
  );

it('says what is full, what is needed and what is free, and leaves nothing behind', async () => {
  disk.fillUp(1000);
  await expect(save()).rejects.toMatchObject({
    code: 'CheckpointNotWritten',
    message: expect.stringMatching(
      /^the disk of \/data\/checkpoints\/1 is full: a checkpoint needs .* bytes, 1000 are free$/,
    ),
    hint: expect.stringContaining('free space'),
  });
  expect(await disk.list(FOLDER)).toEqual([]);
  expect(troubles.list()).toEqual([{ kind: 'checkpointFolder', text: expect.stringContaining('is full') }]);
});

it('does not fill the disk again before there is more room than was not enough', async () => {
  disk.fillUp(1000);
  await expect(save()).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
  expect(saves).toBe(1);
  await expect(save()).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
  expect(saves).toBe(1);
  disk.fillUp(2000);
  await expect(save()).rejects.toMatchObject({ message: expect.stringContaining('2000 are free') });
  expect(saves).toBe(2);
  disk.setCapacity(Number.MAX_SAFE_INTEGER);
  const { uuid, bytes } = await save();
  expect(await disk.list(FOLDER)).toEqual([uuid]);
  expect(troubles.list()).toEqual([]);
  disk.fillUp(bytes - 1);
  await expect(save()).rejects.toMatchObject({ message: expect.stringContaining('is full') });
  expect(saves).toBe(3);
});

it('asks for room by what the last file of the same kind needed', async () => {
  const { bytes } = await save('base');
  disk.fillUp(bytes - 1);
  await expect(save('base')).rejects.toMatchObject({ message: expect.stringContaining('a checkpoint needs') });
  expect(saves).toBe(1);
  // The disk says whether a delta fits.
  await expect(save('delta')).rejects.toMatchObject({ message: expect.stringMatching(/a delta needs at least \d+/) });
  expect(saves).toBe(2);
});

it('does not make a folder again that has vanished: what is written there would vanish, too', async () => {
  await save();
  disk = createSimulatedDisk();
  trouble = troubleOf(true);
  await expect(save()).rejects.toMatchObject({
    code: 'CheckpointNotWritten',
    message: `the checkpoint folder ${FOLDER} has vanished`,
  });
  expect(await disk.exists(PLACE.folder)).toBe(false);
  await disk.makeFolder(FOLDER);
  await save();
  expect(await disk.list(FOLDER)).toHaveLength(1);
});

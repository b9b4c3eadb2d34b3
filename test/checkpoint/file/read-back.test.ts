/** A disk that does not give back what it took: the save says so, and leaves nothing behind. */
import { expect, it } from 'vitest';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';
import { filledParameters, jobOf, PLACE, save } from '../fixture.ts';

async function refused(disk: SimulatedDisk, why: RegExp): Promise<void> {
  const saving = save({ disk, parameters: filledParameters(jobOf()) });
  await expect(saving).rejects.toMatchObject({ code: 'CheckpointNotWritten', message: expect.stringMatching(why) });
  expect(await disk.list(`${PLACE.folder}/${PLACE.index}`)).toEqual([]);
}

it('is told from a damaged checkpoint when the file has another size', async () => {
  const disk = createSimulatedDisk();
  await refused(Object.assign(disk, { md5: async () => ({ md5: '0'.repeat(32), bytes: 5 }) }), /read back 5/);
});

it('is told from a damaged checkpoint when the file cannot be read', async () => {
  const disk = createSimulatedDisk();
  disk.failNext('read', 'EIO');
  await refused(disk, /cannot be read/);
});

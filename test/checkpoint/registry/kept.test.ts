/** Checkpoints that are kept under a name stay, whatever becomes of the files that they were made of. */
import { existsSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { jobTag } from '../../../src/checkpoint/file/paths.ts';
import {
  type KeptFile,
  type KeptPlace,
  keepFiles,
  keptNames,
  keptPath,
  removeAllKept,
  removeKept,
} from '../../../src/checkpoint/registry/kept.ts';
import { createDisk } from '../../../src/host/disk.ts';
import { createSimulatedDisk, type SimulatedDisk } from '../../simulated-disk.ts';
import { uuidOf } from '../fixture.ts';

const JOB = { id: 'an id', name: 'j' };
const FOLDER = `/c/kept/j.${jobTag(JOB.id)}`;

let disk: SimulatedDisk;
let place: KeptPlace;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const published = ({ index, uuid }: KeptFile): string => `/c/${index}/${uuid}`;
/** A file that a pserver has published. */
function publish(index: number, number: number): KeptFile {
  const file = { index, uuid: uuidOf(number) };
  disk.place(published(file), bytesOf(`file ${number}`));
  return file;
}
/** What is kept under a name: files by their paths in the folder. */
function kept(name: string, on = disk): Record<string, string> {
  const folder = keptPath(place, name);
  const files = on.names(folder).flatMap((index) => on.names(join(folder, index)).map((uuid) => `${index}/${uuid}`));
  return Object.fromEntries(files.map((path) => [path, new TextDecoder().decode(on.content(join(folder, path)))]));
}

beforeEach(() => {
  disk = createSimulatedDisk();
  place = { disk, folder: '/c', job: JOB };
});

describe('a set of files', () => {
  it('is a checkpoint folder of its own, with all files of each pserver', async () => {
    const files = [publish(0, 1), publish(2, 2), publish(2, 3)];
    await keepFiles(place, 'pass-1', files);
    expect(keptPath(place, 'pass-1')).toBe(`${FOLDER}/pass-1`);
    expect(kept('pass-1')).toEqual({
      [`0/${uuidOf(1)}`]: 'file 1',
      [`2/${uuidOf(2)}`]: 'file 2',
      [`2/${uuidOf(3)}`]: 'file 3',
    });
  });

  it('stays when the pservers remove their files, and when the machine crashes', async () => {
    const file = publish(0, 1);
    await keepFiles(place, 'pass-1', [file]);
    await disk.remove(published(file));
    await disk.syncFolder('/c/0');
    expect(disk.content(published(file))).toBeUndefined();
    // Whatever was not made durable is lost.
    expect(
      kept(
        'pass-1',
        disk.afterCrash(() => 0.99),
      ),
    ).toEqual({ [`0/${uuidOf(1)}`]: 'file 1' });
  });

  it('adds to what has the name: of each shard the newest copy counts', async () => {
    await keepFiles(place, 'pass-1', [publish(0, 1), publish(1, 2)]);
    await keepFiles(place, 'pass-1', [publish(0, 3)]);
    expect(Object.values(kept('pass-1')).sort()).toEqual(['file 1', 'file 2', 'file 3']);
  });

  it('is made again by a master that takes over in the middle', async () => {
    const files = [publish(0, 1), publish(1, 2)];
    disk.failNext('link', 'EIO');
    await expect(keepFiles(place, 'pass-1', files)).rejects.toMatchObject({ code: 'EIO' });
    await keepFiles(place, 'pass-1', files.slice(0, 1));
    await keepFiles(place, 'pass-1', files);
    expect(Object.keys(kept('pass-1'))).toHaveLength(2);
  });

  it('a file that is gone is ENOENT', async () => {
    const gone = { index: 1, uuid: uuidOf(9) };
    await expect(keepFiles(place, 'pass-1', [publish(0, 1), gone])).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('a name that would lead out of the folder is refused', async () => {
    const outside = { index: 0, uuid: '../../x' };
    await expect(keepFiles(place, 'pass-1', [outside])).rejects.toMatchObject({ code: 'CheckpointCorrupt' });
  });
});

describe('removal', () => {
  it('leaves other sets, those of other jobs of that name, and the files of the pservers', async () => {
    const file = publish(0, 1);
    const other = { ...place, job: { ...JOB, id: 'another id' } };
    for (const name of ['pass-1', 'pass-2', 'pass-3']) await keepFiles(place, name, [file, publish(1, 2)]);
    await keepFiles(other, 'pass-1', [file]);
    for (const name of ['pass-1', 'pass-3']) await removeKept(place, name);
    expect(await keptNames(place)).toEqual(['pass-2']);
    expect(Object.keys(kept('pass-2'))).toHaveLength(2);
    expect(disk.names(`${keptPath(other, 'pass-1')}/0`)).toEqual([file.uuid]);
    expect(disk.content(published(file))).toEqual(bytesOf('file 1'));
  });

  it('of all is no error where none was kept', async () => {
    await removeAllKept(place);
    await keepFiles(place, 'pass-1', [publish(0, 1)]);
    await removeAllKept(place);
    expect(await keptNames(place)).toEqual([]);
    expect(disk.names('/c/kept')).toEqual([]);
  });
});

describe('on a real disk', () => {
  const real = createDisk();
  function aFolder(parent: string): string {
    const folder = mkdtempSync(join(parent, 'paddlet-kept-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return folder;
  }
  const areLinked = (a: string, b: string): boolean => statSync(a).ino === statSync(b).ino;

  it('both names are of one file, until it is gone', async () => {
    const folder = aFolder(tmpdir());
    const file = { index: 0, uuid: uuidOf(1) };
    const from = join(folder, '0', file.uuid);
    mkdirSync(join(folder, '0'));
    writeFileSync(from, 'content');
    const on = { disk: real, folder, job: JOB };
    await keepFiles(on, 'pass-1', [file]);
    const to = join(keptPath(on, 'pass-1'), '0', file.uuid);
    expect(areLinked(from, to)).toBe(true);
    rmSync(from);
    expect(readFileSync(to, 'utf8')).toBe('content');
    await expect(keepFiles(on, 'pass-2', [file])).rejects.toMatchObject({ code: 'ENOENT' });
    await removeAllKept(on);
    expect(existsSync(to)).toBe(false);
  });

  it('a second name is never one that is taken', async () => {
    const folder = aFolder(tmpdir());
    for (const name of ['a', 'b']) writeFileSync(join(folder, name), name);
    await expect(real.link(join(folder, 'a'), join(folder, 'b'))).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(join(folder, 'b'), 'utf8')).toBe('b');
  });

  it('is a copy where there are no second names, as on another file system', async ({ skip }) => {
    const shared = '/dev/shm';
    const from = join(aFolder(tmpdir()), 'a');
    writeFileSync(from, 'content');
    if (!existsSync(shared)) skip('there is no other file system');
    const folder = aFolder(shared);
    const to = join(folder, 'b');
    try {
      linkSync(from, to);
      skip('it is the same file system');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    }
    await real.link(from, to);
    rmSync(from);
    expect(readFileSync(to, 'utf8')).toBe('content');
    writeFileSync(from, 'other');
    await expect(real.link(from, to)).rejects.toMatchObject({ code: expect.stringMatching(/^EEXIST$|^EXDEV$/) });
    expect(readFileSync(to, 'utf8')).toBe('content');
  });
});

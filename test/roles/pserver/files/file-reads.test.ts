/** Files that others are reading. */
import { expect, it } from 'vitest';
import { FileReads } from '../../../../src/roles/pserver/files/file-reads.ts';
import { FakeClock } from '../../../store/support.ts';

it('a file is being read while parts of it are asked for', async () => {
  const clock = new FakeClock();
  const reads = new FileReads(clock);
  expect(reads.inProgress()).toEqual([]);
  reads.asked('a');
  await clock.advance(10_000);
  reads.asked('b');
  reads.asked('a');
  await clock.advance(10_000);
  reads.asked('a');
  await clock.advance(10_000);
  expect(reads.inProgress()).toEqual(['a']);
});

it('so many files are held by readers, and no more: those that were begun first', async () => {
  const clock = new FakeClock();
  const reads = new FileReads(clock);
  for (const file of ['a', 'b', 'c', 'd', 'e', 'b', 'f']) reads.asked(file);
  expect(reads.inProgress()).toEqual(['a', 'b', 'c', 'd']);
  await clock.advance(20_000);
  reads.asked('f');
  expect(reads.inProgress()).toEqual(['f']);
});

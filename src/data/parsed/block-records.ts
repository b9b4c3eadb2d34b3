/** The records of a task as its readers see them, over a block. */
import { assert } from '../../base/assert.ts';
import type { TaskRecords } from '../source.ts';
import { countBelow, goodBefore, type ParsedBlock, plannedBatch } from './block.ts';
import { pickedBatch } from './other-batch.ts';

/** `free` takes the memory of the block when the records are released. Without it, others use the block as well. */
export function blockRecords(block: ParsedBlock, free?: (block: ParsedBlock) => void): TaskRecords {
  const { records, batchSize } = block;
  let isReleased = false;
  const held = (): ParsedBlock => {
    assert(!isReleased, 'records are not read after they were released');
    return block;
  };
  return {
    records,
    bad: block.notes.bad,
    batch(from, to) {
      assert(0 <= from && from <= to && to <= records, `positions ${from} to ${to} are in ${records} records`);
      const isPlanned = from % batchSize === 0 && from < to && to === Math.min(from + batchSize, records);
      return isPlanned
        ? plannedBatch(held(), from / batchSize)
        : pickedBatch(
            held(),
            Array.from({ length: to - from }, (_, at) => from + at),
          );
    },
    pick: (positions) => pickedBatch(held(), positions),
    goodBefore: (position) => goodBefore(held(), position),
    describe: (from, to) => describe(held(), from, to),
    ...(free && {
      release() {
        if (!isReleased) free(block);
        isReleased = true;
      },
    }),
  };
}

function lineOf({ runPositions, runLines }: ParsedBlock, position: number): number {
  const run = countBelow(runPositions, position + 1) - 1;
  return runLines[run]! + position - runPositions[run]!;
}

/** Such as `a9a.gz, lines 1001 to 1128`; parts of several files are separated by semicolons. */
function describe(block: ParsedBlock, from: number, to: number): string {
  const { parts } = block.notes;
  const texts: string[] = [];
  parts.forEach(({ file, first }, at) => {
    const start = Math.max(from, first);
    const end = Math.min(to, parts[at + 1]?.first ?? block.records);
    if (start >= end) return;
    const [low, high] = [lineOf(block, start), lineOf(block, end - 1)];
    texts.push(`${file}, line${low === high ? ` ${low}` : `s ${low} to ${high}`}`);
  });
  return texts.join('; ');
}

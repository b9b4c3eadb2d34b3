/** The records of a task as its readers see them, over a block. */
import { assert } from '../../base/assert.ts';
import type { TaskRecords } from '../source.ts';
import { countBelow, goodBefore, type ParsedBlock, plannedBatch } from './block.ts';
import { pickedBatch } from './other-batch.ts';

export function blockRecords(block: ParsedBlock): TaskRecords {
  const { records, batchSize } = block;
  return {
    records,
    bad: block.notes.bad,
    batch(from, to) {
      assert(0 <= from && from <= to && to <= records, `positions ${from} to ${to} are in ${records} records`);
      const isPlanned = from % batchSize === 0 && from < to && to === Math.min(from + batchSize, records);
      return isPlanned
        ? plannedBatch(block, from / batchSize)
        : pickedBatch(
            block,
            Array.from({ length: to - from }, (_, at) => from + at),
          );
    },
    pick: (positions) => pickedBatch(block, positions),
    goodBefore: (position) => goodBefore(block, position),
    describe: (from, to) => describe(block, from, to),
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

/** Lines of text to records by the kernel; lines that it leaves, bad ones among them, by the plain parser. */
import { LIMITS } from '../../../base/limits.ts';
import { READ } from '../../kernels/sparse-kernel.ts';
import type { LabelRule } from '../../labels.ts';
import type { BlockBuilder } from '../../parsed/block-builder.ts';
import { LineParser, type RecordSink, type TextPart } from './parser.ts';

/** What takes records from the kernel, and one by one from the plain parser. */
export interface TextSink extends RecordSink, Pick<BlockBuilder, 'kernel' | 'quota' | 'firstEnd' | 'add'> {}

/**
 * As `parseLibsvm`, but for the start of the part. The lines of the text; undefined when it has more records than were
 * announced.
 */
export function parseText(part: TextPart, rule: LabelRule, into: TextSink): number | undefined {
  const { kernel } = into;
  const parser = new LineParser(part, rule, into);
  if (part.bytes.length > LIMITS.kernelTextBytes) return parsePlainly(part, parser, into);
  kernel.begin(part.bytes, part.firstLine, rule, part.hasFields);
  for (;;) {
    const read = kernel.next(into.quota, into.firstEnd);
    into.add(read, part.firstLine, [read]);
    if (read.status === READ.done) return kernel.lines;
    if (into.quota === 0) return undefined;
    if (read.status === READ.unusual) kernel.skipLine(parser.line(kernel.at, kernel.line));
  }
}

/** Text with a line so long that the kernel's memory should not grow for it. */
function parsePlainly(part: TextPart, parser: LineParser, into: TextSink): number | undefined {
  let lines = 0;
  for (let start = 0; start < part.bytes.length; lines++) {
    if (into.quota === 0) return undefined;
    start = parser.line(start, part.firstLine + lines) + 1;
  }
  return lines;
}

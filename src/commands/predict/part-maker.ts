/** From parts of records to lines of scores: the same in the process and in its threads. */
import { assert } from '../../base/assert.ts';
import { forwardReadingOf, modelOf, scoreNamesOf } from '../../cluster/job/job-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { ForwardHead, ForwardReader } from '../../data/formats/format.ts';
import { type DataFormat, formatOf } from '../../data/formats/registry.ts';
import type { MadePart, MakePart } from '../../roles/evaluator/predictor.ts';
import { addTally, NO_TALLY, scoreGroup } from '../../roles/evaluator/score-groups.ts';
import { EVALUATION_BATCH } from '../../roles/trainer/tasks/evaluate-task.ts';
import { lineWriter, type OutputFormat } from './lines.ts';

/** What can be sent to a thread. */
export interface PartMakerOptions {
  readonly record: JobRecord;
  readonly format: DataFormat;
  /** For messages, and for columns in its path. */
  readonly file: string;
  readonly keep: readonly string[];
  readonly as: OutputFormat;
  readonly head: ForwardHead;
}

export interface PartMaker extends Pick<ForwardReader, 'parts'> {
  /** What is written before the first line. */
  readonly lineHead: Uint8Array;
  readonly make: MakePart;
}

/** Throws `DataInvalid`, `Usage`. */
export function createPartMaker({ record, format, file, keep, as, head }: PartMakerOptions): PartMaker {
  const model = modelOf(record);
  const reading = { ...forwardReadingOf(record, model, format), file, keep, batchSize: EVALUATION_BATCH };
  const { openForward } = formatOf(format);
  assert(openForward !== undefined, 'the format was looked at');
  const reader = openForward(head, reading);
  const scores = scoreNamesOf(record, model);
  const writer = lineWriter(as, { kept: reader.kept, scores });
  return {
    lineHead: writer.head,
    parts: reader.parts,
    async make(part, client, signal): Promise<MadePart> {
      const lines: Uint8Array[] = [];
      let tally = NO_TALLY;
      for (const group of reader.read(part)) {
        const scored = await scoreGroup({ model, outputs: scores.length }, group, client, signal);
        lines.push(writer.lines(scored.group));
        tally = addTally(tally, scored.tally);
      }
      return { lines: Buffer.concat(lines), tally };
    },
  };
}

/** From parts of records to scores: the same in the process and in its threads. */
import { assert } from '../../base/assert.ts';
import { PaddletError } from '../../base/errors.ts';
import type { Disk, FileFacts } from '../../base/seams.ts';
import { forwardReadingOf, modelOf, scoreNamesOf } from '../../cluster/job/job-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import type { ForwardBytes } from '../../data/bytes/forward.ts';
import { readsOf } from '../../data/columns/inputs.ts';
import { SeenColumns } from '../../data/columns/seen.ts';
import type { AnyPart, ForwardGroup, ForwardHead, ForwardOptions } from '../../data/formats/format.ts';
import { type DataFormat, formatOf } from '../../data/formats/registry.ts';
import type { MadePart, MakePart } from '../../roles/evaluator/predictor.ts';
import { addTally, NO_TALLY, type ScoredGroup, scoreGroup } from '../../roles/evaluator/score-groups.ts';
import { EVALUATION_BATCH } from '../../roles/trainer/tasks/evaluate-task.ts';
import type { Output } from './output.ts';
import { type OutputFormat, outputOf } from './output-formats.ts';

/** What the records are in. */
export type PartSource =
  /** A source that is read once, and begins so. */
  | { readonly kind: 'stream'; readonly head: ForwardHead }
  /** A file as it was found, which each thread opens. */
  | { readonly kind: 'file'; readonly path: string; readonly facts: FileFacts };

/** What can be sent to a thread. */
export interface PartMakerOptions {
  readonly record: JobRecord;
  readonly format: DataFormat;
  /** For csv: what separates the fields, if it differs from that of the job. */
  readonly delimiter?: string | undefined;
  /** Path of the file, for messages and for columns in the path. */
  readonly file: string;
  readonly keep: readonly string[];
  readonly as: OutputFormat;
  /** Why a record has no score is written beside it. */
  readonly hasErrors: boolean;
  readonly source: PartSource;
}

interface PartReader {
  readonly kept: readonly string[];
  parts(stream: ForwardBytes | undefined): AsyncGenerator<AnyPart>;
  read(part: AnyPart): readonly ForwardGroup[] | Promise<readonly ForwardGroup[]>;
  close(): Promise<void>;
}

export interface PartMaker extends Pick<PartReader, 'parts' | 'close'> {
  readonly output: Output;
  readonly make: MakePart;
}

/** Throws `DataInvalid`, `DataChanged`, `Usage`. */
export async function createPartMaker(
  options: PartMakerOptions,
  disk: Pick<Disk, 'open' | 'inspect'>,
): Promise<PartMaker> {
  const { record, format, delimiter, file, keep, as, hasErrors, source } = options;
  const model = modelOf(record);
  const { columns, ...own } = forwardReadingOf(record, model, format, delimiter);
  const seen = new SeenColumns(columns?.columns ?? []);
  const reading: ForwardOptions = {
    ...own,
    // The field of a feature says of which column it is.
    columns: columns && { ...columns, readsFields: true },
    watch: (piece) => seen.add(piece),
    ...{ file, keep, batchSize: EVALUATION_BATCH },
  };
  const names = columns && readsOf(columns).sparse;
  const scores = scoreNamesOf(record, model);
  const reader =
    source.kind === 'stream'
      ? streamReader(format, source.head, reading)
      : await fileReader(format, source, reading, disk);
  const output = outputOf(as, { kept: reader.kept, scores, hasErrors });
  return {
    output,
    parts: reader.parts,
    close: reader.close,
    async make(part, client, signal): Promise<MadePart> {
      const groups: ScoredGroup[] = [];
      let tally = NO_TALLY;
      for (const group of await reader.read(part)) {
        const scored = await scoreGroup({ model, outputs: scores.length, names }, group, client, signal);
        groups.push(scored.group);
        tally = addTally(tally, scored.tally);
      }
      return { made: output.make(groups), tally: { ...tally, seen: new Set(seen.seen) } };
    },
  };
}

function streamReader(format: DataFormat, head: ForwardHead, reading: ForwardOptions): PartReader {
  const { openForward } = formatOf(format);
  assert(openForward !== undefined, 'the format was looked at');
  const reader = openForward(head, reading);
  return {
    kept: reader.kept,
    parts(stream) {
      assert(stream !== undefined, 'its head was read of it');
      return reader.parts(stream);
    },
    read(part) {
      assert('bytes' in part, 'a stream is cut into bytes');
      return reader.read(part);
    },
    close: async () => {},
  };
}

async function fileReader(
  format: DataFormat,
  { path, facts }: PartSource & { kind: 'file' },
  reading: ForwardOptions,
  disk: Pick<Disk, 'open' | 'inspect'>,
): Promise<PartReader> {
  const { openRows } = formatOf(format);
  assert(openRows !== undefined, 'the format was looked at');
  const file = await disk.open(path);
  const refuseChanged = async (): Promise<void> => {
    const now = await disk.inspect(path);
    if (now?.bytes === facts.bytes && now.modifiedMs === facts.modifiedMs) return;
    throw new PaddletError('DataChanged', `${reading.file} changed while it was being read`);
  };
  try {
    await refuseChanged();
    const reader = await openRows({ path: reading.file, file, facts, bytes: facts.bytes }, reading);
    return {
      kept: reader.kept,
      async *parts() {
        yield* reader.parts();
        await refuseChanged();
      },
      read(part) {
        assert('group' in part, 'a file is cut into rows');
        return reader.read(part);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

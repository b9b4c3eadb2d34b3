/** Text of sparse records as two data formats: LIBSVM and libFM, and libffm, whose features have fields. */
import { LIMITS } from '../../../base/limits.ts';
import { HASH, markBytes } from '../../ascii.ts';
import { PLAIN_LINES, wholePlainLines } from '../../bytes/slices.ts';
import { sparseKernel } from '../../kernels/sparse-kernel.ts';
import type { LabelRule } from '../../labels.ts';
import { BlockBuilder } from '../../parsed/block-builder.ts';
import { type TaskSink, type TaskSize, taskSink } from '../../parsed/task-records.ts';
import type { ReadFeatures, SparsePiece } from '../../piece.ts';
import type { Picking } from '../../selecting.ts';
import type { Format, Indexing } from '../format.ts';
import type { Notes } from '../index-sink.ts';
import { lineFormat } from '../text/format.ts';
import type { LineKind, TextHead } from '../text/kind.ts';
import type { LineReading } from '../text/lines.ts';
import { highestId } from './highest-id.ts';
import { SparseLineReader } from './parser.ts';

/** A feature takes at least four bytes of text, as in " 1:1"; with a field it takes more. */
const LEAST_FEATURE_BYTES = 4;
/** A label and its line break. */
const LEAST_RECORD_BYTES = 2;

const FORMAT = { input: 'sparse', parserVersion: 2 } as const;

export const libsvmFormat: Format = { ...FORMAT, ...lineFormat(sparseLines(false)), hasFields: false };
export const libffmFormat: Format = { ...FORMAT, ...lineFormat(sparseLines(true)), hasFields: true };

export function sparseLines(hasFields: boolean): LineKind<SparsePiece, undefined> {
  return {
    specOf: () => undefined,
    headOf: (_, bytes) => sparseHead(bytes),
    readingOf: (_path, _spec, _layout, labels) => sparseReading(labels, hasFields),
    pathBytes: () => 0,
    recordsOf: ({ readsFields }, size) => sparseRecords(size, readsFields),
    pickingOf: () => PICKING,
    notesOf: featureNotes,
    // The width of a model may depend on the number of fields, so it must not depend on the split.
    notesAll: true,
    // Predictions do not use the label, so it may be any number.
    scoringOf: ({ bytes }, { mayHaveWeight, readsFields }) => ({
      head: sparseHead(bytes),
      reading: sparseReading({ task: 'regression', mayHaveWeight }, hasFields),
      pathBytes: 0,
      kept: { names: [], textsIn: () => ({ of: () => [] }) },
      recordsOf: (size) => sparseRecords(size, readsFields),
    }),
  };
}

const sparseHead = (bytes: Uint8Array): TextHead => ({ offset: markBytes(bytes), line: 1 });

/** Reads lines whose labels must follow the rule. */
export const sparseReading = (labels: LabelRule, hasFields: boolean): LineReading<SparsePiece> => ({
  leastBytes: LEAST_RECORD_BYTES,
  rules: { ...PLAIN_LINES, comment: HASH },
  wholeRecords: wholePlainLines,
  plain: (text) => new SparseLineReader(text, labels, hasFields),
  kernel({ bytes }) {
    // A very long line should not make the kernel's memory grow.
    if (bytes.length > LIMITS.kernelTextBytes) return undefined;
    const kernel = sparseKernel();
    kernel.begin(bytes, { labels, hasFields });
    return kernel;
  },
});

/** Builds the records of a task. */
export function sparseRecords(
  { records, bytes, batchSize }: TaskSize,
  hasFields: boolean | undefined,
): TaskSink<SparsePiece> {
  const features = [Math.ceil(bytes / LEAST_FEATURE_BYTES)];
  const builder = new BlockBuilder({ records, features, batchSize, hasFields }, sparseKernel());
  return taskSink(builder, (piece, firstLine) => builder.add(piece, firstLine, [piece.features]));
}

const PICKING: Picking<SparsePiece> = {
  pick({ features }, kept, { weights, ...facts }) {
    const counts = weights?.every((weight) => weight === 1) ? undefined : weights;
    return { ...facts, weights: counts, features: pickedFeatures(features, kept) };
  },
};

function pickedFeatures({ ends, ids, values, fields }: ReadFeatures, kept: readonly number[]): ReadFeatures {
  const startOf = (record: number): number => (record === 0 ? 0 : ends[record - 1]!);
  const features = kept.reduce((sum, record) => sum + ends[record]! - startOf(record), 0);
  const into = {
    features,
    ends: new Uint32Array(kept.length),
    ids: new Uint8Array(8 * features),
    values: values && new Float32Array(features),
    fields: fields && new Uint16Array(features),
  };
  let end = 0;
  kept.forEach((record, at) => {
    const [from, to] = [startOf(record), ends[record]!];
    into.ids.set(ids.subarray(8 * from, 8 * to), 8 * end);
    into.values?.set(values!.subarray(from, to), end);
    into.fields?.set(fields!.subarray(from, to), end);
    end += to - from;
    into.ends[at] = end;
  });
  return into;
}

/** Notes the highest id, the highest field, and the files without features. */
function featureNotes({ bounds }: Indexing): Notes<SparsePiece> {
  let features = 0;
  let highest = -1n;
  return {
    startFile() {
      features = 0;
    },
    add({ features: read }) {
      features += read.features;
      highest = highestId(read, highest);
      for (const field of read.fields ?? []) if (field >= bounds.fieldBound) bounds.fieldBound = field + 1;
    },
    endFile({ path, records }) {
      if (records > 0 && features === 0) bounds.traits.withoutFeatures.push(path);
    },
    finish() {
      bounds.featureBound = highest + 1n;
    },
  };
}

/** The kind of lines whose records have columns. */
import { isUtf8 } from 'node:buffer';
import { assert } from '../../../base/assert.ts';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { NEWLINE } from '../../ascii.ts';
import type { ColumnSpec } from '../../columns/column.ts';
import { columnRecords } from '../../columns/column-records.ts';
import { fitsLayout } from '../../columns/layout.ts';
import type { ColumnPiece } from '../../columns/piece.ts';
import { columnPicking } from '../../columns/selecting.ts';
import { passTimed, type Times } from '../../columns/times.ts';
import type { LabelRule } from '../../labels.ts';
import type { PieceSink } from '../../piece.ts';
import type { FileLayout } from '../../source.ts';
import type { Format, ForwardHead, ForwardOptions, Indexing, ReadColumns } from '../format.ts';
import { columnNotes, type Notes } from '../index-sink.ts';
import { planFor, type TextForm } from './form.ts';
import { lineFormat } from './format.ts';
import { type TextKernel, textKernel } from './kernel.ts';
import type { LineKind, Scoring } from './kind.ts';
import type { LineReading, LineText } from './lines.ts';
import { type LinePlan, pathBytes } from './plan.ts';
import { refuse } from './read-text.ts';
import { readWhole } from './read-whole.ts';
import { badRecord } from './values.ts';

/** For plans without a label column. */
export const NO_LABEL: LabelRule = { task: 'regression' };

/** Combines a form with the machinery that all formats of lines share. */
export function textFormat(form: TextForm, placing: NonNullable<Format['placing']>, parserVersion: number): Format {
  const kind = columnLines(form);
  return {
    ...lineFormat(kind),
    ...{ input: 'columns', hasFields: true, placing, parserVersion },
    readFile: (content, { columns, ...how }, into) => readWhole(kind, content, columns, how, into),
  };
}

function columnLines(form: TextForm): LineKind<ColumnPiece, ColumnSpec> {
  const specOf = <S extends ColumnSpec>(columns: S | undefined): S => {
    assert(columns !== undefined, 'the format has columns');
    return columns;
  };
  return {
    specOf,
    headOf: form.headOf,
    readingOf(path, spec, layout, labels) {
      if (layout === undefined || !fitsLayout(spec, layout)) return undefined;
      return columnReading(planFor(form, spec, layout, labels, path));
    },
    pathBytes,
    recordsOf: ({ columns }, size) => columnRecords(specOf(columns), size),
    pickingOf: (selection, { columns }) => columnPicking(selection, columns),
    notesOf: (into) => lineNotes(into, specOf(into.columns)),
    // Statistics are those of the training records.
    notesAll: false,
    scoringOf: (head, options) => scoringOf(form, head, options),
  };
}

export function columnReading(plan: LinePlan): LineReading<ColumnPiece> {
  const { form, times } = plan;
  return {
    leastBytes: form.leastBytes,
    rules: form.rules,
    wholeRecords: form.wholeRecords,
    plain: (text) => form.reader(text, plan),
    kernel: (text) => kernelFor(text, plan),
    pass: times && ((piece, text, into) => passWithTimes(piece, text, times, into)),
  };
}

function kernelFor({ bytes }: LineText, plan: LinePlan): TextKernel | undefined {
  const { isUtf8: mustBeUtf8 } = plan.form;
  // The kernel takes a NUL byte for a character, the plain form does not; JSON lines have none in the kernel either.
  if (bytes.length > LIMITS.kernelTextBytes || (!mustBeUtf8 && bytes.includes(0))) return undefined;
  const kernel = textKernel();
  kernel.prepare(plan);
  kernel.begin(bytes);
  if (mustBeUtf8 && !isUtf8(bytes)) for (const start of faultyLines(bytes)) kernel.spoil(start);
  return kernel;
}

/** Where lines begin that are not UTF-8. */
function* faultyLines(bytes: Uint8Array): Generator<number> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    if (!isUtf8(bytes.subarray(start, end))) yield start;
    start = end;
  }
}

/** Passes records with a bad time on as bad records. */
function passWithTimes(piece: ColumnPiece, text: LineText, times: Times, into: PieceSink<ColumnPiece>): void {
  passTimed(piece, times, {
    add: (good) => into.add(good, text.firstLine),
    bad(record, reason) {
      const [line, start, end] = [piece.lines[record]!, piece.starts[record]!, piece.ends[record]!];
      refuse(badRecord(text, { line, start, end }, reason), { start, end }, into);
    },
  });
}

/** Without headers, columns are where they are in the first file that has records. */
function lineNotes(into: Indexing, { dialect }: ColumnSpec): Notes<ColumnPiece> {
  const notes = columnNotes(into);
  let first: LaidOut | undefined;
  return {
    ...notes,
    endFile(file) {
      const { path, layout } = file;
      if (layout !== undefined) {
        first ??= { path, layout };
        if (!dialect.header) refuseOtherWidth(first, { path, layout });
      }
      notes.endFile(file);
    },
  };
}

interface LaidOut {
  readonly path: string;
  readonly layout: FileLayout;
}

/** Throws `DataInvalid`. */
function refuseOtherWidth(first: LaidOut, { path, layout }: LaidOut): void {
  if (first.layout.fields === layout.fields) return;
  throw new PaddletError(
    'DataInvalid',
    `${path} has ${layout.fields} fields per line, but ${first.path} has ${first.layout.fields}`,
    { hint: 'if the files have no header, all of them must have the same columns' },
  );
}

function scoringOf(form: TextForm, source: ForwardHead, options: ForwardOptions): Scoring<ColumnPiece> | undefined {
  const { file, keep, columns, watch } = options;
  assert(columns !== undefined, 'the format has columns');
  const placed = form.scored?.(columns, options, source) ?? columns;
  const head = form.headOf(file, source.bytes, source.isWhole, withoutTraining(placed));
  if (head === undefined) return undefined;
  const inputs: ReadColumns = { ...columns, ...withoutTraining(placed) };
  return {
    head,
    reading: columnReading(planFor(form, inputs, head.layout, NO_LABEL, file)),
    pathBytes: pathBytes(file, inputs),
    kept: form.keptIn(file, keep, head, placed),
    recordsOf: (size) => columnRecords(inputs, size),
    watch,
  };
}

/** Columns that a prediction needs nothing of. A header may lack them; without one the others have positions. */
export const withoutTraining = (spec: ColumnSpec): ColumnSpec => ({
  ...spec,
  columns: spec.columns.filter(({ type }) => !['label', 'weight', 'group', 'time', 'ignore'].includes(type)),
});

/** What a format of text with columns is: how its files begin, and how lines become records and values. */
import type { ColumnSpec } from '../../columns/column.ts';
import type { LabelRule } from '../../labels.ts';
import type { FileLayout } from '../../source.ts';
import type { ForwardHead, ForwardOptions } from '../format.ts';
import type { Kept, TextHead } from './kind.ts';
import { type LineForm, type LinePlan, planOf } from './plan.ts';

export interface FileHead extends TextHead {
  readonly layout: FileLayout;
  /** Those of the header, by field; undefined without one. */
  readonly names: readonly string[] | undefined;
}

export interface TextForm {
  /**
   * `bytes`: the first ones of the file, up to `FORWARD_HEAD_BYTES`; all of them if `isWhole`. Undefined when there is
   * no record, or none that ends within a look at fewer bytes. Throws `DataInvalid`, naming file and line.
   */
  headOf(path: string, bytes: Uint8Array, isWhole: boolean, spec: ColumnSpec): FileHead | undefined;
  linesOf(spec: ColumnSpec, layout: FileLayout): LineForm;
  /** The columns as they are in a file to be scored, which may lack the label. Throws `DataInvalid`. */
  scored?<S extends ColumnSpec>(spec: S, options: Pick<ForwardOptions, 'file' | 'fields'>, head: ForwardHead): S;
  /** `keep`: what users call the columns whose texts go with the predictions. Throws `DataInvalid`. */
  keptIn(file: string, keep: readonly string[], head: FileHead, spec: ColumnSpec): Kept;
}

/** Throws as `planOf`. */
export const planFor = (
  form: TextForm,
  spec: ColumnSpec,
  layout: FileLayout,
  labels: LabelRule,
  path: string,
): LinePlan => planOf(form.linesOf(spec, layout), spec, layout, labels, path);

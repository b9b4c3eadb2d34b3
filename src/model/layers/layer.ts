/**
 * What a layer is: floats that it makes for each record of a mini-batch from those of other layers or from the data,
 * and gradients the other way. A layer calls kernels on addresses; `network.ts` gives it memory and an order.
 */
import type { KernelExports } from '../../tensor/kernels/exports.ts';
import type { DenseSpec, SparseSpec } from '../../tensor/spec.ts';
import type { BatchPlace } from '../model.ts';

export interface Layer {
  readonly name: string;
  /** Floats of its output for each record. */
  readonly width: number;
  /** Width of the vectors that the output consists of, if all of them have the same width. */
  readonly vectorWidth?: number;
  readonly dense: readonly DenseSpec[];
  /** The table whose rows the layer looks up. */
  readonly table?: LayerTable;
  /** Columns of the numbers that it reads; undefined where the data has no columns, or it reads none. */
  readonly numbers?: readonly string[] | undefined;
  /** Bytes that are kept from forward to backward; a multiple of 16. */
  keptBytes?(records: number): number;
  /** Bytes that are free again after each call. */
  scratchBytes?(kernels: KernelExports, records: number): number;
  forward(kernels: KernelExports, run: LayerRun): void;
  /** Absent where there is nothing to learn before it. */
  backward?(kernels: KernelExports, run: LayerBackward): void;
}

export interface LayerTable extends SparseSpec {
  /** Columns whose ids are looked up; undefined where the data has none: all its features as one. */
  readonly columns: readonly string[] | undefined;
}

/** Addresses of one call; arrays of records are one row behind the other. */
export interface LayerRun {
  readonly records: number;
  readonly isTraining: boolean;
  /** Place of the batch in training; undefined in evaluation. */
  readonly place: BatchPlace | undefined;
  readonly data: DataAddresses;
  /** Addresses of the outputs of the layers that it reads. */
  readonly inputs: readonly number[];
  readonly output: number;
  /** Values of its dense parameters, in their order. */
  readonly parameters: readonly number[];
  readonly kept: number;
  readonly scratch: number;
}

export interface LayerBackward extends LayerRun {
  /** Address of the gradient of its output. */
  readonly gradient: number;
  /** Where those of its inputs go; 0: none is wanted. What is there is overwritten. */
  readonly inputGradients: readonly number[];
  readonly parameterGradients: readonly number[];
  /** Address of the gradient of the rows that it looked up. */
  readonly tableGradient: number;
}

/** Inputs of a batch, from the first record of the call on. */
export interface DataAddresses {
  /** Numbers of each record: floats, or bytes (`DenseInput`). */
  readonly numbers: number;
  readonly areBytes: boolean;
  /** By table; undefined: of a layer without one. */
  readonly features: FeatureAddresses | undefined;
}

export interface FeatureAddresses {
  readonly offsets: number;
  readonly rows: number;
  /** 0 when every value is 1. */
  readonly values: number;
  /** 0 when features have no fields. */
  readonly fields: number;
  /** Distinct ids. */
  readonly count: number;
  /** A row for each distinct id. */
  readonly table: number;
}

/** Bytes of `width` floats for each record, rounded up so that what follows is at a multiple of 16. */
export const bytesOfRows = (records: number, width: number): number => Math.ceil((records * width) / 4) * 16;

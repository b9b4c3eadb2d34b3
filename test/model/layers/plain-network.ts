/** A network in plain form: the layers of plain-layers.ts one after the other, and their gradients backwards. */
import type { LayerSpec } from '../../../src/model/layers/specs.ts';
import type { Batch, BatchPlace, Model, PulledValues } from '../../../src/model/model.ts';
import { kept } from '../../tensor/reference.ts';
import { floatsOf } from '../batches.ts';
import { classLoss, type Outcome, outputLoss } from '../plain-losses.ts';
import { PLAIN_LAYERS, type PlainResult, type PlainRun, type Round, type Rows } from './plain-layers.ts';

export interface PlainOptions {
  readonly layers: readonly LayerSpec[];
  readonly seed: number;
  readonly round: Round;
}

interface Placed {
  readonly spec: LayerSpec;
  readonly name: string;
  readonly inputs: readonly number[];
  readonly dense: number;
  readonly table: number | undefined;
}

const DENSE: Partial<Record<LayerSpec['type'], number>> = { layerNorm: 2, batchNorm: 5 };
const hasTable = ({ type }: LayerSpec): boolean => type === 'embedding' || type === 'linear';

function placedOf(layers: readonly LayerSpec[]): Placed[] {
  const names = layers.map(
    ({ name, type }, at) => name ?? `${type}${layers.slice(0, at + 1).filter((other) => other.type === type).length}`,
  );
  let dense = 0;
  let tables = 0;
  return layers.map((spec, at) => {
    const from = spec.from === undefined ? [at - 1] : [spec.from].flat().map((name) => names.indexOf(name));
    const placed = {
      ...{ spec, name: names[at]!, dense },
      inputs: hasTable(spec) || spec.type === 'numbers' ? [] : from,
      table: hasTable(spec) ? tables : undefined,
    };
    dense += spec.type === 'dense' ? (spec.bias === false ? 1 : 2) : (DENSE[spec.type] ?? 0);
    if (hasTable(spec)) tables += 1;
    return placed;
  });
}

function rowsOf(floats: ArrayLike<number>, width: number): Rows {
  const rows: Rows = [];
  for (let at = 0; at < floats.length; at++) {
    if (at % width === 0) rows.push([]);
    rows.at(-1)!.push(floats[at]!);
  }
  return rows;
}

/** Without tiny floats: so is what layers hand to each other. */
const keptOf = (rows: Rows): Rows => rows.map((row) => row.map(kept));

/** Loss, scores and gradients. `values` may be more exact than f32. */
export function runPlainly(
  model: Pick<Model, 'task' | 'parameters' | 'lookups'>,
  { layers, seed, round }: PlainOptions,
  batch: Batch,
  values: { readonly [kind in keyof PulledValues]: readonly ArrayLike<number>[] },
  how: { readonly isTraining: boolean; readonly place?: BatchPlace | undefined },
): Outcome & { readonly logits: Rows } {
  const placed = placedOf(layers);
  const [numbers] = batch.dense;
  const results: PlainResult[] = [];
  const vectors: number[] = [];
  for (const { spec: given, name, inputs, dense, table } of placed) {
    // Without units it has as many as the model has outputs.
    const units = model.parameters.dense[dense]?.shape[1];
    const spec = given.type === 'dense' ? { ...given, units } : given;
    const count = spec.type === 'dense' ? 2 : (DENSE[spec.type] ?? 0);
    const run: PlainRun = {
      ...{ round, name, seed, records: batch.records, isTraining: how.isTraining, place: how.place },
      numbers: numbers === undefined ? [] : rowsOf(floatsOf(numbers), numbers.width),
      features: table === undefined ? undefined : batch.sparse[model.lookups[table]!],
      table: table === undefined ? [] : rowsOf(values.sparse[table]!, model.parameters.sparse[table]!.width),
      vectorWidth: vectors[inputs[0] ?? -1] ?? 0,
      inputs: inputs.map((input) => results[input]!.output),
      parameters: values.dense.slice(dense, dense + count).map((array) => Array.from(array)),
    };
    // The type of the specification is that of the function.
    const result = (PLAIN_LAYERS[spec.type] as (spec: LayerSpec, run: PlainRun) => PlainResult)(spec, run);
    results.push({ ...result, output: keptOf(result.output) });
    vectors.push(spec.type === 'embedding' ? spec.width : (run.vectorWidth ?? 0));
  }
  const logits = results.at(-1)!.output;
  const ofOutputs = model.task === 'multiclass' ? classLoss : outputLoss;
  const { slopes, ...scored } = ofOutputs(model, batch, logits, round);
  const gradients: (Rows | undefined)[] = results.map(() => undefined);
  gradients[results.length - 1] = keptOf(slopes);
  const dense = model.parameters.dense.map(({ shape }) => new Array<number>(shape.reduce((a, b) => a * b, 1)).fill(0));
  const sparse: number[][] = model.parameters.sparse.map(() => []);
  for (const [number, { inputs, dense: first, table }] of [...placed.entries()].reverse()) {
    const result = results[number]!.backward(gradients[number]!);
    result.parameters.forEach((gradient, i) => {
      dense[first + i] = gradient;
    });
    if (table !== undefined) sparse[table] = result.table!.flat();
    result.inputs.forEach((gradient, i) => {
      const input = inputs[i]!;
      const before = gradients[input];
      gradients[input] = keptOf(
        before?.map((row, r) => row.map((sum, c) => round(sum + gradient[r]![c]!))) ?? gradient,
      );
    });
  }
  return {
    ...scored,
    logits,
    dense: dense.map((gradient) => Float32Array.from(gradient)),
    sparse: sparse.map((gradient) => Float32Array.from(gradient)),
  };
}

/** The same model, computed here. */
export function plainNetwork(model: Model, layers: readonly LayerSpec[], seed: number): Model {
  const { memory: _, classProbabilities: __, ...rest } = model;
  const options = { layers, seed, round: Math.fround };
  return {
    ...rest,
    step(batch, values, place) {
      const { dense, sparse, metrics } = runPlainly(model, options, batch, values, { isTraining: true, place });
      if (batch.records > 0) return { dense, sparse, metrics };
      return { dense: dense.map((one) => one.fill(0)), sparse: sparse.map((one) => one.fill(0)), metrics };
    },
    evaluate(batch, values) {
      const { scores, metrics } = runPlainly(model, options, batch, values, { isTraining: false });
      return { scores, metrics };
    },
  };
}

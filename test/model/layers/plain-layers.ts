/**
 * Layers in plain form: one record, one float at a time, rounded where the kernels round (`round`, Math.fround). The
 * kernels must give the same bits. Without rounding they are the formulas, for numerical gradients.
 */
import type { LayerKind } from '../../../src/model/layers/specs.ts';
import type { BatchPlace, SparseInput } from '../../../src/model/model.ts';
import { randomKey } from '../../../src/tensor/initializer.ts';
import { sigmoid, tanh } from '../../../src/tensor/math.ts';
import { philoxReference } from '../../tensor/reference.ts';

export type Round = (value: number) => number;
export type Rows = number[][];

export interface PlainRun {
  readonly round: Round;
  readonly name: string;
  readonly seed: number;
  readonly isTraining: boolean;
  readonly place: BatchPlace | undefined;
  readonly records: number;
  readonly numbers: Rows;
  /** What the layer's table looks up. */
  readonly features: SparseInput | undefined;
  readonly table: Rows;
  /** Width of the vectors that the first input is made of. */
  readonly vectorWidth: number;
  readonly inputs: readonly Rows[];
  readonly parameters: readonly (readonly number[])[];
}

export interface PlainResult {
  readonly output: Rows;
  backward(gradient: Rows): PlainGradients;
}

export interface PlainGradients {
  readonly inputs: readonly Rows[];
  readonly parameters: readonly number[][];
  readonly table?: Rows;
}

const zeros = (width: number): number[] => new Array<number>(width).fill(0);
const mapped = (rows: Rows, of: (value: number, record: number, column: number) => number): Rows =>
  rows.map((row, record) => row.map((value, column) => of(value, record, column)));

/** Σ over records, one rounded chain. */
function sumRecords(rows: Rows, width: number, f: Round): number[] {
  const sums = zeros(width);
  for (const row of rows) {
    for (let column = 0; column < width; column++) sums[column] = f(sums[column]! + row[column]!);
  }
  return sums;
}

type Plain<K extends LayerKind['type']> = (spec: LayerKind & { readonly type: K }, run: PlainRun) => PlainResult;

const activation =
  (forward: (x: number) => number, slope: (y: number, f: Round) => number, isGate = false) =>
  (_: unknown, { inputs: [x], round: f }: PlainRun): PlainResult => {
    const output = mapped(x!, (value) => f(forward(value)));
    return {
      output,
      backward: (gradient) => ({
        inputs: [
          mapped(gradient, (d, record, column) => {
            const factor = slope(output[record]![column]!, f);
            return isGate ? (factor === 0 ? 0 : d) : f(d * factor);
          }),
        ],
        parameters: [],
      }),
    };
  };

/** As a factor of a product of matrices, a float below 2^-63 is 0. */
const factor = (x: number): number => (Math.abs(x) < 2 ** -63 ? 0 : x);

const dense: Plain<'dense'> = (
  { units = 0, bias = true },
  { inputs: [inputs], parameters: [weights, b], round: f },
) => {
  const [x, w] = [inputs!.map((row) => row.map(factor)), weights!.map(factor)];
  const width = w.length / units;
  const output = x.map((row) => {
    const sums = zeros(units);
    for (let unit = 0; unit < units; unit++) {
      let sum = 0;
      for (let k = 0; k < width; k++) sum = f(sum + f(row[k]! * w[k * units + unit]!));
      sums[unit] = bias ? f(sum + b![unit]!) : sum;
    }
    return sums;
  });
  return {
    output,
    backward(gradient) {
      const dy = gradient.map((row) => row.map(factor));
      const ofWeights = zeros(width * units);
      const ofInput = gradient.map(() => zeros(width));
      for (let k = 0; k < width; k++) {
        for (let unit = 0; unit < units; unit++) {
          let sum = 0;
          for (let record = 0; record < gradient.length; record++) {
            sum = f(sum + f(x[record]![k]! * dy[record]![unit]!));
          }
          ofWeights[k * units + unit] = sum;
        }
        for (let record = 0; record < gradient.length; record++) {
          let sum = 0;
          for (let unit = 0; unit < units; unit++) sum = f(sum + f(dy[record]![unit]! * w[k * units + unit]!));
          ofInput[record]![k] = sum;
        }
      }
      return { inputs: [ofInput], parameters: bias ? [ofWeights, sumRecords(gradient, units, f)] : [ofWeights] };
    },
  };
};

/** Mean, variance and 1 / deviation of one group. */
function momentsOf(values: readonly number[], epsilon: number) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) * (value - mean), 0) / values.length;
  return { mean, variance, inverse: 1 / Math.sqrt(variance + epsilon) };
}

const columnOf = (rows: Rows, column: number): number[] => rows.map((row) => row[column]!);

function normalized(
  { inputs: [x], parameters: [gain, bias], round: f, records }: PlainRun,
  moments: (record: number, column: number) => { mean: number; inverse: number },
  groupOf: (rows: Rows, record: number, column: number) => number[],
): PlainResult {
  const unit = mapped(x!, (value, record, column) => {
    const { mean, inverse } = moments(record, column);
    return f((value - mean) * inverse);
  });
  return {
    output: mapped(unit, (value, _, column) => f(f(value * gain![column]!) + bias![column]!)),
    backward(gradient) {
      const scaled = mapped(gradient, (d, _, column) => f(d * gain![column]!));
      const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
      const ofInput = mapped(scaled, (d, record, column) => {
        const [own, units] = [groupOf(scaled, record, column), groupOf(unit, record, column)];
        const product = mean(own.map((value, at) => value * units[at]!));
        return f((d - mean(own) - unit[record]![column]! * product) * moments(record, column).inverse);
      });
      const products = mapped(gradient, (d, record, column) => f(d * unit[record]![column]!));
      const width = gain!.length;
      return {
        inputs: [records === 0 ? [] : ofInput],
        parameters: [sumRecords(products, width, f), sumRecords(gradient, width, f)],
      };
    },
  };
}

const layerNorm: Plain<'layerNorm'> = ({ epsilon = 1e-5 }, run) => {
  const records = run.inputs[0]!.map((row) => momentsOf(row, epsilon));
  return normalized(
    run,
    (record) => records[record]!,
    (rows, record) => rows[record]!,
  );
};

const batchNorm: Plain<'batchNorm'> = ({ epsilon = 1e-5 }, run) => {
  const { inputs, parameters, round: f, isTraining } = run;
  const [gain, , means, variances, seen] = parameters;
  const share = seen![0]!;
  const columns = gain!.map((_, column) => momentsOf(columnOf(inputs[0]!, column), epsilon));
  const running = means!.map((mean, at) =>
    share > 0
      ? { mean: mean / share, inverse: 1 / Math.sqrt(variances![at]! / share + epsilon) }
      : { mean: 0, inverse: 1 / Math.sqrt(1 + epsilon) },
  );
  const used = isTraining ? columns : running;
  const result = normalized(
    run,
    (_, column) => used[column]!,
    (rows, _, column) => columnOf(rows, column),
  );
  return {
    output: result.output,
    backward(gradient) {
      const { inputs: ofInputs, parameters: learned } = result.backward(gradient);
      const towards = [
        means!.map((_, at) => f(-columns[at]!.mean)),
        variances!.map((_, at) => f(-columns[at]!.variance)),
        [-1],
      ];
      return { inputs: ofInputs, parameters: [...learned, ...towards] };
    },
  };
};

const wordsOf = (counter: readonly number[], key: bigint): number[] =>
  philoxReference(counter, [Number(key & 0xffff_ffffn), Number(key >> 32n)]);

const dropout: Plain<'dropout'> = ({ rate }, { inputs: [x], isTraining, place, name, seed, round: f }) => {
  const width = x![0]?.length ?? 0;
  const { batch, task, pass } = place ?? { batch: 0, task: 0, pass: 0 };
  const key = randomKey(`dropout/${name}`, seed);
  const kept = mapped(x!, (_, record, column) => {
    const at = record * width + column;
    const word = wordsOf([Math.floor(at / 4), batch, task, pass], key)[at % 4]!;
    return word < Math.floor(rate * 2 ** 32) ? 0 : Math.fround(1 / (1 - rate));
  });
  return {
    output: isTraining ? mapped(x!, (value, record, column) => f(value * kept[record]![column]!)) : x!,
    backward: (gradient) => ({
      inputs: [mapped(gradient, (d, record, column) => f(d * kept[record]![column]!))],
      parameters: [],
    }),
  };
};

const concat: Plain<'concat'> = (_, { inputs, records }) => ({
  output: Array.from({ length: records }, (_, record) => inputs.flatMap((rows) => rows[record]!)),
  backward(gradient) {
    let from = 0;
    const ofInputs = inputs.map((rows) => {
      const start = from;
      from += rows[0]?.length ?? 0;
      return gradient.map((row) => row.slice(start, from));
    });
    return { inputs: ofInputs, parameters: [] };
  },
});

const add: Plain<'add'> = (_, { inputs: [first, ...others], round: f }) => ({
  output: others.reduce(
    (sum, rows) => mapped(sum, (value, record, column) => f(value + rows[record]![column]!)),
    first!,
  ),
  backward: (gradient) => ({ inputs: [first, ...others].map(() => gradient), parameters: [] }),
});

/** Rows that the features of each record look up, by slot. */
function pooled(run: PlainRun, width: number, slots: number, isOne: boolean, isMean: boolean): PlainResult {
  const { records, features, table, round: f } = run;
  const { offsets, rows, values, fields } = features!;
  const uses = Array.from({ length: records }, (_, record) => {
    const places = Array.from({ length: offsets[record + 1]! - offsets[record]! }, (_, at) => offsets[record]! + at);
    const known = places
      .map((at) => ({ row: rows[at]!, x: values?.[at] ?? 1, slot: isOne ? 0 : (fields?.[at] ?? 0) }))
      .filter(({ slot }) => slot < slots);
    return known.map((use) => {
      const count = known.filter(({ slot }) => slot === use.slot).length;
      return { ...use, scale: f(use.x * (isMean ? f(1 / count) : 1)) };
    });
  });
  return {
    output: uses.map((own) => {
      const output = zeros(slots * width);
      for (const { row, slot, scale } of own) {
        for (let c = 0; c < width; c++) {
          const at = slot * width + c;
          output[at] = f(output[at]! + f(scale * table[row]![c]!));
        }
      }
      return output;
    }),
    backward(gradient) {
      const ofTable = table.map(() => zeros(width));
      uses.forEach((own, record) => {
        for (const { row, slot, scale } of own) {
          for (let c = 0; c < width; c++) {
            const sum = ofTable[row]![c]!;
            ofTable[row]![c] = f(sum + f(scale * gradient[record]![slot * width + c]!));
          }
        }
      });
      return { inputs: [], parameters: [], table: ofTable };
    },
  };
}

const embedding: Plain<'embedding'> = ({ width, columns, pooling }, run) =>
  pooled(run, width, columns?.length ?? 1, columns === undefined, pooling === 'mean');

const fm: Plain<'fm'> = (_, { inputs: [x], vectorWidth, round: f }) => {
  const vectorsOf = (row: readonly number[], factor: number): number[] =>
    row.filter((_, at) => at % vectorWidth === factor);
  return {
    output: x!.map((row) => {
      const sums = [0, 0, 0, 0];
      for (let factor = 0; factor < vectorWidth; factor++) {
        const vs = vectorsOf(row, factor);
        const s = vs.reduce((sum, v) => f(sum + v), 0);
        const q = vs.reduce((sum, v) => f(sum + f(v * v)), 0);
        sums[factor % 4] = f(sums[factor % 4]! + f(f(s * s) - q));
      }
      return [f(0.5 * f(f(sums[0]! + sums[1]!) + f(sums[2]! + sums[3]!)))];
    }),
    backward: (gradient) => ({
      inputs: [
        x!.map((row, record) =>
          row.map((v, at) => {
            const s = vectorsOf(row, at % vectorWidth).reduce((sum, one) => f(sum + one), 0);
            return f(gradient[record]![0]! * f(s - v));
          }),
        ),
      ],
      parameters: [],
    }),
  };
};

export const PLAIN_LAYERS: { readonly [K in LayerKind['type']]: Plain<K> } = {
  numbers: (_, { numbers }) => ({ output: numbers, backward: () => ({ inputs: [], parameters: [] }) }),
  embedding,
  linear: (_, run) => pooled(run, 1, 1, true, false),
  dense,
  relu: activation(
    (x) => Math.max(x, 0),
    (y) => (y > 0 ? 1 : 0),
    true,
  ),
  sigmoid: activation(sigmoid, (y, f) => f(y * f(1 - y))),
  tanh: activation(tanh, (y, f) => f(1 - f(y * y))),
  layerNorm,
  batchNorm,
  dropout,
  concat,
  add,
  fm,
};

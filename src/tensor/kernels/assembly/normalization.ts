// Layer normalization (Ba, Kiros & Hinton 2016) and batch normalization (Ioffe & Szegedy 2015): a group of values is
// shifted and scaled to mean 0 and variance 1, then gain and bias are applied. The group is the row of a record, or a
// column of the mini-batch. Means, variances and what follows from them are f64, summed in order; values are f32.

/** What makes 1 / deviation finite when all values of a group are the same. */
@inline function inverseDeviation(variance: f64, epsilon: f64): f64 {
  return 1.0 / sqrt<f64>(variance + epsilon);
}

/**
 * `normalized` gets f32((x − mean) / deviation) and `inverses` f64(1 / deviation) of `groups` groups; `outputs` gets
 * normalized × gain + bias. Value i of group g is at g × groupStep + i × step bytes, and its gain and bias at the
 * number of its column, which is i of rows, g of columns.
 */
@inline function normalize(
  groups: u32,
  size: u32,
  groupStep: usize,
  step: usize,
  isRow: bool,
  epsilon: f64,
  x: usize,
  gain: usize,
  bias: usize,
  normalized: usize,
  inverses: usize,
  means: usize,
  variances: usize,
  outputs: usize,
): void {
  for (let group: u32 = 0; group < groups; group++) {
    let mean: f64 = 0;
    for (let i: u32 = 0; i < size; i++) mean += <f64>load<f32>(x + group * groupStep + i * step);
    mean /= <f64>size;
    let variance: f64 = 0;
    for (let i: u32 = 0; i < size; i++) {
      const distance = <f64>load<f32>(x + group * groupStep + i * step) - mean;
      variance += distance * distance;
    }
    variance /= <f64>size;
    if (means != 0) {
      store<f64>(means + (group << 3), mean);
      store<f64>(variances + (group << 3), variance);
    }
    const inverse = inverseDeviation(variance, epsilon);
    store<f64>(inverses + (group << 3), inverse);
    for (let i: u32 = 0; i < size; i++) {
      const at = group * groupStep + i * step;
      const column = (isRow ? i : group) << 2;
      const value = <f32>((<f64>load<f32>(x + at) - mean) * inverse);
      store<f32>(normalized + at, value);
      store<f32>(outputs + at, value * load<f32>(gain + column) + load<f32>(bias + column));
    }
  }
}

/**
 * dL/dx = (d − mean(d) − normalized × mean(d × normalized)) / deviation, with d = dL/dy × gain in f32, means over the
 * group.
 */
@inline function inputGradient(
  groups: u32,
  size: u32,
  groupStep: usize,
  step: usize,
  isRow: bool,
  gain: usize,
  normalized: usize,
  inverses: usize,
  gradient: usize,
  to: usize,
): void {
  for (let group: u32 = 0; group < groups; group++) {
    let sum: f64 = 0;
    let product: f64 = 0;
    for (let i: u32 = 0; i < size; i++) {
      const at = group * groupStep + i * step;
      const d = <f64>(load<f32>(gradient + at) * load<f32>(gain + ((isRow ? i : group) << 2)));
      sum += d;
      product += d * <f64>load<f32>(normalized + at);
    }
    sum /= <f64>size;
    product /= <f64>size;
    const inverse = load<f64>(inverses + (group << 3));
    for (let i: u32 = 0; i < size; i++) {
      const at = group * groupStep + i * step;
      const d = <f64>(load<f32>(gradient + at) * load<f32>(gain + ((isRow ? i : group) << 2)));
      store<f32>(to + at, <f32>((d - sum - <f64>load<f32>(normalized + at) * product) * inverse));
    }
  }
}

/** Gradients of gain and bias: Σ over records of dL/dy × normalized, and of dL/dy, in f32. */
export function gainGradients(
  records: u32,
  width: u32,
  normalized: usize,
  gradient: usize,
  gainGradient: usize,
  biasGradient: usize,
): void {
  memory.fill(gainGradient, 0, width << 2);
  memory.fill(biasGradient, 0, width << 2);
  for (let record: u32 = 0; record < records; record++) {
    for (let at: u32 = 0; at < width << 2; at += 4) {
      const d = load<f32>(gradient + at);
      store<f32>(gainGradient + at, load<f32>(gainGradient + at) + d * load<f32>(normalized + at));
      store<f32>(biasGradient + at, load<f32>(biasGradient + at) + d);
    }
    normalized += width << 2;
    gradient += width << 2;
  }
}

/** `inverses`: f64[records]. */
export function normalizeRows(
  records: u32,
  width: u32,
  epsilon: f64,
  x: usize,
  gain: usize,
  bias: usize,
  normalized: usize,
  inverses: usize,
  outputs: usize,
): void {
  normalize(records, width, width << 2, 4, true, epsilon, x, gain, bias, normalized, inverses, 0, 0, outputs);
}

export function rowsInputGradient(
  records: u32,
  width: u32,
  gain: usize,
  normalized: usize,
  inverses: usize,
  gradient: usize,
  to: usize,
): void {
  inputGradient(records, width, width << 2, 4, true, gain, normalized, inverses, gradient, to);
}

/** `inverses`, `means` and `variances`: f64[width]. */
export function normalizeColumns(
  records: u32,
  width: u32,
  epsilon: f64,
  x: usize,
  gain: usize,
  bias: usize,
  normalized: usize,
  inverses: usize,
  means: usize,
  variances: usize,
  outputs: usize,
): void {
  const row = <usize>width << 2;
  normalize(width, records, 4, row, false, epsilon, x, gain, bias, normalized, inverses, means, variances, outputs);
}

export function columnsInputGradient(
  records: u32,
  width: u32,
  gain: usize,
  normalized: usize,
  inverses: usize,
  gradient: usize,
  to: usize,
): void {
  inputGradient(width, records, 4, width << 2, false, gain, normalized, inverses, gradient, to);
}

/** −statistic, as f32: what moves a running statistic towards that of the mini-batch. */
export function statisticGradient(count: u32, statistics: usize, to: usize): void {
  for (let i: u32 = 0; i < count; i++) store<f32>(to + (i << 2), <f32>-load<f64>(statistics + (i << 3)));
}

/**
 * With running statistics, f32[width], of which the share `seen` is there: (x − mean / seen) / deviation × gain + bias.
 * Nothing was seen before the first push: mean 0, variance 1.
 */
export function normalizeByStatistics(
  records: u32,
  width: u32,
  epsilon: f64,
  x: usize,
  gain: usize,
  bias: usize,
  means: usize,
  variances: usize,
  seen: usize,
  outputs: usize,
): void {
  const share = <f64>load<f32>(seen);
  for (let record: u32 = 0; record < records; record++) {
    for (let at: u32 = 0; at < width << 2; at += 4) {
      const mean = share > 0 ? <f64>load<f32>(means + at) / share : 0;
      const variance = share > 0 ? <f64>load<f32>(variances + at) / share : 1;
      const value = <f32>((<f64>load<f32>(x + at) - mean) * inverseDeviation(variance, epsilon));
      store<f32>(outputs + at, value * load<f32>(gain + at) + load<f32>(bias + at));
    }
    x += width << 2;
    outputs += width << 2;
  }
}

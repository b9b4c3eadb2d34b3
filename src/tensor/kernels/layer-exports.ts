/**
 * What kernels of layers export: `assembly/product.ts`, `elementwise.ts` and others there describe them. Arrays of
 * records are one row behind the other.
 */
interface ProductExports {
  denseScratch(records: number, width: number, units: number): number;
  denseOutputs(
    records: number,
    width: number,
    units: number,
    inputs: number,
    weights: number,
    outputs: number,
    scratch: number,
  ): void;
  denseInputGradient(
    records: number,
    width: number,
    units: number,
    gradient: number,
    weights: number,
    inputGradient: number,
    scratch: number,
  ): void;
  denseWeightGradient(
    records: number,
    width: number,
    units: number,
    inputs: number,
    gradient: number,
    weightGradient: number,
    scratch: number,
  ): void;
}

interface ElementwiseExports {
  addBias(records: number, width: number, values: number, bias: number): void;
  sumRecords(records: number, width: number, values: number, to: number): void;
  addValues(count: number, values: number, others: number): void;
  fillValues(count: number, value: number, to: number): void;
  multiplyValues(count: number, a: number, b: number, to: number): void;
  copyColumns(rows: number, width: number, from: number, fromRow: number, to: number, toRow: number): void;
  unitsOfBytes(count: number, bytes: number, to: number): void;
  relu(count: number, x: number, to: number): void;
  reluGradient(count: number, y: number, gradient: number, to: number): void;
  sigmoids(count: number, x: number, to: number): void;
  sigmoidGradient(count: number, y: number, gradient: number, to: number): void;
  tanhs(count: number, x: number, to: number): void;
  tanhGradient(count: number, y: number, gradient: number, to: number): void;
  drawMultipliers(
    count: number,
    threshold: number,
    scale: number,
    keyLow: number,
    keyHigh: number,
    batch: number,
    task: number,
    pass: number,
    to: number,
  ): void;
}

interface NormalizationExports {
  normalizeRows(
    records: number,
    width: number,
    epsilon: number,
    x: number,
    gain: number,
    bias: number,
    normalized: number,
    inverses: number,
    outputs: number,
  ): void;
  rowsInputGradient(
    records: number,
    width: number,
    gain: number,
    normalized: number,
    inverses: number,
    gradient: number,
    to: number,
  ): void;
  normalizeColumns(
    records: number,
    width: number,
    epsilon: number,
    x: number,
    gain: number,
    bias: number,
    normalized: number,
    inverses: number,
    means: number,
    variances: number,
    outputs: number,
  ): void;
  columnsInputGradient(
    records: number,
    width: number,
    gain: number,
    normalized: number,
    inverses: number,
    gradient: number,
    to: number,
  ): void;
  gainGradients(
    records: number,
    width: number,
    normalized: number,
    gradient: number,
    gainGradient: number,
    biasGradient: number,
  ): void;
  statisticGradient(count: number, statistics: number, to: number): void;
  normalizeByStatistics(
    records: number,
    width: number,
    epsilon: number,
    x: number,
    gain: number,
    bias: number,
    means: number,
    variances: number,
    seen: number,
    outputs: number,
  ): void;
}

interface EmbeddingExports {
  poolRows(
    records: number,
    offsets: number,
    rows: number,
    values: number,
    fields: number,
    table: number,
    width: number,
    slots: number,
    isMean: boolean,
    shares: number,
    outputs: number,
  ): void;
  poolGradient(
    records: number,
    offsets: number,
    rows: number,
    values: number,
    fields: number,
    distinct: number,
    width: number,
    slots: number,
    isMean: boolean,
    shares: number,
    gradient: number,
    to: number,
  ): void;
  pairInteractions(records: number, count: number, factors: number, vectors: number, outputs: number): void;
  pairGradient(records: number, count: number, factors: number, vectors: number, gradient: number, to: number): void;
}

/** An address of 0 for `weights` says that all are 1; for slopes and scores, that none are wanted. */
interface LossExports {
  lossOfOutputs(
    records: number,
    outputs: number,
    labels: number,
    weights: number,
    isBinary: boolean,
    slopes: number,
    scores: number,
    sums: number,
  ): void;
  lossOfClasses(
    records: number,
    classes: number,
    logits: number,
    labels: number,
    weights: number,
    powers: number,
    slopes: number,
    scores: number,
    sums: number,
  ): void;
  probabilitiesOfClasses(records: number, classes: number, logits: number, powers: number, probabilities: number): void;
}

export interface LayerExports
  extends ProductExports,
    ElementwiseExports,
    NormalizationExports,
    EmbeddingExports,
    LossExports {}

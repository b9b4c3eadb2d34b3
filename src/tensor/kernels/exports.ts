import type { LayerExports } from './layer-exports.ts';

/**
 * What `assembly/index.ts` exports. Addresses are byte offsets into kernel memory; those that come back are signed, so
 * read them with `>>> 0`. 64-bit integers are bigints, so only calls made once a table, block or push take them.
 */
export interface MathExports {
  exp(x: number): number;
  log(x: number): number;
  log1p(x: number): number;
  pow(x: number, y: number): number;
  sin(x: number): number;
  cos(x: number): number;
  tanh(x: number): number;
  sigmoid(x: number): number;
}

export interface MemoryExports {
  allocate(byteLength: number): number;
  deallocate(address: number): void;
  allocatedBytes(): number;
  firstNotFinite(floats: number, count: number): number;
  dropTiny(count: number, floats: number): void;
}

export interface InitializerExports {
  philox(out: number, key: bigint, c0: number, c1: number, c2: number, c3: number): void;
  fillRow(out: number, width: number, kind: number, a: number, b: number, key: bigint, id: bigint): void;
  fillDense(out: number, count: number, kind: number, a: number, b: number, key: bigint, element: number): void;
}

export interface OptimizerExports {
  createSgd(rate: number, l2: number): number;
  createMomentum(rate: number, momentum: number, l2: number): number;
  createAdagrad(rate: number, initialAccumulator: number, epsilon: number, l2: number): number;
  createAdam(rate: number, beta1: number, beta2: number, epsilon: number, l2: number): number;
  createAdamw(rate: number, beta1: number, beta2: number, epsilon: number, weightDecay: number): number;
  createFtrl(alpha: number, beta: number, lambda1: number, lambda2: number): number;
  createCounter(): number;
  scaleRate(optimizer: number, scale: number): void;
  startSlots(optimizer: number, values: number, count: number): void;
  update(optimizer: number, values: number, gradients: number, count: number, step: number): void;
}

export interface TableExports {
  createTable(
    hash: bigint,
    key: bigint,
    multiplier: bigint,
    kind: number,
    a: number,
    b: number,
    width: number,
    shards: number,
    optimizer: number,
    hasSeen: number,
  ): number;
  addPart(table: number, shard: number): number;
  partAt(table: number, shard: number): number;
  dropPart(table: number, shard: number): void;
  partRows(part: number): number;
  partBytes(part: number): number;
  reservePending(): number;
  forgetPending(): void;
  collectIds(part: number, from: number, out: number, room: number, least: number, most: number): number;
  collectedIds(): number;
  pullRows(table: number, ids: number, count: number, out: number, found: number): number;
  checkShards(table: number, ids: number, count: number, actions: number): number;
  locateRows(table: number, ids: number, count: number, actions: number, located: number, expects: boolean): number;
  recallRows(table: number, ids: number, count: number, found: number, located: number, expects: boolean): number;
  areSameIds(a: number, b: number, count: number): number;
  filterBytes(count: number): number;
  mayRepeat(table: number, ids: number, count: number, places: number, filter: number): number;
  repeatSetBytes(count: number): number;
  firstRepeated(ids: number, places: number, count: number, set: number, multiplier: bigint): number;
  applyRows(table: number, ids: number, count: number, gradients: number, located: number, old: number): void;
  markSeen(table: number, ids: number, count: number, located: number, seen: number): void;
  removeRows(part: number, ids: number, count: number): number;
  removeUnseen(part: number, most: number): number;
  sumSeen(part: number, from: number, to: number, shift: number, each: number, sums: number): void;
  lowerSeen(part: number, by: number): void;
  addLocated(table: number, ids: number, count: number, located: number): void;
  expectAscending(part: number, shard: number, ids: number, count: number, last: bigint, isFirst: number): number;
  addAscending(part: number, ids: number, count: number, fields: number): void;
  readField(located: number, count: number, offset: number, byteLength: number, out: number): void;
  writeField(located: number, count: number, offset: number, byteLength: number, from: number): void;
}

/** Tables that do not give a row to each id (assembly/admission.ts). */
export interface AdmissionExports {
  judgeRows(
    table: number,
    candidates: number,
    min: number,
    chances: bigint,
    key: bigint,
    draw: number,
    ids: number,
    count: number,
    located: number,
    fates: number,
    places: number,
    tallies: number,
  ): void;
  listNew(table: number, shard: number, ids: number, count: number, fates: number, out: number): number;
  expectAdmitted(table: number, candidates: number, ids: number, count: number, fates: number, located: number): void;
  markCandidates(candidates: number, ids: number, count: number, places: number, seen: number): void;
  countCandidates(candidates: number, ids: number, count: number, fates: number, places: number, seen: number): void;
  initialOld(table: number, ids: number, count: number, fates: number, old: number): void;
}

export interface RouterExports {
  dedupe(
    ids: number,
    count: number,
    distinct: number,
    known: number,
    places: number,
    index: number,
    size: number,
    multiplier: bigint,
  ): number;
  countOwners(
    hash: bigint,
    shards: number,
    ids: number,
    count: number,
    placement: number,
    owners: number,
    counts: number,
  ): number;
  deal(ids: number, count: number, owners: number, next: number, positions: number, dealt: number): void;
}

export interface GatherExports {
  gatherRows(from: number, positions: number, n: number, width: number, to: number): void;
  scatterRows(from: number, positions: number, n: number, width: number, to: number): void;
}

export interface FoldExports {
  addRows(sums: number, places: number, n: number, width: number, rows: number, weight: number): void;
  addFloats(sums: number, floats: number, count: number, weight: number): void;
  divideFloats(floats: number, count: number, divisor: number): void;
  putFresh(places: number, n: number, known: number, list: number, to: number): void;
}

/** An address of 0 for `values` or `weights` says that all are 1; for gradients and scores, that none are wanted. */
export interface ModelExports {
  isBatch(records: number, offsets: number, rows: number, features: number, distinct: number): number;
  stepLinear(
    records: number,
    offsets: number,
    rows: number,
    values: number,
    labels: number,
    weights: number,
    distinct: number,
    isBinary: boolean,
    bias: number,
    w: number,
    gradient: number,
    scores: number,
    sums: number,
  ): void;
  stepFactors(
    records: number,
    offsets: number,
    rows: number,
    values: number,
    labels: number,
    weights: number,
    distinct: number,
    isBinary: boolean,
    bias: number,
    w: number,
    v: number,
    factors: number,
    totals: number,
    gradientW: number,
    gradientV: number,
    scores: number,
    sums: number,
  ): void;
  stepFields(
    records: number,
    offsets: number,
    rows: number,
    values: number,
    fieldOf: number,
    labels: number,
    weights: number,
    distinct: number,
    isBinary: boolean,
    isNormalized: boolean,
    bias: number,
    w: number,
    v: number,
    fields: number,
    factors: number,
    xs: number,
    gradientW: number,
    gradientV: number,
    scores: number,
    sums: number,
  ): void;
  softmaxScratch(scratch: number, width: number, classes: number): number;
  stepSoftmax(
    records: number,
    inputs: number,
    inputBytes: number,
    labels: number,
    weights: number,
    width: number,
    classes: number,
    w: number,
    b: number,
    gradientW: number,
    gradientB: number,
    scores: number,
    sums: number,
    scratch: number,
  ): void;
  predictSoftmax(
    records: number,
    inputs: number,
    inputBytes: number,
    width: number,
    classes: number,
    w: number,
    b: number,
    probabilities: number,
    scratch: number,
  ): void;
}

export interface KernelExports
  extends MathExports,
    MemoryExports,
    InitializerExports,
    OptimizerExports,
    TableExports,
    AdmissionExports,
    RouterExports,
    GatherExports,
    FoldExports,
    ModelExports,
    LayerExports {}

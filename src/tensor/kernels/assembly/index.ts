export { exp, log, log1p, pow, sin, cos, tanh, sigmoid } from './math';
export { allocate, deallocate, allocatedBytes } from './memory';
export { philox } from './philox';
export { fillRow, fillDense } from './initializer';
export { firstNotFinite } from './scan';
export { dropTiny } from './tiny';
export {
  createSgd,
  createMomentum,
  createAdagrad,
  createAdam,
  createAdamw,
  createFtrl,
  createCounter,
  scaleRate,
} from './optimizer-descriptor';
export { startSlots, update } from './optimizer';
export {
  createTable,
  addPart,
  partAt,
  dropPart,
  partRows,
  partBytes,
  collectIds,
  collectedIds,
} from './table';
export { reservePending, forgetPending } from './table-growth';
export { removeRows, removeUnseen, sumSeen, lowerSeen } from './removal';
export { judgeRows, listNew, expectAdmitted, markCandidates, countCandidates, initialOld } from './admission';
export { expectAscending, addAscending } from './import';
export { filterBytes, mayRepeat, repeatSetBytes, firstRepeated } from './repeated';
export {
  pullRows,
  checkShards,
  locateRows,
  recallRows,
  areSameIds,
  applyRows,
  markSeen,
  addLocated,
  readField,
  writeField,
} from './rows';
export { dedupe, countOwners, deal } from './router';
export { addRows, addFloats, divideFloats, putFresh } from './fold';
export { gatherRows, scatterRows } from './gather';
export { isBatch } from './sparse-batch';
export { stepLinear } from './linear-model';
export { stepFactors } from './factorization-machine';
export { stepFields } from './field-aware-machine';
export { predictSoftmax, stepSoftmax, softmaxScratch } from './softmax-model';
export { denseScratch, denseOutputs, denseInputGradient, denseWeightGradient } from './product';
export {
  addBias,
  sumRecords,
  addValues,
  fillValues,
  multiplyValues,
  copyColumns,
  unitsOfBytes,
  relu,
  reluGradient,
  sigmoids,
  sigmoidGradient,
  tanhs,
  tanhGradient,
} from './elementwise';
export { drawMultipliers } from './dropout';
export {
  normalizeRows,
  rowsInputGradient,
  normalizeColumns,
  columnsInputGradient,
  gainGradients,
  statisticGradient,
  normalizeByStatistics,
} from './normalization';
export { poolRows, poolGradient } from './embedding';
export { pairInteractions, pairGradient } from './pair-interactions';
export { lossOfClasses, probabilitiesOfClasses } from './class-loss';
export { lossOfOutputs } from './output-loss';

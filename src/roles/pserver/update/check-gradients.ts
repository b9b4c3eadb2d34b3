/** Whether gradients fit the model in number and size: what a primary has checked of a push, and forwards. */
import { PaddletError } from '../../../base/errors.ts';
import { blockCount, blockLength } from '../../../tensor/blocks.ts';
import type { DensePart, RoundGradients, SparsePart } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';

const ID_BYTES = 8;
const FLOAT_BYTES = 4;

/** Throws `BadMessage`. */
export function checkGradients(spec: ParameterSpec, { dense, sparse }: RoundGradients): void {
  checkOnce(dense.map(({ parameter }) => parameter));
  checkOnce(sparse.map(({ table }) => table));
  for (const part of dense) checkBlocks(spec, part);
  for (const part of sparse) checkRows(spec, part);
}

function checkOnce(numbers: readonly number[]): void {
  if (new Set(numbers).size < numbers.length) throw bad('a parameter or table comes twice');
}

function checkBlocks({ dense }: ParameterSpec, { parameter, blocks, gradients }: DensePart): void {
  const spec = dense[parameter];
  if (spec === undefined) throw bad(`dense parameter ${parameter}: the model does not have it`);
  const count = blockCount(spec);
  let floats = 0;
  let previous = -1;
  for (const block of blocks) {
    if (block >= count || block <= previous) throw bad(`${spec.name}: block ${block} is not the next of ${count}`);
    floats += blockLength(spec, block);
    previous = block;
  }
  checkSize(spec.name, gradients, floats);
}

function checkRows({ sparse }: ParameterSpec, { table, ids, gradients }: SparsePart): void {
  const spec = sparse[table];
  if (spec === undefined) throw bad(`table ${table}: the model does not have it`);
  checkSize(spec.name, gradients, (ids.byteLength / ID_BYTES) * spec.width);
}

function checkSize(name: string, { byteLength }: Uint8Array, floats: number): void {
  if (byteLength === FLOAT_BYTES * floats) return;
  throw bad(`${name}: ${byteLength} bytes of gradients, ${FLOAT_BYTES * floats} expected`);
}

const bad = (what: string): PaddletError => new PaddletError('BadMessage', what);

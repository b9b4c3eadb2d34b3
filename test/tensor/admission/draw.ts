/** The draws of `probability`, as docs/decisions/0168 defines them, in exact integer arithmetic. */
import { mix64 } from '../../../src/base/mix64.ts';
import { fnv1a64 } from '../../../src/tensor/shard-hash.ts';
import type { UpdateName } from '../../endless/rules.ts';
import { philoxReference } from '../reference.ts';

const low = (x: bigint): number => Number(x & 0xffff_ffffn);
const high = (x: bigint): number => Number(x >> 32n);

/** Returns a number in [0, 1) for an id that an update names. */
export function drawOf(table: { readonly name: string; readonly seed: number }, id: bigint, name: UpdateName): number {
  const place = 'round' in name ? BigInt(name.round) : (BigInt(name.pass) << 32n) | BigInt(name.task);
  const tableKey = mix64(fnv1a64(table.name) ^ mix64(BigInt(table.seed)));
  const key = mix64(tableKey ^ mix64(place));
  const word = 'round' in name ? 0 : name.push;
  return philoxReference([low(id), high(id), word, 3], [low(key), high(key)])[0]! / 2 ** 32;
}

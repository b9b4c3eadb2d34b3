/** Which builder gathers the values of a column. */
import { Booleans, NumberBuilder } from './numbers.ts';
import type { Leaf } from './schema.ts';
import { SpanBuilder } from './spans.ts';
import type { ValueBuilder } from './values.ts';

/** `capacity`: in values; `bytes`: in bytes of all pages that have some. */
export function builderFor(leaf: Leaf, capacity: number, bytes: number): ValueBuilder {
  const { physical } = leaf;
  if (physical === 'BOOLEAN') return new Booleans(capacity);
  if (physical === 'BYTE_ARRAY') return new SpanBuilder(leaf, undefined, capacity, bytes);
  if (physical === 'FIXED_LEN_BYTE_ARRAY') return new SpanBuilder(leaf, leaf.width, capacity, bytes);
  if (physical === 'INT96') return new SpanBuilder(leaf, INT96_BYTES, capacity, bytes);
  const width = physical === 'INT32' || physical === 'FLOAT' ? 4 : 8;
  return new NumberBuilder(leaf, width, capacity);
}

const INT96_BYTES = 12;

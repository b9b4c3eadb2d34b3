/** Records that are read forwards, each as something to compare. */

import { openForward } from '../../../src/data/bytes/packings/unpack.ts';
import { FORWARD_HEAD_BYTES, type ForwardOptions } from '../../../src/data/formats/format.ts';
import type { DataFormat } from '../../../src/data/formats/registry.ts';
import { formatOf } from '../../../src/data/formats/registry.ts';
import type { TaskRecords } from '../../../src/data/source.ts';
import type { Batch, SparseInput } from '../../../src/model/model.ts';

export type How = Partial<ForwardOptions>;

export interface ReadForward {
  readonly kept: readonly string[];
  /** Features by id, or inputs; or why it is bad, with line and offset. */
  readonly records: readonly unknown[];
  readonly texts: readonly (readonly string[])[];
  readonly groups: readonly number[];
}

export async function readForward(format: DataFormat, bytes: Uint8Array | string, how: How = {}): Promise<ReadForward> {
  const source = await openForward('in', one(Buffer.from(bytes)));
  const options = { file: 'in', batchSize: 5, inputWidth: 0, mayHaveWeight: false, fields: undefined, keep: [] };
  const head = await source.peek(FORWARD_HEAD_BYTES);
  const isWhole = head.length < FORWARD_HEAD_BYTES;
  const reader = formatOf(format).openForward!({ bytes: head, isWhole }, { ...options, columns: undefined, ...how });
  const { kept } = reader;
  const records: unknown[] = [];
  const texts: (readonly string[])[] = [];
  const sizes: number[] = [];
  for await (const part of reader.parts(source)) {
    for (const group of reader.read(part)) {
      records.push(...contentOf(group.records));
      texts.push(...(group.kept ?? []));
      sizes.push(group.records.records);
    }
  }
  return { kept, records, texts, groups: sizes };
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export function contentOf(records: TaskRecords): unknown[] {
  const bad = records.bad.values();
  return Array.from({ length: records.records }, (_, at) => {
    if (records.goodBefore(at) === records.goodBefore(at + 1)) {
      const { line, byteOffset, reason } = bad.next().value!;
      return { line, byteOffset, reason };
    }
    return featuresOf(records.pick(Uint32Array.of(at)));
  });
}

/** Of one input, what it has; of several, that of each. */
function featuresOf({ sparse, dense }: Batch): unknown {
  const all = [...sparse.map(featuresOfInput), ...dense.map(({ values }) => [...values])];
  return all.length === 1 ? all[0] : all;
}

function featuresOfInput({ rows, values, fields, ...input }: SparseInput): string[] {
  const ids = new BigUint64Array(input.ids.slice(0, 8 * input.count).buffer);
  return Array.from(rows, (place, at) => `${fields ? `${fields[at]}:` : ''}${ids[place]}:${values?.[at] ?? 1}`);
}

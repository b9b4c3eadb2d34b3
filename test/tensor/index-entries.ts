/** The index of a part as it is in kernel memory (src/tensor/kernels/assembly/table-layout.ts). */

export interface IndexEntry {
  readonly position: number;
  /** Address of the row. */
  readonly row: number;
  readonly id: bigint;
}

export function indexEntries(buffer: ArrayBufferLike, part: number): IndexEntry[] {
  const words = new DataView(buffer);
  const [index, shift] = [words.getUint32(part, true), words.getUint32(part + 4, true)];
  return Array.from({ length: 2 ** (64 - shift) }, (_, position) => position).flatMap((position) => {
    const row = words.getUint32(index + 4 * position, true) & ~7;
    return row === 0 ? [] : [{ position, row, id: words.getBigUint64(row, true) }];
  });
}

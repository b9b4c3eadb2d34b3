/** Maps as CBOR has them: ordinary objects. */
export type PlainMap = Readonly<Record<string, unknown>>;

export const isPlainMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** How many keys it has. */
export function sizeOf(map: PlainMap): number {
  let size = 0;
  for (const _ in map) size++;
  return size;
}

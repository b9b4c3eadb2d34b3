/**
 * Checksums of a whole Parquet file, in the metadata of its footer. CRCs of pages cover neither the headers of pages
 * nor the footer, where one changed byte can give a value another meaning.
 */
import { crc32 } from 'node:zlib';
import { Fault } from './fault.ts';

interface KeyValue {
  readonly key: string;
  readonly value?: string;
}

/** The value: CRC-32 of the footer, then of each column chunk, group by group, as hexadecimal digits. */
const KEY = 'paddlet.crc32';
const DIGITS = 8;
/** The digits of the footer's own checksum while that is computed. */
const UNSEALED = '0'.repeat(DIGITS);

const hexOf = (crc: number): string => crc.toString(16).padStart(DIGITS, '0');

export const checksumEntry = (chunks: readonly number[]): { key: string; value: string } => ({
  key: KEY,
  value: UNSEALED + chunks.map(hexOf).join(''),
});

/** Writes the footer's checksum into `footer`, which has the value of `checksumEntry`. */
export function sealFooter(footer: Buffer, value: string): void {
  footer.write(hexOf(crc32(footer)), footer.lastIndexOf(value, undefined, 'latin1'), 'latin1');
}

/** The checksum of each of `count` chunks; undefined if the file has none. Throws a `Fault`. */
export function checkedChunks(
  footer: Uint8Array,
  entries: readonly KeyValue[],
  count: number,
): readonly number[] | undefined {
  const entry = entries.find(({ key }) => key === KEY);
  if (entry === undefined) return undefined;
  const digits = entry.value ?? '';
  if (digits.length !== DIGITS * (count + 1)) throw new Fault(`it needs ${count + 1} checksums in ${KEY}`);
  const sums = Array.from({ length: count + 1 }, (_, at) => digits.slice(DIGITS * at, DIGITS * (at + 1)));
  const unsealed = Buffer.from(footer);
  const place = unsealed.lastIndexOf(digits, undefined, 'latin1');
  // Bytes that are not ASCII become other characters: the digits are not found.
  if (place >= 0) unsealed.write(UNSEALED, place, 'latin1');
  if (place < 0 || hexOf(crc32(unsealed)) !== sums[0]) throw new Fault('its checksum differs');
  return sums.slice(1).map((sum) => Number.parseInt(sum, 16));
}

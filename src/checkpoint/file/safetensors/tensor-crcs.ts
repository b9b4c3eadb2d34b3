/** The CRC-32 of each tensor as the metadata of a file list them: JSON of eight hexadecimal digits by name. */
import * as z from 'zod';

export const TENSOR_CRCS = 'tensorCrc32';

/** The length of the text depends on the names alone. */
export const tensorCrcsText = (crcs: ReadonlyMap<string, number>): string =>
  JSON.stringify(Object.fromEntries([...crcs].map(([name, crc]) => [name, crc.toString(16).padStart(8, '0')])));

export const tensorCrcsSchema = z.record(
  z.string(),
  z
    .string()
    .regex(/^[0-9a-f]{8}$/)
    .transform((digits) => Number.parseInt(digits, 16)),
);

/** Files that must be unpacked or converted before they can be read, recognized by their magic numbers alone. Pure. */
import { PaddletError } from '../../base/errors.ts';

export interface Appearance {
  /** Follows "it looks like". */
  readonly what: string;
  /** What to do about it. */
  readonly hint: string;
}

export const EXPECTED = 'a libsvm record is a line "label id:value id:value …"';
export const convert = (from: string): string => `convert it: ${EXPECTED}; data.format does not support ${from}`;

const PACK_AS_GZIP = 'decompress it, or compress it with gzip or zstd, which paddlet reads directly';
const ZIP: Appearance = { what: 'a zip archive', hint: PACK_AS_GZIP };
const BZIP2: Appearance = { what: 'a bzip2 file', hint: PACK_AS_GZIP };
const TAR: Appearance = { what: 'a tar archive', hint: 'unpack it, and give the path of the folder' };

const PARQUET: Appearance = {
  what: 'a Parquet file',
  hint: 'set data.format to parquet (predict: --format parquet); `paddlet init` writes a job for it',
};

/** Each is so long, or has bytes that text never has, that no text begins with it. */
const MAGIC: readonly (readonly [magic: string, appearance: Appearance])[] = [
  ['PAR1\x15', PARQUET],
  ['PK\x03\x04', ZIP],
  ['PK\x05\x06', ZIP],
  ['\xfd7zXZ\0', { what: 'an xz file', hint: PACK_AS_GZIP }],
  // The first block; or the end, in a file without any.
  ...[...'123456789'].flatMap((level) =>
    ['1AY&SY', '\x17rE8P\x90'].map((begins): [string, Appearance] => [`BZh${level}${begins}`, BZIP2]),
  ),
];

/** The header of the first file in a tar archive. */
const TAR_BYTES = 512;
const CHECKSUM = { from: 148, to: 156 };
/** Has `ustar`, except in old archives. */
const TAR_MAGIC = 257;
/** Bytes 500 to 511 are unused in each kind of header. */
const UNUSED = 500;

/** More than the magic numbers of packed files need. */
export const LOOK_BYTES = 1 << 12;

/** `bytes`: the first of the (decompressed) content. */
export function packedAs(bytes: Uint8Array): Appearance | undefined {
  const text = Buffer.from(bytes.subarray(0, TAR_BYTES)).toString('latin1');
  const found = MAGIC.find(([magic]) => text.startsWith(magic))?.[1];
  return found ?? (isTar(text) ? TAR : undefined);
}

export const isParquet = (bytes: Uint8Array): boolean => packedAs(bytes) === PARQUET;

/** Throws `DataInvalid`. `takesParquet`: a Parquet file is what is expected. */
export function refusePacked(path: string, bytes: Uint8Array, takesParquet = false): void {
  const packed = packedAs(bytes);
  if (packed === undefined || (takesParquet && packed === PARQUET)) return;
  throw new PaddletError('DataInvalid', `${path} is ${packed.what}`, { hint: packed.hint });
}

/** It has NULs, as no text has. */
function isTar(header: string): boolean {
  if (header.startsWith('ustar', TAR_MAGIC)) return header.slice(0, TAR_MAGIC).includes('\0');
  const isOld = header[0] !== '\0' && header.slice(UNUSED) === '\0'.repeat(TAR_BYTES - UNUSED);
  return isOld && hasChecksum(header);
}

/** The sum of all bytes, those of the sum itself taken as spaces, is in the header in octal digits. */
function hasChecksum(header: string): boolean {
  const written = /^ *([0-7]+)/.exec(header.slice(CHECKSUM.from, CHECKSUM.to))?.[1];
  if (written === undefined) return false;
  const others = header.slice(0, CHECKSUM.from) + ' '.repeat(CHECKSUM.to - CHECKSUM.from) + header.slice(CHECKSUM.to);
  const sum = Array.from(others, (character) => character.charCodeAt(0)).reduce((all, byte) => all + byte, 0);
  return sum === Number.parseInt(written, 8);
}

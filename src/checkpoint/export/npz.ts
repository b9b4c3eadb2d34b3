/**
 * An exported model as .npz: a zip archive (APPNOTE.TXT 6.3.9) with stored members, each an array in NumPy's .npy
 * format 1.0 (numpy.lib.format). Sizes are known beforehand, so members have their places and grow side by side; only
 * their CRC-32 is filled in last. Zip64 throughout: members and archive may exceed 4 GiB.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../../base/assert.ts';
import type { DiskFile } from '../../base/seams.ts';
import { type ColumnSink, columnBytes, type ExportColumn } from './export.ts';

const DESCR = { U64: '<u8', F32: '<f4', U32: '<u4' } as const;
const NPY_ALIGN = 64;
const ZIP64_VERSION = 45;
/** 1 January 1980, 0:00: the archive depends on its content only. */
const DOS_DATE = 0x21;
const UTF8_NAME = 0x800;
const IN_ZIP64 = 0xffff_ffff;

interface Member {
  readonly name: Buffer;
  /** Offset of the local header. */
  readonly start: number;
  /** Bytes of the member's content. */
  readonly size: number;
  readonly dataStart: number;
  next: number;
  crc: number;
}

/** A name that leads out of the folder when unpacked is written otherwise. */
const memberName = (name: string): string =>
  name.replaceAll(/(^|\/)\.\.?(?=\/|$)/g, (dots) => dots.replaceAll('.', '%2E'));

export function npyHeader({ dtype, shape }: ExportColumn): Buffer {
  const dimensions = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const dictionary = `{'descr': '${DESCR[dtype]}', 'fortran_order': False, 'shape': (${dimensions}), }`;
  const fixed = 10;
  const length = Math.ceil((fixed + dictionary.length + 1) / NPY_ALIGN) * NPY_ALIGN - fixed;
  const header = Buffer.alloc(fixed + length, ' ');
  header.write('\x93NUMPY\x01\x00', 0, 'latin1');
  header.writeUInt16LE(length, 8);
  header.write(dictionary, fixed, 'latin1');
  header.write('\n', fixed + length - 1, 'latin1');
  return header;
}

export async function createNpzSink(
  file: DiskFile,
  columns: readonly ExportColumn[],
  metadata: Readonly<Record<string, string>>,
): Promise<ColumnSink> {
  const members = new Map<ExportColumn, Member>();
  let end = 0;
  const place = async (name: string, head: Uint8Array, bodyBytes: number): Promise<Member> => {
    const bytes = Buffer.from(name);
    const dataStart = end + LOCAL_BYTES + bytes.length + ZIP64_LOCAL_BYTES;
    const size = head.length + bodyBytes;
    const member = { name: bytes, start: end, size, dataStart, next: dataStart + head.length, crc: crc32(head) };
    await file.write(head, dataStart);
    end = dataStart + size;
    return member;
  };
  const about = await place('paddlet.json', Buffer.from(JSON.stringify(metadata)), 0);
  for (const column of columns) {
    members.set(column, await place(`${memberName(column.name)}.npy`, npyHeader(column), columnBytes(column)));
  }
  return {
    async write(column, data) {
      const member = members.get(column);
      assert(member !== undefined && member.next + data.length <= member.dataStart + member.size, 'there is room');
      await file.write(data, member.next);
      member.next += data.length;
      member.crc = crc32(data, member.crc);
    },
    async finish() {
      const all = [about, ...members.values()];
      for (const member of all) {
        assert(member.next === member.dataStart + member.size, `${member.name} is whole`);
        await file.write(localHeader(member), member.start);
      }
      const directory = Buffer.concat(all.map(centralHeader));
      await file.write(Buffer.concat([directory, endRecords(all.length, end, directory.length)]), end);
    },
  };
}

const LOCAL_BYTES = 30;
const ZIP64_LOCAL_BYTES = 20;
const CENTRAL_BYTES = 46;
const ZIP64_CENTRAL_BYTES = 28;

function localHeader({ name, size, crc }: Member): Buffer {
  const header = Buffer.alloc(LOCAL_BYTES + name.length + ZIP64_LOCAL_BYTES);
  header.writeUInt32LE(0x0403_4b50, 0);
  header.writeUInt16LE(ZIP64_VERSION, 4);
  header.writeUInt16LE(UTF8_NAME, 6);
  header.writeUInt16LE(DOS_DATE, 12);
  header.writeUInt32LE(crc, 14);
  header.writeUInt32LE(IN_ZIP64, 18);
  header.writeUInt32LE(IN_ZIP64, 22);
  header.writeUInt16LE(name.length, 26);
  header.writeUInt16LE(ZIP64_LOCAL_BYTES, 28);
  name.copy(header, LOCAL_BYTES);
  writeZip64(header, LOCAL_BYTES + name.length, [size, size]);
  return header;
}

function centralHeader({ name, size, crc, start }: Member): Buffer {
  const header = Buffer.alloc(CENTRAL_BYTES + name.length + ZIP64_CENTRAL_BYTES);
  header.writeUInt32LE(0x0201_4b50, 0);
  header.writeUInt16LE(ZIP64_VERSION, 4);
  header.writeUInt16LE(ZIP64_VERSION, 6);
  header.writeUInt16LE(UTF8_NAME, 8);
  header.writeUInt16LE(DOS_DATE, 14);
  header.writeUInt32LE(crc, 16);
  header.writeUInt32LE(IN_ZIP64, 20);
  header.writeUInt32LE(IN_ZIP64, 24);
  header.writeUInt16LE(name.length, 28);
  header.writeUInt16LE(ZIP64_CENTRAL_BYTES, 30);
  header.writeUInt32LE(IN_ZIP64, 42);
  name.copy(header, CENTRAL_BYTES);
  writeZip64(header, CENTRAL_BYTES + name.length, [size, size, start]);
  return header;
}

/** Extended information: what the fixed fields have no room for. */
function writeZip64(header: Buffer, at: number, values: readonly number[]): void {
  header.writeUInt16LE(1, at);
  header.writeUInt16LE(8 * values.length, at + 2);
  for (const [place, value] of values.entries()) header.writeBigUInt64LE(BigInt(value), at + 4 + 8 * place);
}

function endRecords(count: number, directoryStart: number, directoryBytes: number): Buffer {
  const records = Buffer.alloc(56 + 20 + 22);
  records.writeUInt32LE(0x0606_4b50, 0);
  records.writeBigUInt64LE(44n, 4);
  records.writeUInt16LE(ZIP64_VERSION, 12);
  records.writeUInt16LE(ZIP64_VERSION, 14);
  records.writeBigUInt64LE(BigInt(count), 24);
  records.writeBigUInt64LE(BigInt(count), 32);
  records.writeBigUInt64LE(BigInt(directoryBytes), 40);
  records.writeBigUInt64LE(BigInt(directoryStart), 48);
  records.writeUInt32LE(0x0706_4b50, 56);
  records.writeBigUInt64LE(BigInt(directoryStart + directoryBytes), 64);
  records.writeUInt32LE(1, 72);
  records.writeUInt32LE(0x0605_4b50, 76);
  records.writeUInt16LE(0xffff, 84);
  records.writeUInt16LE(0xffff, 86);
  records.writeUInt32LE(IN_ZIP64, 88);
  records.writeUInt32LE(IN_ZIP64, 92);
  return records;
}

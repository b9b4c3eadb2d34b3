/**
 * Cuts the records of the files, in order, into chunks: at every `recordsPerTask` records counted over all files, at
 * the end of each file, and before a chunk would pass CHUNK_BYTES. So no chunk spans two tasks, a task is whole chunks,
 * and a reader knows beforehand that a chunk fits into memory.
 */
import { crc32 } from 'node:zlib';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Chunk } from './source.ts';

/** A chunk is longer only when it is a single record. */
export const CHUNK_BYTES = 4 * LIMITS.recordBytes;

export class ChunkCutter {
  readonly chunks: Chunk[] = [];
  private readonly recordsPerTask: number;
  private recordsInTask = 0;
  private file = 0;
  private fileRecords = 0;
  // The open chunk: none while `records` is 0.
  private start = 0;
  private end = 0;
  private firstLine = 0;
  private position: number | undefined;
  private records = 0;
  // CRC of the open chunk: of [start, crcTo), and of [start, end) where end ≤ crcTo.
  private crcTo = 0;
  private crc = 0;
  private crcOfEnd = 0;
  // The part of the file that is in memory.
  private bytes: Uint8Array = new Uint8Array(0);
  private base = 0;

  constructor(recordsPerTask: number) {
    this.recordsPerTask = recordsPerTask;
  }

  startFile(file: number): void {
    this.file = file;
    this.fileRecords = 0;
  }

  /** The bytes that hold the records that follow; `base` is the offset of the first one in the file. */
  show(bytes: Uint8Array, base: number): void {
    this.bytes = bytes;
    this.base = base;
  }

  /** The bytes shown, up to offset `to`, are about to be overwritten. */
  retire(to: number): void {
    if (this.records === 0 || to <= this.crcTo) return;
    this.crcUpToEnd();
    this.crc = this.crcOf(this.crcTo, to, this.crc);
    this.crcTo = to;
  }

  /**
   * A record in bytes [start, end) of the file, its line break included. `position`: in the file, if others are left
   * out.
   */
  record(start: number, end: number, line: number, position?: number): void {
    if (this.records > 0 && end - this.start > CHUNK_BYTES) this.endChunk();
    if (this.records === 0) this.open(start, line, position);
    this.end = end;
    this.records++;
    if (++this.recordsInTask === this.recordsPerTask) this.endChunk();
  }

  /** A record of more than LIMITS.recordBytes: a separate chunk whose content is never read, so it has no CRC. */
  overlongRecord(start: number, end: number, line: number, position?: number): void {
    this.endChunk();
    this.open(start, line, position);
    this.end = end;
    this.records = 1;
    this.recordsInTask++;
    this.crcTo = end;
    this.endChunk();
  }

  /** Records of the file. */
  endFile(): number {
    this.endChunk();
    return this.fileRecords;
  }

  /** What comes next begins another chunk; without an open one this does nothing. */
  endChunk(): void {
    if (this.records === 0) return;
    this.crcUpToEnd();
    this.chunks.push({
      file: this.file,
      offset: this.start,
      bytes: this.end - this.start,
      firstRecord: this.fileRecords,
      ...(this.position === undefined ? {} : { position: this.position }),
      records: this.records,
      firstLine: this.firstLine,
      crc32: this.crcOfEnd,
    });
    if (this.chunks.length > LIMITS.tasks) {
      throw new PaddletError('DataInvalid', `expected at most ${LIMITS.tasks} chunks of data, got more`, {
        hint: 'raise data.recordsPerTask',
      });
    }
    this.fileRecords += this.records;
    this.records = 0;
    if (this.recordsInTask >= this.recordsPerTask) this.recordsInTask = 0;
  }

  private open(start: number, line: number, position: number | undefined): void {
    this.position = position;
    this.start = start;
    this.firstLine = line;
    this.crcTo = start;
    this.crc = 0;
    this.crcOfEnd = 0;
  }

  private crcUpToEnd(): void {
    if (this.end <= this.crcTo) return;
    this.crcOfEnd = this.crcOf(this.crcTo, this.end, this.crc);
    this.crc = this.crcOfEnd;
    this.crcTo = this.end;
  }

  private crcOf(from: number, to: number, before: number): number {
    return crc32(this.bytes.subarray(from - this.base, to - this.base), before);
  }
}

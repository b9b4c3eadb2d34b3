/**
 * Reads a task: the bytes of its chunks, checked against the index, parsed into records. A task is parsed whole before
 * anything of it is pushed, so that it fails, if it must, before any shard has seen it.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../base/assert.ts';
import { PaddletError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { CHUNK_BYTES } from './chunk-cutter.ts';
import { type Content, openContent } from './content.ts';
import { DenseRecordsBuilder } from './dense-records.ts';
import { IMAGES_HEADER_BYTES, LABELS_HEADER_BYTES } from './formats/idx/idx.ts';
import { FEWEST_FEATURE_BYTES, parseLibsvm, tooLong } from './formats/libsvm.ts';
import type { LabelRule } from './labels.ts';
import type { DataPlace } from './place.ts';
import type { Chunk, DataFormat, IndexedFile, TaskRecords } from './source.ts';
import { SparseRecordsBuilder } from './sparse-records.ts';

export interface TaskReaderOptions {
  readonly format: DataFormat;
  /** As in the index: chunks name files by number. */
  readonly files: readonly IndexedFile[];
  readonly labels: LabelRule;
  /** Inputs of a record (idx): `featureBound` of the index that the job trains on. */
  readonly inputWidth: number;
}

export interface TaskReader {
  /**
   * Throws `DataChanged` when a file is not what was indexed, `DataMissing` when it is gone. Bad records are not an error
   * here: the caller judges their number.
   */
  read(chunks: readonly Chunk[]): Promise<TaskRecords>;
  close(): Promise<void>;
}

/** Files are opened at their first chunk (inflated, if they must be) and stay open. Calls of `read` may overlap. */
export function createTaskReader(place: DataPlace, options: TaskReaderOptions): TaskReader {
  const files = new OpenFiles(place, options.files);
  return {
    read: (chunks) =>
      options.format === 'idx' ? readDense(files, options, chunks) : readSparse(files, options, chunks),
    close: () => files.close(),
  };
}

async function readSparse(
  files: OpenFiles,
  options: TaskReaderOptions,
  chunks: readonly Chunk[],
): Promise<TaskRecords> {
  const records = countRecords(options.files, chunks);
  const bytes = chunks.reduce((sum, chunk) => sum + (isOverlong(chunk) ? 0 : chunk.bytes), 0);
  const builder = new SparseRecordsBuilder(records, Math.ceil(bytes / FEWEST_FEATURE_BYTES));
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    if (isOverlong(chunk)) {
      builder.startPart(file);
      builder.bad({ file, line: chunk.firstLine, byteOffset: chunk.offset, reason: tooLong(chunk.bytes) });
      continue;
    }
    const bytes = await files.bytes(chunk.file, chunk.offset, chunk.bytes);
    if (crc32(bytes) !== chunk.crc32) throw changed(file, chunk);
    parseLibsvm({ file, bytes, offset: chunk.offset, firstLine: chunk.firstLine }, options.labels, builder);
  }
  assert(builder.records === records, 'the parser finds the records that the index counted');
  return builder.finish();
}

async function readDense(files: OpenFiles, options: TaskReaderOptions, chunks: readonly Chunk[]): Promise<TaskRecords> {
  const { inputWidth, labels } = options;
  const builder = new DenseRecordsBuilder(countRecords(options.files, chunks), inputWidth);
  for (const chunk of chunks) {
    const file = files.path(chunk.file);
    if (chunk.bytes !== chunk.records * inputWidth) {
      const width = chunk.bytes / chunk.records;
      throw new PaddletError('DataInvalid', `${file} has ${width} inputs a record, the model takes ${inputWidth}`);
    }
    assert(chunk.offset === IMAGES_HEADER_BYTES + chunk.firstRecord * inputWidth, 'the chunk begins at its record');
    const images = await files.bytes(chunk.file, chunk.offset, chunk.bytes);
    const classes = await files.labels(chunk.file, LABELS_HEADER_BYTES + chunk.firstRecord, chunk.records);
    if (crc32(classes, crc32(images)) !== chunk.crc32) throw changed(file, chunk);
    builder.add({ file, firstRecord: chunk.firstRecord, offset: chunk.offset, images, classes }, labels);
  }
  return builder.finish();
}

/** A record that is not even read; the index gave it a chunk of its own. */
const isOverlong = (chunk: Chunk): boolean => chunk.records === 1 && chunk.bytes > LIMITS.recordBytes;

/** The records of the chunks. They come over the wire: whatever is allocated for them is bounded by the files first. */
function countRecords(files: readonly IndexedFile[], chunks: readonly Chunk[]): number {
  let sum = 0;
  for (const chunk of chunks) {
    const { offset, bytes, records } = chunk;
    const file = files[chunk.file];
    const fits = file !== undefined && offset + bytes <= file.bytes && records <= bytes;
    if (!fits || (bytes > CHUNK_BYTES && !isOverlong(chunk))) {
      throw new PaddletError(
        'DataChanged',
        `bytes ${offset} to ${offset + bytes} of file ${chunk.file} are no chunk of the index`,
      );
    }
    sum += records;
  }
  return sum;
}

const changed = (file: string, chunk: Chunk): PaddletError =>
  new PaddletError(
    'DataChanged',
    `${file} has changed since it was indexed (bytes ${chunk.offset} to ${chunk.offset + chunk.bytes})`,
    {
      hint: 'a job trains on the data that it was started with: put it back, or start a new job',
    },
  );

/** The files of the index, opened once. */
class OpenFiles {
  private readonly place: DataPlace;
  private readonly files: readonly IndexedFile[];
  private readonly open = new Map<string, Promise<Content>>();

  constructor(place: DataPlace, files: readonly IndexedFile[]) {
    this.place = place;
    this.files = files;
  }

  path(file: number): string {
    return this.indexed(file).path;
  }

  bytes(file: number, offset: number, count: number): Promise<Uint8Array> {
    return this.range(this.indexed(file), offset, count);
  }

  labels(file: number, offset: number, count: number): Promise<Uint8Array> {
    const { path, labels } = this.indexed(file);
    assert(labels !== undefined, `${path} has labels`);
    return this.range(labels, offset, count);
  }

  async close(): Promise<void> {
    const contents = await Promise.allSettled(this.open.values());
    this.open.clear();
    for (const content of contents) if (content.status === 'fulfilled') await content.value.file.close();
  }

  private indexed(file: number): IndexedFile {
    const indexed = this.files[file];
    assert(indexed !== undefined, 'the chunk was checked against the files');
    return indexed;
  }

  private async range(
    indexed: { readonly path: string; readonly bytes: number },
    offset: number,
    count: number,
  ): Promise<Uint8Array> {
    const content = await this.content(indexed.path);
    if (content.bytes !== indexed.bytes) {
      throw new PaddletError(
        'DataChanged',
        `${indexed.path} has ${content.bytes} bytes, not ${indexed.bytes} as indexed`,
      );
    }
    assert(offset + count <= indexed.bytes, 'the range lies in the file');
    const bytes = new Uint8Array(count);
    const got = await content.file.read(bytes, offset);
    if (got < count) throw new PaddletError('DataChanged', `${indexed.path} has become shorter than it was indexed`);
    return bytes;
  }

  private content(path: string): Promise<Content> {
    const known = this.open.get(path);
    if (known !== undefined) return known;
    const opening = openContent(this.place, path);
    this.open.set(path, opening);
    // A failure is the caller's to see; the next read tries again.
    opening.catch(() => this.open.delete(path));
    return opening;
  }
}

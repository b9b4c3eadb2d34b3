import { resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';
import { COMPRESSORS } from '../../../data/bytes/packings/recordio/header.ts';
import { type PackedText, packLines } from '../../../data/bytes/packings/recordio/pack.ts';
import { openForward } from '../../../data/bytes/packings/unpack.ts';
import { writeWhole } from '../../../data/whole-file.ts';
import { inputBlocks } from '../../../host/inputs.ts';
import { refuseEmpty } from '../../base/given-path.ts';
import { PaddletCommand } from '../../base-command.ts';

const STANDARD = '-';
/** A range of records is read by whole chunks. */
const USUAL_BYTES = 1 << 20;
/** With its last record, it is below what a chunk may have. */
const MOST_BYTES = LIMITS.recordioChunkBytes / 4;
const MOST_RECORDS = LIMITS.recordioChunkRecords / 4;
/** Each is an object in memory until its chunk ends. */
const USUAL_RECORDS = 100_000;

export default class DataRecordioPack extends PaddletCommand<typeof DataRecordioPack> {
  static override summary = 'Pack the lines of a text file into a RecordIO file';
  static override description =
    `Each line becomes a record, even if the line is empty. The write is atomic. A job trains the same model on the
RecordIO file as on the text file.`;
  static override examples = [
    {
      command: '<%= config.bin %> data recordio pack log.csv -o log.recordio',
      description: 'Pack a file into chunks of 1 MiB, compressed with snappy.',
    },
    {
      command: 'zcat log.jsonl.gz | <%= config.bin %> data recordio pack - -o log.recordio --compressor gzip',
      description: 'Pack text from a pipe.',
    },
  ];
  static override args = {
    file: Args.string({ required: true, ignoreStdin: true, description: 'Text file to read; - for stdin.' }),
  };
  static override flags = {
    output: Flags.string({ char: 'o', required: true, helpValue: 'FILE', description: 'File to write.' }),
    replace: Flags.boolean({ description: 'Overwrite existing files.' }),
    compressor: Flags.option({
      options: COMPRESSORS,
      default: 'snappy' as const,
      description: 'Compression of each chunk.',
    })(),
    'chunk-bytes': Flags.integer({
      min: 1,
      max: MOST_BYTES,
      default: USUAL_BYTES,
      helpValue: 'N',
      description:
        'Size of a chunk before compression, in bytes; paddlet ends the chunk at this size. Each record takes four additional bytes for its length.',
    }),
    'chunk-records': Flags.integer({
      min: 1,
      max: MOST_RECORDS,
      default: USUAL_RECORDS,
      helpValue: 'N',
      description: 'Number of records in a chunk; paddlet ends the chunk at this number.',
    }),
  };

  override async execute(): Promise<void> {
    const { file } = this.args;
    refuseEmpty([file], 'the argument FILE');
    const { output, replace, compressor, 'chunk-bytes': chunkBytes, 'chunk-records': chunkRecords } = this.flags;
    refuseEmpty([output], 'the flag --output');
    if (output === STANDARD) {
      throw new PaddletError('Usage', '--output - is not a file', {
        hint: 'give the path of a file: paddlet writes it atomically',
      });
    }
    const host = this.host();
    const to = resolve(output);
    if (!replace && (await host.disk.exists(to))) {
      throw new PaddletError('Usage', `${to} exists`, {
        hint: 'replace it with --replace, or choose another --output',
      });
    }
    const path = file === STANDARD ? 'stdin' : file;
    const options = { path, compressor, chunkBytes, chunkRecords };
    const blocks = inputBlocks(file === STANDARD ? undefined : resolve(file), this.interruption());
    const text = await openForward(path, readable(path, blocks));
    const packed = await writeWhole(host, to, (append) => packLines(text, options, append));
    this.output({ to, ...packed }, () => describe(to, packed));
  }
}

/** Throws `DataMissing`. */
async function* readable(path: string, blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* blocks;
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw new PaddletError('DataMissing', `cannot read ${path}: ${cause.message}`, { cause });
  }
}

const describe = (to: string, { records, chunks, bytes }: PackedText): string =>
  `${to}: ${records} records in ${chunks} chunks, ${bytes} bytes`;

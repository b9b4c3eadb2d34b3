import { Args, Flags } from '@oclif/core';
import { recordsOf } from '../../../data/bytes/packings/recordio/body.ts';
import { type ReadRange, readRange } from '../../../data/bytes/packings/recordio/chunks.ts';
import { linesOf } from '../../../data/bytes/packings/recordio/unpack.ts';
import { PaddletCommand } from '../../base-command.ts';
import { openRecordio } from './open.ts';

const PIECE_RECORDS = 1000;

export default class DataRecordioCat extends PaddletCommand<typeof DataRecordioCat> {
  static override summary = 'Print records of a RecordIO file, one per line';
  static override description =
    `Prints the records as a job reads them. If a chunk contains none of the requested records, paddlet reads only the
header of the chunk. paddlet checks all other chunks for damage.`;
  static override examples = [
    { command: '<%= config.bin %> data recordio cat log.recordio', description: 'Print all records of a file.' },
    {
      command: '<%= config.bin %> data recordio cat log.recordio --from 1000001 --count 10',
      description: 'Print the ten records that follow the first million.',
    },
  ];
  static override args = { file: Args.string({ required: true, description: 'RecordIO file to read.' }) };
  static override flags = {
    from: Flags.integer({
      min: 1,
      max: 2 ** 53 - 1,
      default: 1,
      helpValue: 'N',
      description: 'Number of the first record to print; the first record of the file has number 1.',
    }),
    count: Flags.integer({
      min: 0,
      max: 2 ** 53 - 1,
      helpValue: 'N',
      description: 'Number of records to print. Default: all.',
    }),
  };

  override async execute(): Promise<void> {
    const { file: path } = this.args;
    const { from, count = Number.POSITIVE_INFINITY, json } = this.flags;
    const signal = this.interruption();
    const file = await openRecordio(this.host(), path);
    try {
      for await (const range of readRange(file, path, { from: from - 1, count })) {
        signal.throwIfAborted();
        for (const part of json ? jsonLines(range) : [linesOf(range)]) if (!(await write(part))) return;
      }
    } finally {
      await file.close();
    }
  }
}

/** In pieces: a chunk has millions of records at most. */
function* jsonLines({ body, from, to, first }: ReadRange): Generator<string> {
  let lines: string[] = [];
  let position = 0;
  for (const { start, end } of recordsOf(body)) {
    if (position >= to) break;
    const record = first + position - from;
    if (position++ < from) continue;
    lines.push(`${JSON.stringify({ record, text: Buffer.from(body.subarray(start, end)).toString() })}\n`);
    if (lines.length < PIECE_RECORDS) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

/** False if the reader closed the pipe, or if writing failed, which `main` reports. */
const write = (text: string | Uint8Array): Promise<boolean> =>
  new Promise((resolve) => process.stdout.write(text, (error) => resolve(error == null)));

import { Args } from '@oclif/core';
import { EXIT, type ExitCode } from '../../../base/errors.ts';
import { nextTurn } from '../../../base/seams.ts';
import { type ListedChunk, listChunks } from '../../../data/bytes/packings/recordio/chunks.ts';
import { PaddletCommand } from '../../base-command.ts';
import { openRecordio } from './open.ts';

export default class DataRecordioList extends PaddletCommand<typeof DataRecordioList> {
  static override summary = 'List the chunks of a RecordIO file and check them';
  static override description =
    `Shows where each chunk begins, what the header of the chunk contains, and what is wrong with the chunk. Reads the
whole file. If a chunk is corrupt, the command still lists all chunks, and exits with code 3.`;
  static override examples = [
    { command: '<%= config.bin %> data recordio list log.recordio', description: 'List the chunks of a file.' },
    {
      command: '<%= config.bin %> data recordio list log.recordio --json',
      description: 'List the chunks as JSON for a script.',
    },
  ];
  static override args = { file: Args.string({ required: true, description: 'RecordIO file to read.' }) };
  static override flags = {};

  override async execute(): Promise<ExitCode> {
    const { file: path } = this.args;
    const host = this.host();
    const file = await openRecordio(host, path);
    try {
      const chunks = await listChunks(file, path, () => nextTurn(host.clock));
      const records = chunks.reduce((sum, chunk) => sum + (chunk.fault === undefined ? (chunk.records ?? 0) : 0), 0);
      const corrupt = chunks.filter(({ fault }) => fault !== undefined).length;
      this.output({ path, records, corrupt, chunks }, () => this.describe(chunks, records, corrupt));
      return corrupt === 0 ? EXIT.done : EXIT.data;
    } finally {
      await file.close();
    }
  }

  private describe(chunks: readonly ListedChunk[], records: number, corrupt: number): string {
    const right = ['chunk', 'offset', 'bytes', 'records'].map((head) => ({ head, align: 'right' as const }));
    const rows = chunks.map(({ chunk, offset, bytes, records: said, compressor, fault }) => [
      ...[chunk, offset, bytes, said ?? '-', compressor ?? '-'],
      fault === undefined ? 'good' : `corrupt: ${fault}`,
    ]);
    const damaged = corrupt === 0 ? '' : `; corrupt: ${corrupt}`;
    const table = this.table([...right, { head: 'compressor' }, { head: 'state' }], rows);
    return `${table}\n\n${records} good records in ${chunks.length} chunks${damaged}`;
  }
}

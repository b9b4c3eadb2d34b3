/** The `data` section: what `format: recordio` and `format: interactions` stand for. */
import * as z from 'zod';
import { DATA_FORMATS, type DataFormat } from '../data/formats/registry.ts';
import { dataFields } from './fields.ts';
import { interactionsOf } from './interactions.ts';

const RECORDIO = 'recordio';

const RECORDS = ['libsvm', 'libfm', 'libffm', 'csv', 'tsv', 'interactions', 'jsonl', 'json'] as const;

export const dataSchema = z
  .strictObject({
    ...dataFields,
    format: z
      .enum([...DATA_FORMATS, RECORDIO])
      .describe('Format of all files; gzip, zstd and RecordIO are recognized.'),
    record: z.enum(RECORDS).optional().describe('Format of the records in RecordIO files. json is the same as jsonl.'),
  })
  .transform(({ record, format, ...data }, context) => {
    const refuse = (message: string): never => {
      context.issues.push({ code: 'custom', path: ['record'], message, input: record });
      return z.NEVER;
    };
    if (format !== RECORDIO) {
      return record === undefined ? ofFormat({ ...data, format }) : refuse(`only for format ${RECORDIO}`);
    }
    if (record === undefined) return refuse(`is required with format ${RECORDIO}: expected ${RECORDS.join(', ')}`);
    const named: DataFormat = record === 'json' ? 'jsonl' : record;
    return ofFormat({ ...data, format: named });
  });

const ofFormat = <T extends { format: DataFormat } & Parameters<typeof interactionsOf>[0]>(data: T): T =>
  data.format === 'interactions' ? interactionsOf(data) : data;

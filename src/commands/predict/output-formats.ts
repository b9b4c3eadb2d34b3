/** What predictions can be written as. */
import { assert } from '../../base/assert.ts';
import { lineWriter } from './lines.ts';
import type { Output, OutputNames } from './output.ts';
import { parquetOutput } from './parquet-output.ts';

export const OUTPUT_FORMATS = ['csv', 'jsonl', 'parquet'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Throws `Usage` when two columns, or keys, have the same name. */
export const outputOf = (format: OutputFormat, names: OutputNames): Output =>
  format === 'parquet' ? parquetOutput(names) : textOutput(format, names);

function textOutput(format: 'csv' | 'jsonl', names: OutputNames): Output {
  const writer = lineWriter(format, names);
  return {
    make: (groups) => Buffer.concat(Array.from(groups, writer.lines)),
    head: writer.head,
    bytesOf(made) {
      assert(made instanceof Uint8Array, 'lines are made');
      return made;
    },
    end: () => new Uint8Array(0),
  };
}

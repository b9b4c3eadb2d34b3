/** What predictions are written as. */
import { assert } from '../../base/assert.ts';
import type { Made } from '../../roles/evaluator/predictor.ts';
import type { ScoredGroup } from '../../roles/evaluator/score-groups.ts';
import { lineWriter } from './lines.ts';
import { parquetOutput } from './parquet-output.ts';

export const OUTPUT_FORMATS = ['csv', 'jsonl', 'parquet'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Names of what a record has there. */
export interface OutputNames {
  readonly kept: readonly string[];
  /** One, or one a class. */
  readonly scores: readonly string[];
}

export interface Output {
  /** In any thread. */
  make(groups: Iterable<ScoredGroup>): Made;
  /** Before all else. */
  readonly head: Uint8Array;
  /** Called with all that is made, in order: the bytes that can be written by then. */
  bytesOf(made: Made): Uint8Array;
  /** After all else. */
  end(): Uint8Array;
}

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

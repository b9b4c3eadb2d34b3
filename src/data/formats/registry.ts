/** The data formats by name: a new one is a file that exports a `Format`, and a line here. */
import { columnsFormat } from './columns/format.ts';
import { csvFormat } from './csv/format.ts';
import type { Format } from './format.ts';
import { idxFormat } from './idx/format.ts';
import { interactionsFormat } from './interactions/format.ts';
import { jsonLinesFormat } from './jsonl/format.ts';
import { libffmFormat, libsvmFormat } from './libsvm/format.ts';
import { parquetFormat } from './parquet/format.ts';

const FORMATS = {
  libsvm: libsvmFormat,
  // The two are the same text (libsvm/parser.ts).
  libfm: libsvmFormat,
  libffm: libffmFormat,
  idx: idxFormat,
  // They differ in what separates fields unless the job says it.
  csv: csvFormat,
  tsv: csvFormat,
  interactions: interactionsFormat,
  jsonl: jsonLinesFormat,
  parquet: parquetFormat,
  columns: columnsFormat,
} as const satisfies Readonly<Record<string, Format>>;

export type DataFormat = keyof typeof FORMATS;

export const DATA_FORMATS = Object.keys(FORMATS) as [DataFormat, ...DataFormat[]];

/** What `paddlet data convert` makes files of columns of. */
export const isConverted = ({ input, placing }: Format): boolean => input === 'columns' && placing !== 'name';

export const formatOf = (name: DataFormat): Format => FORMATS[name];

/** `a, b or c`: the formats for which `holds` is true. */
export const eitherOf = (holds: (format: Format) => boolean): string =>
  formatsWhere(holds)
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1');

/** Names of the formats for which `holds` is true. */
export const formatsWhere = (holds: (format: Format) => boolean): DataFormat[] =>
  DATA_FORMATS.filter((name) => holds(FORMATS[name]));

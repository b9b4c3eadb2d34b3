/** The tables of a job that have admission, eviction or a bound, as `status` shows them. */
import { stripVTControlCharacters } from 'node:util';
import type { TableReport } from '../../protocol/messages/table-report.ts';
import { tableSizeText } from '../base/limited-table-text.ts';
import type { MakeTable } from '../base/table.ts';

interface Column {
  readonly head: string;
  readonly align?: 'right';
  readonly cell: (table: TableReport) => string | number;
  /** Columns with a lower number are omitted first if the terminal is too narrow. */
  readonly weight: number;
}

const COLUMNS: readonly Column[] = [
  { head: 'table', cell: ({ name }) => name, weight: 9 },
  { head: 'rows', align: 'right', cell: ({ rows }) => rows, weight: 9 },
  { head: 'candidates', align: 'right', cell: ({ candidates }) => candidates, weight: 4 },
  { head: 'size', align: 'right', cell: (table) => tableSizeText(table), weight: 9 },
  { head: 'admitted', align: 'right', cell: ({ admitted }) => admitted, weight: 2 },
  { head: 'not admitted', align: 'right', cell: ({ notAdmitted }) => notAdmitted, weight: 1 },
  { head: 'refused', align: 'right', cell: ({ refused }) => refused, weight: 3 },
  { head: 'evicted rows', align: 'right', cell: (table) => causesText(table, 'rows'), weight: 5 },
  { head: 'evicted candidates', align: 'right', cell: (table) => causesText(table, 'candidates'), weight: 0 },
];

/** `columns` of the terminal: a narrow one has fewer columns of the table. */
export function limitedTablesTable(tables: readonly TableReport[], makeTable: MakeTable, columns: number): string {
  const hasCandidates = tables.some(({ candidates, evicted: { bound, unseen } }) => {
    return candidates + bound.candidates + unseen.candidates > 0;
  });
  let shown = hasCandidates ? COLUMNS : COLUMNS.filter(({ head }) => !head.includes('candidates'));
  for (;;) {
    const rows = tables.map((one) => shown.map(({ cell }) => cell(one)));
    const text = makeTable(shown, rows);
    const width = Math.max(...text.split('\n').map((line) => stripVTControlCharacters(line).length));
    const least = Math.min(...shown.map(({ weight }) => weight));
    if (width <= columns || least === 9) return text;
    shown = shown.filter(({ weight }) => weight > least);
  }
}

/** `120 bound, 30 unseen`. */
function causesText({ evicted: { bound, unseen } }: TableReport, kind: 'rows' | 'candidates'): string {
  const parts = [
    ...(bound[kind] === 0 ? [] : [`${bound[kind]} bound`]),
    ...(unseen[kind] === 0 ? [] : [`${unseen[kind]} unseen`]),
  ];
  return parts.length === 0 ? '0' : parts.join(', ');
}

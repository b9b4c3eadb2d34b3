import { Chalk } from 'chalk';
import Table from 'cli-table3';
import { ownStyled, visible } from '../../base/visible.ts';
import { isColorWanted } from '../../host/host.ts';

export interface TableColumn {
  readonly head: string;
  readonly align?: 'left' | 'right';
}

/** A table of these columns as text. */
export type MakeTable = (columns: readonly TableColumn[], rows: readonly (readonly (string | number)[])[]) => string;

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Aligned columns under a bold head; without colors off a terminal. */
export function renderTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly (string | number)[])[],
  stream: NodeJS.WriteStream,
): string {
  const paint = new Chalk({ level: isColorWanted(stream) ? 1 : 0 });
  const table = new Table({
    head: columns.map(({ head }) => ownStyled(paint.bold(visible(head)))),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  // A cell is one line.
  for (const row of rows) table.push(row.map((cell) => visible(String(cell))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

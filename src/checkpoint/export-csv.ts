/**
 * One variable as CSV (RFC 4180, lines ending in a newline). A table: `id,v0,v1,…` and with state `m.0,…,steps`, a line
 * for each row. A dense parameter: `index,value` and its state, a line for each element in row-major order; `steps` is that of
 * the element's block. Floats have the fewest digits that give the same f32 again.
 */
import type { DiskFile } from '../base/seams.ts';
import { denseBlockFloats } from '../tensor/blocks.ts';
import { type DensePlan, type ExportOptions, exportBlocks, exportRows, type TablePlan } from './export.ts';

const LINES_BYTES = 1024 * 1024;

export function floatText(value: number): string {
  if (Number.isInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

export async function exportTableCsv(options: ExportOptions, plan: TablePlan, file: DiskFile): Promise<void> {
  const { width } = plan.spec;
  const lines = createLines(file);
  const cells = (prefix: string): string[] => Array.from({ length: width }, (_, at) => `${prefix}${at}`);
  const steps = plan.steps === undefined ? [] : ['steps'];
  await lines.add(['id', ...cells('v'), ...plan.slots.flatMap(([slot]) => cells(`${slot}.`)), ...steps]);
  for await (const rows of exportRows(options, plan)) {
    const columns = [rows.values, ...plan.slots.map(([slot]) => rows.slots[slot]!)];
    for (let row = 0; row < rows.ids.length; row++) {
      const line = [String(rows.ids[row]!)];
      for (const column of columns) {
        for (let at = row * width; at < (row + 1) * width; at++) line.push(floatText(column[at]!));
      }
      if (plan.steps !== undefined) line.push(String(rows.steps![row]!));
      if (lines.isFull(line)) await lines.flush();
    }
  }
  await lines.end();
}

export async function exportDenseCsv(options: ExportOptions, plan: DensePlan, file: DiskFile): Promise<void> {
  const lines = createLines(file);
  const steps = plan.steps === undefined ? [] : ['steps'];
  await lines.add(['index', 'value', ...plan.slots.map(([slot]) => slot), ...steps]);
  for await (const block of exportBlocks(options, plan)) {
    const columns = [block.values, ...plan.slots.map(([slot]) => block.slots[slot]!)];
    const step = plan.steps === undefined ? [] : [String(block.step)];
    for (let at = 0; at < block.values.length; at++) {
      const index = String(block.block * denseBlockFloats + at);
      if (lines.isFull([index, ...columns.map((column) => floatText(column[at]!)), ...step])) await lines.flush();
    }
  }
  await lines.end();
}

/** Gathers lines, so that a file is not written in little pieces. */
function createLines(file: DiskFile) {
  let text: string[] = [];
  let length = 0;
  let written = 0;
  const lines = {
    /** Takes a line; true when it is time to flush. */
    isFull(cells: readonly string[]): boolean {
      const line = `${cells.join(',')}\n`;
      text.push(line);
      length += line.length;
      return length >= LINES_BYTES;
    },
    async add(cells: readonly string[]): Promise<void> {
      if (lines.isFull(cells)) await lines.flush();
    },
    async flush(): Promise<void> {
      const bytes = Buffer.from(text.join(''));
      text = [];
      length = 0;
      await file.write(bytes, written);
      written += bytes.length;
    },
    async end(): Promise<void> {
      await lines.flush();
      await file.sync();
    },
  };
  return lines;
}

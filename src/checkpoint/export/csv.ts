/**
 * One variable as CSV (RFC 4180, lines ending in a newline). A table: `id,v0,v1,…` and with state `m.0,…,steps`, a line
 * for each row. A dense parameter: `index,value` and its state, a line for each element in row-major
 * order; `steps` is that of the element's block. Floats have the fewest digits that give the same f32 again.
 */
import type { DiskFile } from '../../base/seams.ts';
import { denseBlockFloats } from '../../tensor/blocks.ts';
import { type DensePlan, type ExportOptions, exportBlocks, exportRows, type TablePlan } from './export.ts';
import { LONGEST_FLOAT, writeFloat, writeText } from './float-text.ts';

const LINES_BYTES = 1024 * 1024;

export async function exportTableCsv(options: ExportOptions, plan: TablePlan, file: DiskFile): Promise<void> {
  const { width } = plan.spec;
  const cells = (prefix: string): string[] => Array.from({ length: width }, (_, at) => `${prefix}${at}`);
  const steps = plan.steps === undefined ? [] : ['steps'];
  const heads = ['id', ...cells('v'), ...plan.slots.flatMap(([slot]) => cells(`${slot}.`)), ...steps];
  const lines = new Lines(file, heads);
  for await (const rows of exportRows(options, plan)) {
    const columns = [rows.values, ...plan.slots.map(([slot]) => rows.slots[slot]!)];
    for (let row = 0; row < rows.ids.length; row++) {
      lines.text(String(rows.ids[row]!));
      for (const column of columns) {
        for (let at = row * width; at < (row + 1) * width; at++) lines.float(column[at]!);
      }
      if (plan.steps !== undefined) lines.text(String(rows.steps![row]!));
      if (lines.end()) await lines.flush();
    }
  }
  await lines.flush();
}

export async function exportDenseCsv(options: ExportOptions, plan: DensePlan, file: DiskFile): Promise<void> {
  const steps = plan.steps === undefined ? [] : ['steps'];
  const lines = new Lines(file, ['index', 'value', ...plan.slots.map(([slot]) => slot), ...steps]);
  for await (const block of exportBlocks(options, plan)) {
    const columns = [block.values, ...plan.slots.map(([slot]) => block.slots[slot]!)];
    for (let at = 0; at < block.values.length; at++) {
      lines.text(String(block.block * denseBlockFloats + at));
      for (const column of columns) lines.float(column[at]!);
      if (plan.steps !== undefined) lines.text(String(block.step));
      if (lines.end()) await lines.flush();
    }
  }
  await lines.flush();
}

const COMMA = 44;
const NEWLINE = 10;

/** Gathers lines as bytes, so that a file is not written in little pieces and no text is left to be collected. */
class Lines {
  readonly #file: DiskFile;
  readonly #bytes: Uint8Array;
  #length = 0;
  #written = 0;

  constructor(file: DiskFile, heads: readonly string[]) {
    this.#file = file;
    // A line may begin anywhere below LINES_BYTES, and has a cell for each head.
    const longestLine = heads.length * (LONGEST_FLOAT + 1);
    this.#bytes = new Uint8Array(LINES_BYTES + Math.max(longestLine, heads.join().length + 1));
    for (const head of heads) this.text(head);
    this.end();
  }

  text(cell: string): void {
    this.#length = writeText(this.#bytes, this.#length, cell);
    this.#bytes[this.#length++] = COMMA;
  }

  float(value: number): void {
    this.#length = writeFloat(this.#bytes, this.#length, value);
    this.#bytes[this.#length++] = COMMA;
  }

  /** Ends the line; true when it is time to flush. */
  end(): boolean {
    this.#bytes[this.#length - 1] = NEWLINE;
    return this.#length >= LINES_BYTES;
  }

  async flush(): Promise<void> {
    await this.#file.write(this.#bytes.subarray(0, this.#length), this.#written);
    this.#written += this.#length;
    this.#length = 0;
  }
}

import { crossId } from '../columns/hash.ts';
import type { ColumnPiece } from '../columns/piece.ts';
import type { LinePlan } from '../formats/csv/plan.ts';
export const READ = { done: 0, full: 1, unusual: 2 } as const;
const NONE: ColumnPiece = {
  records: 0,
  labels: new Float32Array(),
  weights: undefined,
  groups: undefined,
  numbers: [],
  single: [],
  lists: [],
  listIds: new Uint32Array(),
  lines: new Uint32Array(),
  starts: new Uint32Array(),
  ends: new Uint32Array(),
};
export class CsvKernel {
  at = 0;
  lines = 0;
  size = 0;
  prepare(_plan: LinePlan): void {}
  begin(text: Uint8Array): void {
    this.at = 0;
    this.lines = 0;
    this.size = text.length;
  }
  next(_quota: number): { status: number; piece: ColumnPiece } {
    return { status: this.at >= this.size ? READ.done : READ.unusual, piece: NONE };
  }
  skip(end: number, lines: number): void {
    this.at = end;
    this.lines += lines;
  }
  crossIds(parts: readonly Uint32Array[], count: number, seed: bigint, buckets?: number): Uint32Array {
    const out = new Uint32Array(2 * count);
    for (let r = 0; r < count; r++) {
      const id = crossId(
        parts.map((p) => (BigInt(p[2 * r + 1]!) << 32n) | BigInt(p[2 * r]!)),
        seed,
        buckets,
      );
      out[2 * r] = Number(id & 0xffffffffn);
      out[2 * r + 1] = Number(id >> 32n);
    }
    return out;
  }
}
const k = new CsvKernel();
export const csvKernel = (): CsvKernel => k;

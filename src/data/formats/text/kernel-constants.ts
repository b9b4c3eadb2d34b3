/** Values of the path and of the job in the memory of the kernel: the same for each record. */
import type { ColumnPiece } from '../../columns/piece.ts';
import type { PlanPlaces } from './kernel-places.ts';
import type { LinePlan, Target } from './plan.ts';
import { RecordValues } from './values.ts';

const MOST_U32 = 0xffff_ffff;

/** What a record has beside its fields; undefined when that is bad. */
export function constantsOf(plan: LinePlan): ColumnPiece | undefined {
  const values = new RecordValues(plan);
  return values.begin() === undefined ? values.piece({ line: 0, start: 0, end: 0 }) : undefined;
}

/** Fills the columns that no field has. */
export function fillConstants(plan: LinePlan, constants: ColumnPiece, places: PlanPlaces, buffer: ArrayBuffer): void {
  const { most } = places;
  const key = (kind: Target['kind'], slot = 0): string => `${kind} ${slot}`;
  const fields = new Set(
    plan.targets.map((target) => target && key(target.kind, 'slot' in target ? target.slot : undefined)),
  );
  const isField = (kind: Target['kind'], slot?: number): boolean => fields.has(key(kind, slot));
  const fill4 = (at: number, value: number): unknown => new Float32Array(buffer, at, most).fill(value);
  const fill8 = (at: number, [low, high]: Uint32Array): unknown =>
    new BigUint64Array(buffer, at, most).fill((BigInt(high!) << 32n) | BigInt(low!));
  if (!isField('label')) fill4(places.labels, constants.labels[0]!);
  if (!isField('weight')) fill4(places.weights, constants.weights?.[0] ?? 1);
  if (!isField('group')) fill8(places.groups, constants.groups ?? Uint32Array.of(MOST_U32, MOST_U32));
  places.numbers.forEach((at, slot) => {
    if (!isField('number', slot)) fill4(at, constants.numbers[slot]![0]!);
  });
  places.single.forEach((at, slot) => {
    if (!isField('single', slot)) fill8(at, constants.single[slot]!);
  });
  const fillSpans = (
    kind: 'list' | 'text',
    all: PlanPlaces['lists'],
    of: readonly { readonly starts: Uint32Array; readonly ends: Uint32Array }[],
  ): void =>
    all.forEach(({ starts, ends }, slot) => {
      if (isField(kind, slot)) return;
      new Uint32Array(buffer, starts, most).fill(of[slot]!.starts[0]!);
      new Uint32Array(buffer, ends, most).fill(of[slot]!.ends[0]!);
    });
  fillSpans('list', places.lists, constants.lists);
  fillSpans('text', places.texts, constants.texts);
  new Uint8Array(buffer).set(constants.bytes, places.textBytes);
}

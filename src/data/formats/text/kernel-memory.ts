/** A plan for lines of text in the memory of the kernel. */
import { LIMITS } from '../../../base/limits.ts';
import { textOf } from '../../ascii.ts';
import { hash64, missingId } from '../../columns/hash.ts';
import { LABEL_RULES } from '../../kernels/sparse-kernel.ts';
import { constantsOf, fillConstants } from './kernel-constants.ts';
import { FRAME, FRAME_WORDS } from './kernel-frame.ts';
import { writeKeys } from './kernel-keys.ts';
import { FIELD_BYTES, LABEL_TEXT_WORDS, labelledTexts, type PlanPlaces, textsOf } from './kernel-places.ts';
import { type DialectBytes, type LabelTexts, type LinePlan, labelNumber, type Target } from './plan.ts';

/** Places of the fields of `Field`, as indexes of u32 and of u64. */
const FIELD = { kind: 0, out: 1, outEnds: 2, separator: 3, most: 4, isWhole: 5, isHashed: 6 } as const;
const FIELD_U64 = { seed: 4, missingId: 5, buckets: 6 } as const;
const KINDS = {
  ignored: 0,
  number: 1,
  numberNeeded: 2,
  single: 3,
  list: 4,
  labelNumber: 5,
  labelText: 6,
  weight: 7,
  groupWhole: 8,
  groupHashed: 9,
  text: 10,
} as const;

/** Places of the fields of `LabelText`, as indexes of u32. */
const LABEL_TEXT = { from: 0, length: 1, label: 2, isUsed: 3 } as const;
/** Place of the label's number in `LabelText`, as an index of f64. */
const LABEL_TEXT_NUMBER = 2;

/** No byte. */
const NONE = 0xffff_ffff;
const ONE_VALUE = { separator: undefined, maxLength: 1 } as const;
/** Lengths of texts that have a separate bit; longer ones share the last. */
const LONGEST_KNOWN = 63;

/** Writes the plan to the memory and to the frame. Ids of lists that no field has, u32 halves. */
export function writePlan(plan: LinePlan, places: PlanPlaces, buffer: ArrayBuffer, frame: Uint32Array): Uint32Array {
  const constants = constantsOf(plan);
  const { delimiter, isDouble, isRun, quote, comment, decimal } = plan.form.dialect;
  const byteOr = (byte: number): number => (byte < 0 ? NONE : byte);
  frame[FRAME.fields] = places.fields;
  // With bad constants all records are bad: no line has so few fields.
  frame[FRAME.fieldCount] = constants === undefined ? 0 : plan.fields;
  frame[FRAME.delimiter] = byteOr(delimiter);
  frame[FRAME.notBlank] = isRun === true ? NONE : byteOr(delimiter);
  frame[FRAME.isDouble] = isDouble === true ? 1 : 0;
  frame[FRAME.quote] = byteOr(quote);
  frame[FRAME.comment] = byteOr(comment);
  frame[FRAME.point] = decimal;
  frame[FRAME.labelRule] = LABEL_RULES[plan.labels.task];
  frame[FRAME.classes] = plan.labels.task === 'multiclass' ? plan.labels.classes : 0;
  frame[FRAME.lines] = places.lines;
  frame[FRAME.starts] = places.starts;
  frame[FRAME.ends] = places.ends;
  frame[FRAME.spansFrom] = places.textBytes;
  for (let field = 0; field < plan.fields; field++) {
    writeField(plan.targets[field], places, buffer, places.fields + field * FIELD_BYTES);
  }
  writeMissing(plan.missing, places, buffer, frame);
  writeLabelTexts(textsOf(plan), plan.form.dialect, places, buffer, frame);
  writeKeys(plan.form.keys, places, buffer, frame);
  if (constants !== undefined) fillConstants(plan, constants, places, buffer);
  return constants?.listIds ?? new Uint32Array(0);
}

function writeField(target: Target | undefined, places: PlanPlaces, buffer: ArrayBuffer, at: number): void {
  const words = new Uint32Array(buffer, at, FIELD_BYTES / 4).fill(0);
  const seeds = new BigUint64Array(buffer, at, FIELD_BYTES / 8);
  const put = (kind: number, out: number, seed: bigint | undefined): void => {
    words[FIELD.kind] = kind;
    words[FIELD.out] = out;
    seeds[FIELD_U64.seed] = seed ?? 0n;
  };
  switch (target?.kind) {
    case undefined:
      put(KINDS.ignored, 0, undefined);
      break;
    case 'number': {
      const kind = target.column.missing === 'error' ? KINDS.numberNeeded : KINDS.number;
      put(kind, places.numbers[target.slot]!, undefined);
      break;
    }
    case 'single':
      put(KINDS.single, places.single[target.slot]!, target.seed);
      seeds[FIELD_U64.missingId] = missingId(target.seed);
      seeds[FIELD_U64.buckets] = BigInt(target.column.buckets ?? 0);
      break;
    case 'list': {
      const { column } = target;
      const { ids, buckets = 0 } = column;
      const { separator, maxLength } = column.type === 'categories' ? column : ONE_VALUE;
      const { starts, ends } = places.lists[target.slot]!;
      put(KINDS.list, starts, target.seed);
      words[FIELD.outEnds] = ends;
      words[FIELD.separator] = separator?.charCodeAt(0) ?? NONE;
      // More than that are not in any text, and their sum with such a number fits.
      words[FIELD.most] = Math.min(maxLength, LIMITS.kernelTextBytes);
      words[FIELD.isWhole] = ids === 'integer' ? 1 : 0;
      words[FIELD.isHashed] = target.seed === undefined ? 0 : 1;
      seeds[FIELD_U64.buckets] = BigInt(buckets);
      break;
    }
    case 'label':
      put(target.texts === undefined ? KINDS.labelNumber : KINDS.labelText, places.labels, undefined);
      break;
    case 'weight':
      put(KINDS.weight, places.weights, undefined);
      break;
    case 'group':
      put(target.seed === undefined ? KINDS.groupWhole : KINDS.groupHashed, places.groups, target.seed);
      break;
    case 'text': {
      const { starts, ends } = places.texts[target.slot]!;
      put(KINDS.text, starts, undefined);
      words[FIELD.outEnds] = ends;
      break;
    }
  }
}

function writeMissing(texts: readonly Uint8Array[], places: PlanPlaces, buffer: ArrayBuffer, frame: Uint32Array): void {
  const bytes = new Uint8Array(buffer);
  const table = new Uint32Array(buffer, places.missing, 2 * texts.length);
  let at = places.missingBytes;
  let lengths = 0n;
  texts.forEach((text, place) => {
    bytes.set(text, at);
    table.set([at, text.length], 2 * place);
    at += text.length;
    lengths |= 1n << BigInt(Math.min(text.length, LONGEST_KNOWN));
  });
  // As JSON and its readers write numbers: only such a text may be that of one with decimals.
  frame[FRAME.numbersMayMiss] = texts.some((text) => /^[-\dI]/.test(textOf(text, 0, text.length))) ? 1 : 0;
  frame[FRAME.missing] = places.missing;
  frame[FRAME.missingCount] = texts.length;
  frame[FRAME.missingLengths] = Number(lengths & 0xffff_ffffn);
  frame[FRAME.missingLengths + 1] = Number(lengths >> 32n);
}

function writeLabelTexts(
  texts: LabelTexts | undefined,
  dialect: DialectBytes,
  places: PlanPlaces,
  buffer: ArrayBuffer,
  frame: Uint32Array,
): void {
  const { labelTexts, labelPlaces, labelBytes } = places;
  const mask = labelPlaces - 1;
  const bytes = new Uint8Array(buffer);
  const table = new Uint32Array(buffer, labelTexts, LABEL_TEXT_WORDS * labelPlaces).fill(0);
  const labels = new Float32Array(buffer, labelTexts, LABEL_TEXT_WORDS * labelPlaces);
  const numbers = new Float64Array(buffer, labelTexts, (LABEL_TEXT_WORDS * labelPlaces) / 2);
  let at = labelBytes;
  for (const [latin1, label] of labelledTexts(texts)) {
    const text = Buffer.from(latin1, 'latin1');
    bytes.set(text, at);
    let place = Number(hash64(text, 0n) & BigInt(mask));
    while (table[LABEL_TEXT_WORDS * place + LABEL_TEXT.isUsed] !== 0) place = (place + 1) & mask;
    const entry = LABEL_TEXT_WORDS * place;
    table[entry + LABEL_TEXT.from] = at;
    table[entry + LABEL_TEXT.length] = text.length;
    labels[entry + LABEL_TEXT.label] = label;
    table[entry + LABEL_TEXT.isUsed] = 1;
    const number = labelNumber(text, 0, text.length, dialect) ?? Number.NaN;
    // If several labels have the same number, the plain form reports it.
    numbers[entry / 2 + LABEL_TEXT_NUMBER] = texts?.numbers.get(number) === label ? number : Number.NaN;
    at += text.length;
  }
  frame[FRAME.labelTexts] = labelTexts;
  frame[FRAME.labelMask] = mask;
  frame[FRAME.labelsAreNumbers] = texts !== undefined && texts.numbers.size > 0 ? 1 : 0;
  new Float32Array(frame.buffer, frame.byteOffset, FRAME_WORDS)[FRAME.labelOther] = texts?.other ?? Number.NaN;
}

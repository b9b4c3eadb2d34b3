/** A line of JSON as a value whose numbers keep their text: no id is rounded. */
import { PaddletError } from '../../../base/errors.ts';
import { LIMITS } from '../../../base/limits.ts';

/** A number of the text, as it is there. */
export interface RawNumber {
  readonly rawJSON: string;
}
export type Json = null | boolean | string | RawNumber | readonly Json[] | { readonly [key: string]: Json };

interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
}

// TC39's JSON.parse source text access, in V8 since 11.4: TypeScript does not know it.
const { parse, rawJSON, isRawJSON } = JSON as unknown as JsonWithSource;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws `DataInvalid`. */
export function jsonOf(bytes: Uint8Array): Json {
  refuseLarge(bytes);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw faulty('text that is not UTF-8');
  }
  const parsed = parsedOf(text);
  if (!('fault' in parsed)) return parsed.value;
  const { json, moved } = withoutNonFinite(text);
  const again = moved.length === 0 ? parsed : parsedOf(json);
  if (!('fault' in again)) return again.value;
  const { fault } = again;
  if (fault === undefined) throw faulty('no JSON');
  const before = moved.findLast(({ at }) => at <= fault)?.by ?? 0;
  throw faulty(`not valid JSON at character ${fault + before + 1}`);
}

/** `fault`: where the text stops being JSON, if known. */
function parsedOf(text: string): { readonly value: Json } | { readonly fault: number | undefined } {
  try {
    return {
      value: parse(text, (_, value, { source }) => (typeof value === 'number' ? rawJSON(source!) : value)) as Json,
    };
  } catch (error) {
    // The words for it are those of the engine, and change with it.
    const position = /at position (\d+)/.exec((error as Error).message)?.[1];
    return { fault: position === undefined ? undefined : Number(position) };
  }
}

const NONE = 'null';
/** The beginning or the end of a text, what is escaped, and outside of texts what Python writes for floats. */
const NON_FINITE = /\\.|"|NaN|-?Infinity/gs;

/** The text with null in place of NaN and Infinity; `moved`: how many characters longer it was, from which place on. */
function withoutNonFinite(text: string): {
  readonly json: string;
  readonly moved: readonly { readonly at: number; readonly by: number }[];
} {
  const moved: { at: number; by: number }[] = [];
  let isText = false;
  let by = 0;
  const json = text.replace(NON_FINITE, (found, offset: number) => {
    if (found === '"') isText = !isText;
    if (isText || found === '"' || found.startsWith('\\')) return found;
    const at = offset - by;
    by += found.length - NONE.length;
    moved.push({ at: at + NONE.length, by });
    return NONE;
  });
  return { json, moved };
}

const faulty = (what: string): PaddletError => new PaddletError('DataInvalid', what);

/** Counts what is open at once, and values, by what is outside of texts: each value may cost a hundred bytes. */
function refuseLarge(bytes: Uint8Array): void {
  let [depth, most, values] = [0, 0, 1];
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) values += 1;
    else if ((byte | 32) === OPEN) {
      depth += 1;
      most = Math.max(most, depth);
      values += 1;
    } else if ((byte | 32) === CLOSE) depth -= 1;
  }
  if (most > LIMITS.jsonDepth) throw faulty(`more than ${LIMITS.jsonDepth} nested objects and arrays`);
  if (values > LIMITS.jsonValues) throw faulty(`more than ${LIMITS.jsonValues} values`);
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
/** `[` and `{`, `]` and `}` differ in one bit. */
const OPEN = 123;
const CLOSE = 125;

export const isRawNumber = (value: Json): value is RawNumber => isRawJSON(value);
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
export const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !isRawNumber(value) && !isArray(value);

/** What it is, for messages. */
export function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (isRawNumber(value)) return 'a number';
  if (isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : 'true or false';
}

const WHOLE = /^(?:0|-?[1-9]\d*)$/;

/** What it is instead of one value with a text; undefined if it is that. */
export function unfit(value: Json): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'a text with an incomplete character';
  if (typeof value === 'boolean') return undefined;
  if (!isRawNumber(value)) return kindOf(value);
  const isHeld = WHOLE.test(value.rawJSON) || Number.isFinite(Number(value.rawJSON));
  return isHeld ? undefined : `${value.rawJSON.slice(0, SHOWN_DIGITS)}, which a 64-bit float cannot represent,`;
}

const SHOWN_DIGITS = 40;

/**
 * The text by which a value that is fit is an id, a label or a number (docs/data.md): of a whole number its digits, of
 * others the shortest that reads as the same f64.
 */
export function canonicalText(value: Json): string {
  if (value === null || !isRawNumber(value)) return String(value);
  if (WHOLE.test(value.rawJSON)) return value.rawJSON;
  const float = Number(value.rawJSON);
  // As digits, however many: 1e21 is a whole number.
  return Number.isInteger(float) ? String(BigInt(float)) : String(float);
}

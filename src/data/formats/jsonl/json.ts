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
  if (depthOf(bytes) > LIMITS.jsonDepth)
    throw faulty(`more than ${LIMITS.jsonDepth} objects and arrays in one another`);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw faulty('text that is not UTF-8');
  }
  try {
    return parse(text, (_, value, { source }) => (typeof value === 'number' ? rawJSON(source!) : value)) as Json;
  } catch (error) {
    throw faulty(`no JSON: ${(error as Error).message}`);
  }
}

const faulty = (what: string): PaddletError => new PaddletError('DataInvalid', what);

/** Brackets that are open at once, those of texts left out. */
function depthOf(bytes: Uint8Array): number {
  let [depth, most] = [0, 0];
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if ((byte | 32) === OPEN) most = Math.max(most, ++depth);
    else if ((byte | 32) === CLOSE) depth -= 1;
  }
  return most;
}

const QUOTE = 34;
const BACKSLASH = 92;
/** `[` and `{`, `]` and `}` differ in one bit. */
const OPEN = 123;
const CLOSE = 125;

export const isNumber = (value: Json): value is RawNumber => isRawJSON(value);
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
export const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !isNumber(value) && !isArray(value);

/** What it is, for messages. */
export function kindOf(value: Json): string {
  if (value === null) return 'null';
  if (isNumber(value)) return 'a number';
  if (isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'a text' : 'a truth value';
}

const WHOLE = /^(?:0|-?[1-9]\d*)$/;

/**
 * The text by which a value is an id, a label or a number (docs/data.md): of a whole number its digits, of others the
 * shortest that reads as the same f64. Undefined for what has no text.
 */
export function canonicalText(value: Json): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (value === null || !isNumber(value)) return undefined;
  return WHOLE.test(value.rawJSON) ? value.rawJSON : String(Number(value.rawJSON));
}

/** Turns schema errors into messages for users: the field, what was expected, what was probably meant. */
import { closest, distance } from 'fastest-levenshtein';
import type * as z from 'zod';
import { DURATION_EXPECTED, DURATION_FIELDS } from './field-types.ts';
import { byOtherName, plain } from './other-names.ts';
import type { Complaint } from './source-text.ts';

/**
 * Fields of each section by dotted path; those of all variants of a union together. `*` stands for any name: `tables.*`
 * are the settings of any table.
 */
export type FieldNames = ReadonlyMap<string, readonly string[]>;

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly oneOf?: readonly SchemaNode[];
  readonly anyOf?: readonly SchemaNode[];
  /** Schema of every entry of a record; `false` if it has none. */
  readonly additionalProperties?: SchemaNode | boolean;
}

export function fieldNamesOf(schema: Record<string, unknown>): FieldNames {
  const names = new Map<string, string[]>();
  const visit = (node: SchemaNode, path: string): void => {
    for (const variant of [...(node.oneOf ?? []), ...(node.anyOf ?? [])]) visit(variant, path);
    for (const [name, child] of Object.entries(node.properties ?? {})) {
      const known = names.get(path) ?? [];
      if (!known.includes(name)) names.set(path, [...known, name]);
      visit(child, path === '' ? name : `${path}.${name}`);
    }
    if (typeof node.additionalProperties === 'object') visit(node.additionalProperties, `${path}.*`);
  };
  visit(schema as SchemaNode, '');
  return names;
}

export function complaintsOf(error: z.ZodError, fields: FieldNames, value: unknown): Complaint[] {
  return error.issues.flatMap((issue) => complaintOf(issue, fields, value));
}

function complaintOf(issue: z.core.$ZodIssue, fields: FieldNames, value: unknown): Complaint[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const found = valueAt(value, path);
  if (DURATION_FIELDS.has(path.join('.')) && found !== undefined && typeof found !== 'string') {
    return [{ path, message: `${DURATION_EXPECTED}, got ${shown(found)}` }];
  }
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        atKey: true,
        message: unknownField(path, key, fields, found),
      }));
    case 'invalid_value':
      return [{ path, message: notOneOf(issue.values.map(String), found) }];
    case 'invalid_union':
      return unionComplaints(issue, path, fields, value);
    case 'invalid_type':
      if (found === undefined) return [{ path, message: 'is required' }];
      if (path.join('.') === 'data.columns' && Array.isArray(found)) return [{ path, message: notListed(found) }];
      return [{ path, message: `expected ${typeName(issue.expected)}, got ${shown(found)}` }];
    case 'too_small':
    case 'too_big':
      return [{ path, message: `${boundOf(issue)}, got ${shown(found)}` }];
    default:
      return [{ path, message: found === undefined ? issue.message : `${issue.message}, got ${shown(found)}` }];
  }
}

/** As others list columns: names, or names with types. */
function notListed([first]: readonly unknown[]): string {
  const fields = typeof first === 'string' ? { name: first } : ((first ?? {}) as { name?: unknown; type?: unknown });
  const [name, type] = [fields.name, fields.type].map((text) => (typeof text === 'string' ? text : undefined));
  const such = `${shownKey(name ?? 'age')}: ${shownKey(type ?? 'number')}`;
  const entry = first === undefined ? 'an empty list' : `a list that begins with ${shown(first)}`;
  return `expected a mapping of names to types, such as ${such}, got ${entry}`;
}

/** The key as YAML. */
const shownKey = (text: string): string => (/^\w+$/.test(text) ? text : shown(text));

function unknownField(path: readonly (string | number)[], key: string, fields: FieldNames, found: unknown): string {
  const type = typeof found === 'object' && found !== null ? (found as { type?: unknown }).type : undefined;
  if (IS_DECAY.test(key)) return `unknown field here; ${decayOf(path.at(-1) === 'optimizer' ? type : undefined)}`;
  const known = fieldsOf(path, fields);
  const other = byOtherName(key);
  if (type === 'ftrl' && other === 'optimizer.learningRate') return `${notOf(path, type)}; did you mean alpha?`;
  // `momentum` is a field of optimizer, but not of every optimizer.
  if (known.includes(key)) return notOf(path, type);
  // Checked before similar spellings: `eta` is not a typo of `beta`.
  if (other !== undefined) return `unknown field; did you mean ${within(path, other)}?`;
  const near = nearest(key, known);
  if (near !== undefined) return `unknown field; did you mean ${near}?`;
  const elsewhere = [...fields].flatMap(([at, names]) =>
    at.includes('*') ? [] : names.filter((name) => plain(name) === plain(key)).map((name) => dotted(at, name)),
  );
  if (elsewhere.length > 0) return `unknown field here; did you mean ${elsewhere.join(' or ')}?`;
  return known.length === 0 ? 'unknown field' : `unknown field; expected one of ${known.join(', ')}`;
}

const notOf = (path: readonly (string | number)[], type: unknown): string =>
  `is not a field of ${path.join('.')} type ${shown(type)}`;

const dotted = (at: string, name: string): string => (at === '' ? name : `${at}.${name}`);

/** The field under its own name where it belongs to this section: `learningRate` in `tables.w.optimizer`. */
function within(path: readonly (string | number)[], field: string): string {
  const section = `${path.at(-1)}.`;
  return field.startsWith(section) ? field.slice(section.length) : field;
}

/** What others call the decay of weights, and fields of optimizers that have another one. */
const IS_DECAY = /^(l2|lambda2?|reg_?lambda|l2_?(reg|regularization)|weight_?decay)$/i;

function decayOf(type: unknown): string {
  if (type === 'adamw') return 'the decay of weights of type adamw is weightDecay';
  if (type === 'ftrl') return 'the decay of weights of type ftrl is lambda2';
  const where = type === undefined ? 'optimizer.l2' : `l2 with type ${shown(type)}`;
  return `the decay of weights is ${where}, or weightDecay with type adamw`;
}

/**
 * Fields of a path. `tables.w` is not in the schema and has those of `tables.*`: a user's name may have any characters.
 */
const fieldsOf = (path: readonly (string | number)[], fields: FieldNames): readonly string[] =>
  [path, ...path.map((_, at) => path.with(at, '*'))].map((names) => fields.get(names.join('.'))).find(Boolean) ?? [];

function unionComplaints(
  issue: z.core.$ZodIssueInvalidUnion,
  path: (string | number)[],
  fields: FieldNames,
  value: unknown,
): Complaint[] {
  const { discriminator, options } = issue as { discriminator?: string; options?: readonly unknown[] };
  if (discriminator !== undefined) {
    const at = path.at(-1) === discriminator ? path : [...path, discriminator];
    const keys = Object.keys(valueAt(value, at.slice(0, -1)) ?? {});
    const typo = keys.includes(discriminator) ? undefined : nearest(discriminator, keys);
    if (typo !== undefined) {
      const message = `unknown field; did you mean ${discriminator}?`;
      return [{ path: [...at.slice(0, -1), typo], atKey: true, message }];
    }
    return [{ path: at, message: notOneOf((options ?? []).map(String), valueAt(value, at)) }];
  }
  const firsts = issue.errors.map((issues) => issues[0]).filter((first) => first !== undefined);
  const found = valueAt(value, path);
  if (found !== undefined && firsts.some(({ code }) => code === 'invalid_value')) {
    const expected = firsts.map(wordsFor);
    if (expected.every((words) => words !== undefined)) return [{ path, message: notOneOf(expected.flat(), found) }];
  }
  // A field with two forms: report the form that matched furthest.
  const isThere = ({ path: at }: z.core.$ZodIssue): boolean =>
    at.length > 0 &&
    valueAt(value, [...path, ...at.map((part) => (typeof part === 'number' ? part : String(part)))]) !== undefined;
  const inner =
    firsts.find(isThere) ??
    firsts.find(({ path: at }) => at.length > 0) ??
    firsts.find(({ code }) => code === 'custom' || code === 'unrecognized_keys') ??
    firsts[0];
  if (inner === undefined) return [{ path, message: `${issue.message}, got ${shown(valueAt(value, path))}` }];
  return complaintOf({ ...inner, path: [...path, ...inner.path] } as z.core.$ZodIssue, fields, value);
}

/** Words for one form of a field, if it takes words or numbers. */
function wordsFor(issue: z.core.$ZodIssue): readonly string[] | undefined {
  if (issue.path.length > 0) return undefined;
  if (issue.code === 'invalid_value') return issue.values.map(String);
  const isNumber = issue.code === 'invalid_type' && (issue.expected === 'number' || issue.expected === 'int');
  return isNumber ? [typeName(issue.expected)] : undefined;
}

function notOneOf(values: readonly string[], found: unknown): string {
  const expected = values.length === 1 ? `expected ${values[0]}` : `expected one of ${values.join(', ')}`;
  if (found === undefined) return `is required: ${expected}`;
  const near = typeof found === 'string' ? nearest(found, values) : undefined;
  return `${expected}, got ${shown(found)}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

function boundOf(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const [bound, word, edge] =
    issue.code === 'too_small' ? [issue.minimum, 'at least', 'more than'] : [issue.maximum, 'at most', 'less than'];
  const unit = issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : '';
  return `expected ${issue.inclusive === false ? edge : word} ${bound}${unit}`;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  object: 'fields',
  record: 'fields',
  array: 'a list',
};

function typeName(expected: string): string {
  return TYPE_NAMES[expected] ?? expected;
}

/** The value as in the file, cut to one line. */
function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing');
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let inner = value;
  for (const part of path) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, part)) return undefined;
    inner = (inner as Record<string | number, unknown>)[part];
  }
  return inner;
}

/** The candidate that `word` is a typo of: within one edit for a short word, two, or a third of a long word. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const lower = word.toLowerCase();
  const byLower = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  const best = closest(lower, [...byLower.keys()]);
  return distance(lower, best) <= (word.length <= 3 ? 1 : Math.max(2, Math.floor(word.length / 3)))
    ? byLower.get(best)
    : undefined;
}

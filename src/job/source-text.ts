/** The job file's text with positions, and the overrides of the command line. */
import { type Document, isMap, isNode, isScalar, LineCounter, type Pair, parseDocument, visit } from 'yaml';
import { PaddletError } from '../base/errors.ts';

export interface Place {
  /** The file, or `--set path=value` when that is where the value came from. */
  readonly source: string;
  /** 1-based; undefined for `--set`. */
  readonly line: number | undefined;
  readonly column: number | undefined;
}

export interface Complaint {
  readonly path: readonly (string | number)[];
  /** Point at the name of the field rather than at its value. */
  readonly atKey?: boolean;
  readonly message: string;
}

export interface SourceText {
  /** The file's content with the overrides applied; not validated. */
  readonly value: unknown;
  placeOf(path: readonly (string | number)[], atKey: boolean): Place;
}

/** Reads YAML and applies `--set` flags. Throws `JobInvalid` for what cannot be read at all. */
export function parseSource(name: string, text: string, sets: readonly string[]): SourceText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true });
  const broken = [...document.errors, ...document.warnings].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { place: { source: name, line, column: col }, message: error.message };
  });
  const alias = firstAlias(document);
  if (alias !== undefined) {
    const { line, col } = lines.linePos(alias);
    broken.push({ place: { source: name, line, column: col }, message: NO_ALIASES });
  }
  if (broken.length > 0)
    throw jobInvalid(
      name,
      broken.map(({ place, message }) => ({ place, field: '', message })),
    );
  if (!isMap(document.contents)) {
    const message = 'expected fields such as "name: my-job"';
    throw jobInvalid(name, [{ place: { source: name, line: 1, column: 1 }, field: '', message }]);
  }
  const value = document.toJS() as Record<string, unknown>;
  const overridden = new Map<string, string>();
  for (const set of sets) overridden.set(applySet(value, set), `--set ${set}`);
  return { value, placeOf: (path, atKey) => placeOf(document, lines, name, overridden, path, atKey) };
}

const NO_ALIASES = 'aliases (*name) are not allowed in job files: a few aliases can expand to any amount of memory';

/** Where the first alias is. */
function firstAlias(document: Document): number | undefined {
  let offset: number | undefined;
  visit(document, {
    Alias: (_key, alias) => {
      offset = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return offset;
}

/** `path.to.field=value`; the value is read as YAML (`5`, `true`, `[a, b]`, text). The path it set, joined. */
function applySet(target: Record<string, unknown>, set: string): string {
  const at = set.indexOf('=');
  const path = set.slice(0, Math.max(at, 0)).split('.');
  if (at < 1 || path.some((part) => part === '')) {
    throw new PaddletError('Usage', `--set ${set}: expected path.to.field=value`, {
      hint: 'for example --set training.passes=3',
    });
  }
  const document = parseDocument(set.slice(at + 1), { prettyErrors: false, strict: true });
  const error = document.errors[0]?.message ?? (firstAlias(document) === undefined ? undefined : NO_ALIASES);
  if (error !== undefined) throw new PaddletError('Usage', `--set ${set}: the value is not YAML: ${error}`);
  let inner = target;
  for (const part of path.slice(0, -1)) {
    const next = Object.hasOwn(inner, part) ? inner[part] : undefined;
    if (typeof next === 'object' && next !== null && !Array.isArray(next)) inner = next as Record<string, unknown>;
    else inner = put(inner, part, {});
  }
  put(inner, path[path.length - 1] as string, document.toJS());
  return path.join('.');
}

/** Names such as `__proto__` become plain (unknown) fields too. */
function put<T>(target: object, name: string, value: T): T {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  return value;
}

function placeOf(
  document: Document,
  lines: LineCounter,
  name: string,
  overridden: ReadonlyMap<string, string>,
  path: readonly (string | number)[],
  atKey: boolean,
): Place {
  for (let length = path.length; length > 0; length--) {
    const set = overridden.get(path.slice(0, length).join('.'));
    if (set !== undefined) return { source: set, line: undefined, column: undefined };
  }
  // A section that exists only because of the command line.
  const inside = [...overridden].find(([field]) => field.startsWith(`${path.join('.')}.`));
  if (inside !== undefined && !document.hasIn(path)) return { source: inside[1], line: undefined, column: undefined };
  const offset = offsetOf(document, path, atKey);
  const { line, col } = lines.linePos(offset);
  return { source: name, line, column: col };
}

/** Start of the value at `path`, or of the nearest enclosing one that is in the file. */
function offsetOf(document: Document, path: readonly (string | number)[], atKey: boolean): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const [depth, part] of path.entries()) {
    const pair = isMap(node)
      ? (node.items as Pair[]).find(({ key }) => isScalar(key) && String(key.value) === String(part))
      : undefined;
    const next = pair?.value ?? (typeof part === 'number' ? document.getIn(path.slice(0, depth + 1), true) : undefined);
    if (pair !== undefined) offset = startOf(pair.key) ?? offset;
    if (next === undefined || next === null) return offset;
    const last = depth === path.length - 1;
    if (!(last && atKey)) offset = startOf(next) ?? offset;
    // A field that is missing from a section is reported at the section's name.
    if (!last && pair !== undefined && isMap(next)) offset = startOf(pair.key) ?? offset;
    node = next;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

export interface JobError {
  readonly place: Place;
  /** Dotted; empty for the file as a whole. */
  readonly field: string;
  readonly message: string;
}

/** One line an error: `file:line:column: field: what is wrong`. All are in `details.errors` too. */
export function jobInvalid(name: string, errors: readonly JobError[]): PaddletError {
  const text = errors.map(({ place, field, message }) => {
    const where = place.line === undefined ? place.source : `${place.source}:${place.line}:${place.column}`;
    return `${where}: ${field === '' ? '' : `${field}: `}${message}`;
  });
  const message = text.length === 1 ? (text[0] as string) : `${name} has ${text.length} errors\n  ${text.join('\n  ')}`;
  const details = { errors: errors.map(({ place, ...rest }) => ({ ...place, ...rest })) };
  return new PaddletError('JobInvalid', message, {
    details,
    hint: '`paddlet docs job-file` describes every field; `paddlet doctor --schema` prints the JSON Schema',
  });
}

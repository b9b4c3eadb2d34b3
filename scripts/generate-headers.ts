/**
 * Makes the code that writes and reads the headers of hot messages from their tables of fields (`npm run
 * build:headers`). A loop over the tables would do the same with 5 to 15 % fewer small requests a second. The result is
 * in git; a test compares it.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Column, columnsOf } from '../src/protocol/messages/field-table.ts';
import { HOT_MESSAGES } from '../src/protocol/messages/hot-messages.ts';

export const GENERATED = fileURLToPath(new URL('../src/protocol/frames/generated/headers.ts', import.meta.url));

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** The functions made so far, by name: fields of one name are alike in all messages. */
class Functions {
  readonly #bodies = new Map<string, string>();

  add(name: string, body: string): void {
    const known = this.#bodies.get(name);
    if (known !== undefined && known !== body) throw new Error(`fields that need ${name} differ`);
    this.#bodies.set(name, body);
  }

  get all(): string[] {
    return [...this.#bodies.values()];
  }
}

const functions = new Functions();
const keys = new Set<string>();
const texts = new Set<string>();
const choiceLists = new Map<string, string>();

function choicesOf({ name, choices }: Column): string {
  const list = [name, ...choices].map((word) => word.toUpperCase()).join('_');
  choiceLists.set(list, `const ${list} = choices(${choices.map((text) => `'${text}'`).join(', ')});`);
  return list;
}

/** How many pairs a map with these fields has. */
function pairsOf(columns: readonly Column[], others: number): string {
  const required = columns.filter(({ isOptional }) => !isOptional).length + others;
  const optional = columns.filter(({ isOptional }) => isOptional);
  return [String(required), ...optional.map(({ name }) => `(${name} === undefined ? 0 : 1)`)].join(' + ');
}

const isOfMaps = (kind: Column['kind']): boolean => ['map', 'list', 'usually'].includes(kind);

function writeCall(column: Column): string {
  const { name, kind, max } = column;
  if (kind === 'text') return `pen.text(${name}, ${max});`;
  if (kind === 'decimal') return `pen.text(${name}, ${max});`;
  if (kind === 'choice') return `pen.choice(${name}, ${choicesOf(column)});`;
  if (kind === 'flag') return `pen.flag(${name});`;
  if (kind === 'counts') return `pen.counts(${name});`;
  if (isOfMaps(kind)) return `${writeFunction(column)}(pen, ${name});`;
  return `pen.number(${name});`;
}

function writeFields(columns: readonly Column[], from: string, others: number, opening: readonly string[]): string[] {
  const names = columns.map(({ name }) => name);
  return [
    ...(names.length === 0 ? [] : [`const { ${names.join(', ')} } = ${from};`]),
    `pen.openMap(${from}, ${pairsOf(columns, others)});`,
    ...opening,
    ...columns.flatMap((column) => {
      keys.add(column.name);
      const lines = [`pen.bytes(KEY.${column.name});`, writeCall(column)];
      return column.isOptional ? [`if (${column.name} !== undefined) {`, ...lines.map((l) => `  ${l}`), '}'] : lines;
    }),
  ];
}

const body = (head: string, lines: readonly string[]): string =>
  [`${head} {`, ...lines.map((line) => `  ${line}`), '}'].join('\n');

function writeFunction({ name, kind, columns }: Column): string {
  const one = `write${capitalized(name)}${kind === 'list' ? 'Item' : ''}`;
  const guard = (test: string): string[] => [`if (${test}) {`, '  pen.fail();', '  return;', '}'];
  functions.add(
    one,
    body(`function ${one}(pen: Pen, value: unknown): void`, [
      ...guard('!isPlainMap(value)'),
      ...writeFields(columns, 'value', 0, []),
    ]),
  );
  if (kind !== 'list') return one;
  const all = `write${capitalized(name)}`;
  functions.add(
    all,
    body(`function ${all}(pen: Pen, value: unknown): void`, [
      ...guard('!Array.isArray(value)'),
      'pen.openList(value.length);',
      `for (const item of value) ${one}(pen, item);`,
    ]),
  );
  return all;
}

/** `parent`: the map that the field is in, '' for the header itself. */
function readCall(column: Column, parent: string): string {
  const { name, kind, max } = column;
  const place = parent === '' ? name : `${parent}${capitalized(name)}`;
  if (kind === 'text' || kind === 'decimal') texts.add(place);
  if (kind === 'text') return `cursor.text(${max}, LAST.${place})`;
  if (kind === 'decimal') return `cursor.decimal(LAST.${place})`;
  if (kind === 'choice') return `cursor.choice(${choicesOf(column)})`;
  if (kind === 'flag') return 'cursor.flag()';
  if (kind === 'real') return 'cursor.real()';
  if (kind === 'share') return 'cursor.share()';
  if (kind === 'counts') return `cursor.counts(${column.maxItems}, ${max})`;
  if (kind === 'count') return `cursor.count(${max === Number.MAX_SAFE_INTEGER ? 'MAX_COUNT' : max})`;
  return `${readFunction(column)}(cursor)`;
}

/** As the formatter of this project writes it, inside a function. */
function objectOf(before: string, fields: readonly string[]): string[] {
  const line = `${before} { ${fields.join(', ')} };`;
  return line.length <= 118 ? [line] : [`${before} {`, ...fields.map((field) => `  ${field},`), '};'];
}

function readFields(columns: readonly Column[], others: number, given: readonly string[], parent: string): string[] {
  const required = columns.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
  const optional = columns.filter(({ isOptional }) => isOptional).map(({ name }) => name);
  const fields = [...given, ...required];
  const reading = columns.flatMap((column) => {
    const { name, isOptional } = column;
    if (isOptional) return [`const ${name} = cursor.meets(KEY.${name}) ? ${readCall(column, parent)} : undefined;`];
    return [`cursor.key(KEY.${name});`, `const ${name} = ${readCall(column, parent)};`];
  });
  const expected = `cursor.expect(pairs === ${pairsOf(columns, others)});`;
  if (optional.length === 0) return [...reading, expected, ...objectOf('return', fields)];
  return [
    ...reading,
    expected,
    ...objectOf('const map: Record<string, unknown> =', fields),
    ...optional.map((name) => `if (${name} !== undefined) map.${name} = ${name};`),
    'return map;',
  ];
}

function readFunction({ name, kind, columns, max }: Column): string {
  const one = `read${capitalized(name)}${kind === 'list' ? 'Item' : ''}`;
  functions.add(
    one,
    body(`function ${one}(cursor: Cursor): unknown`, [
      'const pairs = cursor.openMap();',
      ...readFields(columns, 0, [], name),
    ]),
  );
  if (kind !== 'list') return one;
  const all = `read${capitalized(name)}`;
  functions.add(
    all,
    body(`function ${all}(cursor: Cursor): unknown`, [
      'const list: unknown[] = [];',
      `const items = cursor.openList(${max});`,
      `for (let i = 0; i < items && !cursor.hasFailed; i++) list.push(${one}(cursor));`,
      'return list;',
    ]),
  );
  return all;
}

function messageCode(type: string, side: 'request' | 'reply'): string {
  const columns = columnsOf(HOT_MESSAGES[type as keyof typeof HOT_MESSAGES][side]);
  const name = `${capitalized(type)}${capitalized(side)}`;
  const opening = `OPENING.${type}`;
  functions.add(
    `write${name}`,
    body(
      `function write${name}(pen: Pen, header: PlainMap): void`,
      writeFields(columns, 'header', 1, [`pen.bytes(${opening});`]),
    ),
  );
  functions.add(
    `read${name}`,
    body(
      `function read${name}(cursor: Cursor, pairs: number): unknown`,
      readFields(columns, 1, [`type: '${type}'`], ''),
    ),
  );
  return `    { type: '${type}', opening: ${opening}, write: write${name}, read: read${name} },`;
}

const types = Object.keys(HOT_MESSAGES);
const object = (name: string, words: Iterable<string>, value: (word: string) => string): string =>
  [`const ${name} = {`, ...[...words].map((word) => `  ${word}: ${value(word)},`), '} as const;'].join('\n');

export function generateHeaders(): string {
  const requests = types.map((type) => messageCode(type, 'request'));
  const replies = types.map((type) => messageCode(type, 'reply'));
  const table = ['  request: [', ...requests, '  ],', '  reply: [', ...replies, '  ],', '  error: [],', '  join: [],'];
  return `${[
    '/** Made by scripts/generate-headers.ts from src/protocol/messages/hot-messages.ts: change these. */',
    [
      "import type { Cursor } from '../cursor.ts';",
      "import type { FrameKind } from '../frame-kind.ts';",
      "import { choices, opening, shortText } from '../header-bytes.ts';",
      "import { LastText } from '../last-text.ts';",
      "import { isPlainMap, type Pen, type PlainMap } from '../pen.ts';",
    ].join('\n'),
    'const MAX_COUNT = Number.MAX_SAFE_INTEGER;',
    object('OPENING', types, (type) => `opening('${type}')`),
    object('KEY', keys, (key) => `shortText('${key}')`),
    [...choiceLists.values()].join('\n'),
    `/** The texts read last. */\n${object('LAST', texts, () => 'new LastText()')}`,
    ...functions.all,
    body('export interface HotHeader', [
      'readonly type: string;',
      'readonly opening: Uint8Array;',
      'readonly write: (pen: Pen, header: PlainMap) => void;',
      'readonly read: (cursor: Cursor, pairs: number) => unknown;',
    ]),
    ['export const HOT_HEADERS: Readonly<Record<FrameKind, readonly HotHeader[]>> = {', ...table, '};'].join('\n'),
  ].join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(GENERATED, generateHeaders());

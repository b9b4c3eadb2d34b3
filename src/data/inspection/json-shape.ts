/** Which keys JSON records have, and what is behind them: what the first records have are columns. */
import { LIMITS } from '../../base/limits.ts';
import { canonicalText, isArray, isObject, isRawNumber, type Json, unfit } from '../formats/jsonl/json.ts';
import { namedBy, TOO_DEEP, withOwnNames } from './keys.ts';
import { LIST_SEPARATOR, MOST_UNLISTED, type SourceColumn } from './table-source.ts';

/** `nested`: an array of arrays or objects. */
type Kind = 'number' | 'text' | 'boolean' | 'array' | 'nested' | 'object';
type JsonObject = Extract<Json, { readonly [key: string]: Json }>;

interface KeyNode {
  readonly keys: readonly string[];
  readonly below: Map<string, KeyNode>;
  /** Kinds of its values that are not null. */
  readonly kinds: Set<Kind>;
  /** Number of its column, if it is one. */
  column: number | undefined;
}

const nodeOf = (keys: readonly string[]): KeyNode => ({ keys, below: new Map(), kinds: new Set(), column: undefined });

export class JsonShape {
  readonly #root = nodeOf([]);
  readonly #unlisted = new Set<string>();
  readonly #nodes: KeyNode[] = [];
  #named: readonly SourceColumn[] = [];
  #known = 0;

  /** Adds the keys of one of the first records. */
  learn(record: JsonObject): void {
    this.#learn(this.#root, record);
  }

  #learn({ keys, below }: KeyNode, object: JsonObject): void {
    for (const [key, value] of Object.entries(object)) {
      let node = below.get(key);
      if (node === undefined) {
        if (this.#known === LIMITS.columns) {
          this.#noteUnlisted(keys, key);
          continue;
        }
        this.#known += 1;
        node = nodeOf([...keys, key]);
        below.set(key, node);
      }
      if (value === null) continue;
      node.kinds.add(kindOf(value));
      // What is deeper has no path.
      if (isObject(value) && node.keys.length < LIMITS.pathKeys) this.#learn(node, value);
    }
  }

  /** Once the first records are learned: their keys are columns, in the order in which they came. */
  settle(): void {
    const visit = ({ below }: KeyNode): void => {
      for (const node of below.values()) {
        if (node.below.size > 0 && node.kinds.size === 1) visit(node);
        else node.column = this.#nodes.push(node) - 1;
      }
    };
    visit(this.#root);
    const named = this.#nodes.map(({ keys, kinds }) => {
      const column = namedBy(keys);
      return { ...column, unreadable: column.unreadable ?? faultOf(kinds, keys.length) };
    });
    this.#named = withOwnNames(named);
  }

  get columns(): SourceColumn[] {
    return this.#named.map((column, at) => {
      const { kinds } = this.#nodes[at]!;
      return { ...column, stored: [...kinds].map(shownKind).join(', '), isList: kinds.has('array') };
    });
  }

  /** The text of each column; undefined if a value does not fit the kinds that the first records have there. */
  textsOf(record: JsonObject): readonly string[] | undefined {
    const texts = new Array<string>(this.#nodes.length).fill('');
    return this.#fill(this.#root, record, texts) ? texts : undefined;
  }

  #fill({ keys, below }: KeyNode, object: JsonObject, texts: string[]): boolean {
    for (const [key, value] of Object.entries(object)) {
      const node = below.get(key);
      if (node === undefined) this.#noteUnlisted(keys, key);
      else if (value === null) continue;
      else if (node.column === undefined) {
        if (!isObject(value) || !this.#fill(node, value, texts)) return false;
      } else if (this.#named[node.column]!.unreadable === undefined) {
        const text = textOf(node.kinds, value);
        if (text === undefined) return false;
        texts[node.column] = text;
      }
    }
    return true;
  }

  get unlisted(): string[] {
    return [...this.#unlisted];
  }

  #noteUnlisted(keys: readonly string[], key: string): void {
    if (this.#unlisted.size === MOST_UNLISTED) return;
    this.#unlisted.add([...keys, key].join('.').slice(0, LIMITS.columnNameCharacters));
  }
}

function kindOf(value: Json): Kind {
  if (isRawNumber(value)) return 'number';
  if (isArray(value))
    return value.some((one) => one !== null && typeof one === 'object' && !isRawNumber(one)) ? 'nested' : 'array';
  return isObject(value) ? 'object' : typeof value === 'string' ? 'text' : 'boolean';
}

const shownKind = (kind: Kind): string => (kind === 'nested' ? 'array' : kind);

function faultOf(kinds: ReadonlySet<Kind>, depth: number): string | undefined {
  if (kinds.has('object'))
    return kinds.size > 1
      ? 'only some of its values are objects'
      : depth < LIMITS.pathKeys
        ? 'its objects have no keys'
        : TOO_DEEP;
  return kinds.has('nested') ? 'its arrays have arrays or objects' : undefined;
}

/** `kinds`: of the values of the column before it. */
function textOf(kinds: Set<Kind>, value: Json): string | undefined {
  const kind = kindOf(value);
  if (kind === 'array' && isArray(value)) {
    if (kinds.size > 0 && !kinds.has('array')) return undefined;
    const values = value.filter((one) => one !== null);
    if (values.some((one) => unfit(one) !== undefined)) return undefined;
    kinds.add(kind);
    return latin1(
      values
        .map(canonicalText)
        .filter((text) => text !== '')
        .join(LIST_SEPARATOR),
    );
  }
  if (unfit(value) !== undefined) return undefined;
  kinds.add(kind);
  return latin1(canonicalText(value));
}

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** The most frequent values of a column in bounded memory, and which labels come with each. */

/** What is known of one text; worked out once, when it first comes. */
export interface Value {
  count: number;
  /** The text as a number; NaN if it is not a number. */
  readonly number: number;
  /** The text as a time, in ms since 1970; NaN if it is not a time. */
  readonly time: number;
  /** Whether another file has it; undefined when that is not known. */
  readonly isNew: boolean | undefined;
  /** Records by label; from the first that has one. */
  labels?: number[];
}

export class FrequentValues {
  readonly #most: number;
  readonly #values = new Map<string, Value>();
  readonly #make: (text: string) => Value;

  /** `make`: of a text that is not kept. */
  constructor(most: number, make: (text: string) => Value) {
    this.#most = most;
    this.#make = make;
  }

  /** Adds a record with the text, and returns its value. */
  add(text: string): Value {
    let value = this.#values.get(text);
    if (value === undefined) {
      value = this.#make(text);
      if (this.#values.size >= this.#most) this.#thin();
      this.#values.set(text, value);
    }
    value.count += 1;
    return value;
  }

  /** Values that are kept. */
  all(): Iterable<Value> {
    return this.#values.values();
  }

  /** The most frequent first. */
  top(count: number): { readonly text: string; readonly value: Value }[] {
    return [...this.#values]
      .map(([text, value]) => ({ text, value }))
      .sort((a, b) => b.value.count - a.value.count || (a.text < b.text ? -1 : 1))
      .slice(0, count);
  }

  /**
   * Values that do not come more often than half of them go. Counts of those that stay are exact if they were frequent
   * from the beginning, and otherwise too low.
   */
  #thin(): void {
    const counts = Uint32Array.from(this.#values.values(), ({ count }) => count).sort();
    const middle = counts[counts.length >>> 1]!;
    for (const [text, { count }] of this.#values) if (count <= middle) this.#values.delete(text);
  }
}

/**
 * The share of records whose label is that of most of the *other* records with the same value: near 1 where the value
 * gives the label away. A value of one record explains nothing, so neither does an id.
 */
export function explainedBy(values: Iterable<Value>, records: number): number {
  let explained = 0;
  for (const { labels = [] } of values) {
    const [most = 0, second = 0] = labels.filter((count) => count > 0).sort((a, b) => b - a);
    if (most > 1 && most - 1 >= second) explained += most;
  }
  return records === 0 ? 0 : explained / records;
}

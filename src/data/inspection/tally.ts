/** Counts the records, the bad records and the labels of a file. */
const SHOWN_BAD = 5;
const SHOWN_LABELS = 20;
const LABELS = 4096;

export interface BadFacts<B> {
  readonly records: number;
  /** The first ones. */
  readonly first: readonly B[];
}

export interface LabelCount {
  readonly label: number;
  readonly count: number;
}

/** `B`: facts that are kept about a bad record. */
export class RecordTally<B> {
  readonly #most: number;
  readonly #first: B[] = [];
  readonly #labels = new Map<number, number>();
  good = 0;
  bad = 0;

  /** `most`: maximum number of records to look at. */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** Number of records that are still wanted. */
  get left(): number {
    return this.#most - this.good - this.bad;
  }

  /** Counts the labels of good records. Tables count their labels separately, as texts. */
  addLabels(labels: Float32Array): void {
    for (const label of labels) {
      const count = this.#labels.get(label);
      if (count !== undefined || this.#labels.size < LABELS) this.#labels.set(label, (count ?? 0) + 1);
    }
  }

  addBad(record: B): void {
    this.bad += 1;
    if (this.#first.length < SHOWN_BAD) this.#first.push(record);
  }

  get badFacts(): BadFacts<B> {
    return { records: this.bad, first: this.#first };
  }

  get distinctLabels(): number {
    return this.#labels.size;
  }

  /** The most frequent labels, in descending order of their count. */
  get labels(): readonly LabelCount[] {
    return [...this.#labels]
      .map(([label, count]) => ({ label, count }))
      .sort((a, b) => b.count - a.count || a.label - b.label)
      .slice(0, SHOWN_LABELS);
  }
}

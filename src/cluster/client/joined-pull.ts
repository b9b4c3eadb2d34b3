/** The pull of several lists of ids at one pserver, in one request: dense blocks come once, with the first list. */
import type { PulledValues } from '../../model/model.ts';
import type { Answer, PserverSlice, RoutedIds } from './slicer.ts';

/** Values that were pulled for one list of ids. */
export interface PulledList {
  /** The dense ones are the same arrays for all lists of a pull. */
  readonly values: PulledValues;
  /** Routes for the push of their gradients. */
  readonly routed: RoutedIds;
}

export class JoinedPull {
  readonly fields: PserverSlice['fields'];
  readonly #slices: readonly PserverSlice[];

  /** `slices` has the slice of each list for this pserver. */
  constructor(slices: readonly PserverSlice[]) {
    this.#slices = slices;
    this.fields = {
      dense: slices[0]?.fields.dense ?? [],
      sparse: slices.flatMap(({ fields }) => fields.sparse),
    };
  }

  segments(): Uint8Array[] {
    const [first, ...others] = this.#slices;
    const into = first?.pullSegments() ?? [];
    for (const slice of others) slice.rowSegments(into);
    return into;
  }

  /** `into`: the values of each list. Throws `BadMessage` if the answer does not fit these segments. */
  scatter(answer: Answer, into: readonly PulledValues[]): void {
    const { dense, sparse } = this.fields;
    let next = 0;
    this.#slices.forEach((slice, list) => {
      next =
        list === 0
          ? slice.scatter(answer, into[list]!, dense.length + sparse.length)
          : slice.scatterRows(answer, into[list]!, next);
    });
  }
}

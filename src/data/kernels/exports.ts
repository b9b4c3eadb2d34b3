/** What `assembly/index.ts` exports. Addresses are byte offsets into the memory of the instance. */
export interface DataKernelExports {
  /** `frame` is the address of a frame (`sparse-kernel.ts`). Returns one of `READ`. */
  parseLines(frame: number): number;
  /** `frame` is the address of a frame (`formats/text/kernel-frame.ts`). Returns one of `READ`. */
  parseCsv(frame: number): number;
  parseJson(frame: number): number;
  parseInteractions(frame: number): number;
  /** To `out` the ids of `count` rows of `perRow` ids; without `buckets` when it is 0. */
  hashRows(ids: number, count: number, perRow: number, seed: bigint, buckets: bigint, out: number): void;
  /** To `out` the ids of `count` texts, which are spans of `bytes`. */
  hashSpans(
    bytes: number,
    starts: number,
    ends: number,
    count: number,
    seed: bigint,
    buckets: bigint,
    out: number,
  ): void;
  /** To `out` the ids of `count` whole numbers of 64 bits, by their decimal texts. */
  hashWholes(numbers: number, count: number, isSigned: number, seed: bigint, buckets: bigint, out: number): void;
  /** As `dedupe` of the kernels of `src/tensor`. */
  dedupe(
    ids: number,
    count: number,
    distinct: number,
    known: number,
    places: number,
    index: number,
    size: number,
    multiplier: bigint,
  ): number;
}

/** Why a call ended: all lines are read; as many records as wanted; the line at `at` is for the plain form. */
export const READ = { done: 0, full: 1, unusual: 2 } as const;

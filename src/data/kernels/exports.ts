/** What `assembly/index.ts` exports. Addresses are byte offsets into the memory of the instance. */
export interface DataKernelExports {
  /** `frame` is the address of a frame (`sparse-kernel.ts`). Returns one of `READ`. */
  parseLines(frame: number): number;
  /** As `dedupe` of the kernels of `src/tensor`. */
  dedupe(
    ids: number,
    count: number,
    distinct: number,
    places: number,
    index: number,
    size: number,
    multiplier: bigint,
  ): number;
}

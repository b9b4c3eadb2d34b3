/** The version before the current one, readable beside it: what a round changed, as it was before (DESIGN §6). */
import { blockLength } from '../../../tensor/blocks.ts';
import type { IdRouter } from '../../../tensor/id-router.ts';
import type { RoundGradients } from '../../../tensor/lane-fold.ts';
import type { Parameters } from '../../../tensor/parameters.ts';
import type { ParameterSpec } from '../../../tensor/spec.ts';
import type { ValueSource } from '../request-parts.ts';

export interface PreImageOptions {
  readonly spec: ParameterSpec;
  readonly parameters: Parameters;
  readonly router: IdRouter;
}

interface OldRows {
  readonly ids: Uint8Array;
  /** One row for each id; a row that did not exist has its initial value, as in the answer to a pull. */
  readonly values: Uint8Array;
}

/** To be called before the round is applied. */
export function keepPreImage({ spec, parameters, router }: PreImageOptions, round: RoundGradients): ValueSource {
  const blocks = new Map<string, Uint8Array>();
  for (const { parameter, blocks: numbers } of round.dense) {
    for (const block of numbers) {
      const values = new Uint8Array(4 * blockLength(spec.dense[parameter]!, block));
      parameters.pullDense(parameter, Uint32Array.of(block), values);
      blocks.set(`${parameter}/${block}`, values);
    }
  }
  const rows = new Map<number, OldRows>();
  for (const { table, ids } of round.sparse) {
    const values = new Uint8Array((ids.byteLength / 8) * 4 * spec.sparse[table]!.width);
    parameters.pullSparse(table, ids, values);
    rows.set(table, { ids, values });
  }
  return {
    pullDense(parameter, numbers, into) {
      parameters.pullDense(parameter, numbers, into);
      let at = 0;
      for (const block of numbers) {
        const old = blocks.get(`${parameter}/${block}`);
        if (old !== undefined) into.set(old, at);
        at += 4 * blockLength(spec.dense[parameter]!, block);
      }
    },
    pullSparse(table, ids, into) {
      parameters.pullSparse(table, ids, into);
      const old = rows.get(table);
      if (old !== undefined) putOldRows(router, old, ids, into, 4 * spec.sparse[table]!.width);
    },
  };
}

/** Ids of the pull that are among the old ones get their old row. The old ids are distinct: each has its own column. */
function putOldRows(router: IdRouter, old: OldRows, ids: Uint8Array, into: Uint8Array, rowBytes: number): void {
  const oldCount = old.ids.byteLength / 8;
  const count = ids.byteLength / 8;
  const both = new Uint8Array(old.ids.byteLength + ids.byteLength);
  both.set(old.ids);
  both.set(ids, old.ids.byteLength);
  const { columns } = router.dedupe(both, oldCount + count);
  for (let i = 0; i < count; i++) {
    const column = columns[oldCount + i]!;
    if (column < oldCount) into.set(old.values.subarray(column * rowBytes, (column + 1) * rowBytes), i * rowBytes);
  }
}

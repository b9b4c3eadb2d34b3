/** What the files of one job have in common: what their parameters are, and how they are placed. */
import { canonicalJson } from '../../base/canonical-json.ts';
import type { TrainedSpec } from '../../tensor/optimizer.ts';

export interface MadeFor {
  readonly parameters: TrainedSpec;
  readonly seed: number;
  readonly shards: number;
}

/** The first thing in which the two differ, and what `a` says of it; undefined when they agree. */
export function differenceOf(a: MadeFor, b: MadeFor): { readonly part: string; readonly found: string } | undefined {
  const [own, other] = [partsOf(a), partsOf(b)];
  const differing = own.find(([, text], at) => text !== other[at]![1]);
  return differing && { part: differing[0], found: differing[1] };
}

function partsOf({ parameters, seed, shards }: MadeFor): (readonly [string, string])[] {
  const all = [...parameters.dense, ...parameters.sparse];
  return [
    ['parameters', canonicalJson({ dense: parameters.dense.map(declared), sparse: parameters.sparse.map(declared) })],
    ['optimizers', canonicalJson(Object.fromEntries(all.map(({ name, optimizer }) => [name, optimizer])))],
    ['seed', String(seed)],
    ['shards', String(shards)],
  ];
}

function declared<T extends { readonly optimizer: unknown }>({ optimizer: _, ...rest }: T): Omit<T, 'optimizer'> {
  return rest;
}

/**
 * What a role waits for and only the role sees: its store, its disk, the network to a pserver. Every answer to `info`
 * shows it.
 */
import * as z from 'zod';
import type { Store } from '../store/store.ts';

export const TROUBLE_KINDS = ['store', 'checkpointFolder', 'pserver'] as const;
export type TroubleKind = (typeof TROUBLE_KINDS)[number];

/** `text` follows "waiting for". */
export const troubleSchema = z.strictObject({ kind: z.enum(TROUBLE_KINDS), text: z.string() });
export type Trouble = Readonly<z.infer<typeof troubleSchema>>;

export interface Troubles {
  /** Replaces what was said of this kind. */
  set(kind: TroubleKind, text: string): void;
  clear(kind: TroubleKind): void;
  list(): Trouble[];
}

export function createTroubles(): Troubles {
  const texts = new Map<TroubleKind, string>();
  return {
    set: (kind, text) => void texts.set(kind, text),
    clear: (kind) => void texts.delete(kind),
    list: () => [...texts].map(([kind, text]) => ({ kind, text })),
  };
}

/** With what the store itself knows of its disk, which says more than a call that failed. */
export function troublesOf({ troubles, store }: { troubles: Troubles; store: Pick<Store, 'trouble'> }): Trouble[] {
  const ofStore = store.trouble?.();
  if (ofStore === undefined) return troubles.list();
  const others = troubles.list().filter(({ kind }) => kind !== 'store');
  return [{ kind: 'store', text: `the store: ${ofStore.text}` }, ...others];
}

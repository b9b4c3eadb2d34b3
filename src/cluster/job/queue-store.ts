/** Where the task queue's small values are in the store, and how a master that takes over reads them. */
import {
  blockSchema,
  type DiscardedTask,
  discardSchema,
  type PassTotals,
  parseStoreValue,
  type QueueChange,
  type SavedQueue,
  stateSchema,
  type TaskBlock,
  totalsSchema,
} from '../../core/tasks/state.ts';
import type { Keys } from '../../store/keys.ts';
import type { KeyValue, Store } from '../../store/store.ts';

/** Undefined when there is no queue yet. */
export async function loadQueue(store: Store, keys: Keys): Promise<SavedQueue | undefined> {
  const entry = await store.get(keys.tasksState);
  if (entry === undefined) return undefined;
  const state = parseStoreValue(stateSchema, entry.key, entry.value);
  const blocks = new Map<number, TaskBlock>();
  for (const one of await rangeAll(store, keys.taskBlocks(state.pass))) {
    blocks.set(numberAtEnd(one.key), parseStoreValue(blockSchema, one.key, one.value));
  }
  const totals = new Map<number, PassTotals>();
  for (const one of await rangeAll(store, keys.passTotalsPrefix)) {
    totals.set(numberAtEnd(one.key), parseStoreValue(totalsSchema, one.key, one.value));
  }
  const discarded: DiscardedTask[] = [];
  for (const one of await rangeAll(store, keys.discardedPrefix)) {
    discarded.push(parseStoreValue(discardSchema, one.key, one.value));
  }
  return { state, blocks, totals, discarded };
}

const PAGE = 1000;

async function rangeAll(store: Store, prefix: string): Promise<KeyValue[]> {
  const all: KeyValue[] = [];
  for (let from: string | undefined; ; ) {
    const page = await store.range({ prefix, limit: PAGE, ...(from === undefined ? {} : { from }) });
    all.push(...page.entries);
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) return all;
    from = `${last.key}\0`;
  }
}

const numberAtEnd = (key: string): number => Number(key.slice(key.lastIndexOf('/') + 1));

export type QueueOp = { readonly put: string; readonly value: string } | { readonly deletePrefix: string };

/** A change of the queue, or of the curves that are made from it. */
export type MasterChange = QueueChange | { readonly kind: 'history'; readonly text: string };

export function opOf(keys: Keys, change: MasterChange): QueueOp {
  switch (change.kind) {
    case 'state':
      return { put: keys.tasksState, value: JSON.stringify(change.value) };
    case 'block':
      return { put: keys.taskBlock(change.pass, change.block), value: JSON.stringify(change.value) };
    case 'totals':
      return { put: keys.passTotals(change.pass), value: JSON.stringify(change.value) };
    case 'discarded':
      return { put: keys.discardedTask(change.task), value: JSON.stringify(change.value) };
    case 'dropBlocks':
      return { deletePrefix: keys.taskBlocks(change.pass) };
    case 'history':
      return { put: keys.history, value: change.text };
  }
}

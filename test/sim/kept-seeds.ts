/** Schedules that failed once, with what they found. They stay for good. */
export const KEPT_SEEDS: readonly { readonly seed: number; readonly why: string }[] = [
  { seed: 16, why: 'a record that kills its trainer at once was never counted against its task' },
  { seed: 70, why: 'a trainer whose job ended before its work began waited for a master for ever' },
  { seed: 92, why: 'a trainer that was late ended with the error of a task although the job had succeeded' },
  { seed: 1152, why: 'tasks timed out while their trainers waited for a pserver' },
  { seed: 1239, why: 'a pserver gave its index up while the store, which kept its old lease, was away' },
];

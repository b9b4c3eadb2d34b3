/** The area under the ROC curve by its definition. */

/** Pairs of a positive and a negative that are in order; equal scores count half. */
export function areaOf(scores: readonly number[], labels: readonly boolean[]): number {
  const [positive, negative] = [true, false].map((wanted) => scores.filter((_, at) => labels[at] === wanted));
  const sum = positive!.reduce(
    (all, high) => negative!.reduce((some, low) => some + (high > low ? 1 : high === low ? 0.5 : 0), all),
    0,
  );
  return sum / (positive!.length * negative!.length);
}

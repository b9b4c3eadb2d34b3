/** The labels that a kind of task accepts; a record with any other label is bad. */
export type LabelRule = (
  | /** +1, 1 → 1; -1, 0 → 0. */ { readonly task: 'binary' }
  /** 0 … classes − 1. */
  | { readonly task: 'multiclass'; readonly classes: number }
  /** Any finite number. */
  | { readonly task: 'regression' }
) & {
  /** In text: whether a weight may follow, as in `1:0.5`. */
  readonly mayHaveWeight?: boolean | undefined;
  /** In place of the label that a column gives a text: the number of the text. Only for a look at texts. */
  readonly numberOf?: ((text: string) => number) | undefined;
};

/** The widest rule, where the labels that the model takes decide nothing. */
export const ANY_LABEL: LabelRule = { task: 'regression' };

/** Whether a record may count so much. `value` may be NaN. */
export const isWeight = (value: number): boolean => value >= 0 && Number.isFinite(Math.fround(value));

/** The label as the model sees it, or NaN when the rule does not accept it. `value` may be NaN. */
export function labelOf(rule: LabelRule, value: number): number {
  switch (rule.task) {
    case 'binary':
      return value === 1 ? 1 : value === 0 || value === -1 ? 0 : Number.NaN;
    case 'multiclass':
      return Number.isInteger(value) && value >= 0 && value < rule.classes ? value : Number.NaN;
    case 'regression':
      return Number.isFinite(Math.fround(value)) ? value : Number.NaN;
  }
}

/** For messages: what the rule accepts. */
export function expectedLabels(rule: LabelRule): string {
  switch (rule.task) {
    case 'binary':
      return '+1, -1, 1 or 0';
    case 'multiclass':
      return `a whole number from 0 to ${rule.classes - 1}`;
    case 'regression':
      return 'a finite number';
  }
}

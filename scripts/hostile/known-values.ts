/** What a client of the job has seen: the newest values of each field, by the field's name. */

const KEPT = 64;

export class KnownValues {
  readonly #byField = new Map<string, unknown[]>();

  /** The value and, for maps and lists, everything inside it. */
  note(field: string, value: unknown): void {
    if (value === undefined || value === null) return;
    const values = this.#byField.get(field) ?? [];
    values.push(value);
    if (values.length > KEPT) values.shift();
    this.#byField.set(field, values);
    if (Array.isArray(value)) for (const item of value) this.note(field, item);
    else if (typeof value === 'object') this.noteAll(value as Record<string, unknown>);
  }

  noteAll(fields: Readonly<Record<string, unknown>>): void {
    for (const [field, value] of Object.entries(fields)) this.note(field, value);
  }

  /** Values of that field that have this type, as `typeof` or 'array'. */
  of(field: string, type: string): readonly unknown[] {
    return (this.#byField.get(field) ?? []).filter((value) => typeName(value) === type);
  }
}

const typeName = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

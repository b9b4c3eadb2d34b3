/** Durations as users write them: a number and its unit, `500ms`, `5s`, `1.5m`, `10m`, `1h`, `2d`. */
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds, rounded to whole ones; undefined when the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text.trim());
  const unitMs = UNIT_MS[match?.[2] ?? ''];
  if (match === null || unitMs === undefined) return undefined;
  return Math.round(Number(match[1]) * unitMs);
}

/** Milliseconds of a text that the schema has accepted. */
export function durationMs(text: string): number {
  const value = parseDurationMs(text);
  if (value === undefined) throw new Error(`not a duration, although the schema accepted it: ${text}`);
  return value;
}

/** The shortest exact spelling: 90000 → `90s`, 600000 → `10m`. */
export function formatDurationMs(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const unitMs = UNIT_MS[unit] ?? 1;
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}

/** Numbers as people read them. Pure. */

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 2 });

export const countText = (count: number): string => GROUPED.format(count);
/** Where there is little room: 1.2M. Two digits of it. */
export const compactText = (count: number): string => COMPACT.format(count);

export const counted = (count: number, what: string): string => `${countText(count)} ${what}${count === 1 ? '' : 's'}`;

/** Two units at most: `42 s`, `3 min 5 s`, `2 h 4 min`, `1 d 3 h`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return parts(whole, 60, 'min', 's');
  // Times of hours are shown with minutes, rounded before they are cut into parts.
  const minutes = Math.round(whole / 60);
  if (minutes < 24 * 60) return parts(minutes, 60, 'h', 'min');
  return parts(Math.round(minutes / 60), 24, 'd', 'h');
}

function parts(count: number, size: number, large: string, small: string): string {
  const rest = count % size;
  return `${Math.floor(count / size)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

export const agoText = (seconds: number): string => (seconds < 1 ? 'just now' : `${durationText(seconds)} ago`);

/** Bytes in powers of 1000, as the commands show them. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let value = bytes;
  let at = 0;
  // 999.95 would be shown as 1000.0.
  while (value >= (at === 0 ? 1000 : 999.95) && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

export function rateText(rate: number, of = 'records'): string {
  return `${rate < 10 && !Number.isInteger(rate) ? rate.toFixed(1) : countText(rate)} ${of}/s`;
}

/** Rounded down, so that 100 % means complete. */
export const percentText = (share: number): string => `${Math.floor(Math.min(1, Math.max(0, share)) * 1000) / 10} %`;

/** The text of a loss or another metric. */
export function metricText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
  return value.toFixed(size >= 1000 ? 1 : size >= 10 ? 2 : 4);
}

/** The time of day in the viewer's time zone. */
export function clockText(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB', { hour12: false });
}

/** Machine-readable, for the `time` element. */
export const isoText = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** `a`, `a and b`, `a, b and c`; of more than `most`: `a, b and 7 more`. */
export function listText(names: readonly string[], most = 4): string {
  if (names.length <= 1) return names[0] ?? '';
  const shown = names.length <= most ? names.slice(0, -1) : names.slice(0, most - 1);
  const last = names.length <= most ? names.at(-1) : `${names.length - shown.length} more`;
  return `${shown.join(', ')} and ${last}`;
}

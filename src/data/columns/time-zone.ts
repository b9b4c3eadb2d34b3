/**
 * From the clocks of a zone to UTC. Of local times that do not exist or exist twice, as clocks are changed, it takes
 * the offset from before the change: as java.time does, they are then later by what the clocks leap, or the first of
 * the two.
 */

export interface Zone {
  /** `local`: ms since 1970 as the clocks of the zone count them; NaN stays NaN. */
  toUtc(local: number): number;
}

const SECOND_MS = 1000;
const HOUR_MS = 3_600_000;
/** No offset has ever been larger. */
const MOST_HOURS = 16;
/** The hour before which no zone has changed its offset. */
const FIRST_HOUR = Date.UTC(1800, 0, 1) / HOUR_MS;
/** Maximum number of hours in a map: those of about 60 years. */
const MOST_KNOWN = 1 << 19;
const OFFSET = /^([+-])(?:(0\d|1[0-7]):([0-5]\d)|(18):(00))$/;

export function isZone(text: string): boolean {
  if (/^[+-]/.test(text)) return OFFSET.test(text);
  try {
    clockOf(text);
    return true;
  } catch {
    return false;
  }
}

/** One for the process of each name: what is known of them stays. */
const zones = new Map<string, Zone>();

/** The zone of a valid IANA name or ±hh:mm. */
export function zoneOf(text: string): Zone {
  const found = zones.get(text) ?? newZone(text);
  zones.set(text, found);
  return found;
}

function newZone(text: string): Zone {
  if (text === 'UTC') return new FixedZone(0);
  const offset = OFFSET.exec(text);
  if (offset === null) return new NamedZone(text);
  const [, sign, hours, minutes, most] = offset;
  const ms = Number(hours ?? most) * HOUR_MS + Number(minutes ?? 0) * 60 * SECOND_MS;
  return new FixedZone(sign === '-' ? -ms : ms);
}

class FixedZone implements Zone {
  readonly #offset: number;

  constructor(offset: number) {
    this.#offset = offset;
  }

  toUtc(local: number): number {
    return local - this.#offset;
  }
}

class NamedZone implements Zone {
  readonly #clock: Intl.DateTimeFormat;
  /** Offsets at the beginning of hours of UTC. */
  readonly #offsets = new Map<number, number>();
  /** Offsets of local hours in which the offset is certain to stay the same; NaN for other hours. */
  readonly #ofLocal = new Map<number, number>();
  #lastHour = Number.NaN;
  #lastOffset = 0;

  constructor(name: string) {
    this.#clock = clockOf(name);
  }

  toUtc(local: number): number {
    if (Number.isNaN(local)) return local;
    const hour = Math.floor(local / HOUR_MS);
    if (hour !== this.#lastHour) {
      this.#lastOffset = known(this.#ofLocal, hour, () => {
        const before = this.#atHour(hour - MOST_HOURS);
        return before === this.#atHour(hour + 1 + MOST_HOURS) ? before : Number.NaN;
      });
      this.#lastHour = hour;
    }
    return local - (Number.isNaN(this.#lastOffset) ? this.#around(local, hour) : this.#lastOffset);
  }

  /** The offset of a local time around which it changes, once. */
  #around(local: number, hour: number): number {
    const before = this.#atHour(hour - MOST_HOURS);
    if (this.#at(local - before) === before) return before;
    const after = this.#atHour(hour + 1 + MOST_HOURS);
    return this.#at(local - after) === after ? after : before;
  }

  #at(utc: number): number {
    const hour = Math.floor(utc / HOUR_MS);
    const offset = this.#atHour(hour);
    return offset === this.#atHour(hour + 1) ? offset : this.#read(utc);
  }

  #atHour(hour: number): number {
    const asked = Math.max(hour, FIRST_HOUR);
    return known(this.#offsets, asked, () => this.#read(asked * HOUR_MS));
  }

  /** Some microseconds. */
  #read(utc: number): number {
    const second = Math.floor(utc / SECOND_MS) * SECOND_MS;
    const [month, day, year, hours, minutes, seconds] = this.#clock.format(second).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day!, hours!, minutes!, seconds!) - second;
  }
}

function known(map: Map<number, number>, key: number, find: () => number): number {
  const found = map.get(key);
  if (found !== undefined) return found;
  const value = find();
  if (map.size >= MOST_KNOWN) map.clear();
  map.set(key, value);
  return value;
}

/** Throws `RangeError` when there is no such zone. */
const clockOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });

/** Texts of times, against `Date` and `Intl`. */
import { describe, expect, test } from 'vitest';
import type { Dialect } from '../../../src/data/columns/column.ts';
import { timeReader } from '../../../src/data/columns/time.ts';
import { patternFault } from '../../../src/data/columns/time-pattern.ts';
import { isZone } from '../../../src/data/columns/time-zone.ts';
import * as fc from '../../properties.ts';

const FIRST = Date.parse('0000-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');
const instant = fc.oneof(
  fc.integer({ min: FIRST, max: LAST }),
  fc.integer({ min: Date.UTC(1800, 0, 1), max: Date.UTC(2100, 0, 1) }),
);

interface How {
  readonly format?: string;
  readonly zone?: string;
  readonly decimal?: Dialect['decimal'];
}

/** Of a text among others, of which nothing may be read. */
function reader({ format = 'iso', zone = 'UTC', decimal = '.' }: How = {}): (text: string) => number {
  const read = timeReader({ format, zone }, { decimal });
  return (text) => {
    const bytes = Buffer.from(`9${text}9:00Z`);
    return read(bytes, 1, bytes.length - 5);
  };
}

describe('iso', () => {
  const read = reader();

  test('as Date prints it, and as it reads it', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        const text = new Date(ms).toISOString();
        expect(read(text)).toBe(ms);
        for (const [length, tail] of [
          [10, ''],
          [16, 'Z'],
          [19, 'Z'],
          [23, ''],
        ] as const) {
          const part = text.slice(0, length) + tail;
          const expected = Date.parse(length === 23 ? `${part}Z` : part);
          expect(read(part)).toBe(expected);
          expect(read(part.replace('T', ' '))).toBe(expected);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('with offsets', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: -18 * 60, max: 18 * 60 }), (ms, offset) => {
        const local = ms + offset * 60_000;
        if (local < FIRST || local > LAST) return;
        const two = (value: number): string => String(Math.abs(Math.trunc(value))).padStart(2, '0');
        const text = new Date(local).toISOString().slice(0, -1);
        const [sign, hh, mm] = [offset < 0 ? '-' : '+', two(offset / 60), two(offset % 60)];
        // The offset of the text counts, not that of the zone.
        for (const any of [read, reader({ zone: 'Asia/Kathmandu' })]) {
          expect(any(`${text}${sign}${hh}:${mm}`)).toBe(ms);
          expect(any(`${text}${sign}${hh}${mm}`)).toBe(ms);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('each day of the calendar, and no others', () => {
    for (const year of [0, 1, 4, 100, 400, 1582, 1600, 1900, 1970, 1999, 2000, 2023, 2024, 2100, 9999]) {
      for (let month = 0; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const two = (value: number): string => String(value).padStart(2, '0');
          const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
          const ms = Date.parse(`${text}T00:00:00Z`);
          const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
          expect(read(text), text).toBe(isDay ? ms : Number.NaN);
        }
      }
    }
  });

  test.each<[string, number]>([
    ['1970-01-01', 0],
    ['1970-01-01T00:00:00-00:00', 0],
    ['2024-01-02T03:04', 1_704_164_640_000],
    ['2024-01-02T03:04:05.6', 1_704_164_645_600],
    ['2024-01-02T03:04:05.678901', 1_704_164_645_678],
    ['2024-01-02T03:04:05.999999999999999999999', 1_704_164_645_999],
    ['1969-12-31T23:59:59.9999', -1],
    ['2024-01-02 03:04:05+05:45', 1_704_143_945_000],
    ['2024-01-02T03:04+18:00', 1_704_099_840_000],
  ])('%s', (text, ms) => {
    expect(read(text)).toBe(ms);
  });

  test.each([
    ...['', '2024', '2024-01', '2024-1-2', '2024-01-2', '24-01-02', '02024-01-02', '+2024-01-02', '-024-01-02'],
    ...['2024/01/02', '20240102', '2024-01-02T', '2024-01-02 ', '2024-01-02Z', '2024-01-02+01:00', '2024-01-02T03'],
    ...['2024-01-02T24:00', '2024-01-02T03:60', '2024-01-02T03:04:60', '2024-01-02t03:04', '2024-01-02T03:04z'],
    ...['2024-01-02T03:04:', '2024-01-02T03:04:5', '2024-01-02T03:04:05.', '2024-01-02T03:04:05.Z'],
    ...['2024-01-02T03:04.5', '2024-01-02T03:04:05,5', '2024-01-02T03:04:05 Z', '2024-01-02T03:04:05ZZ'],
    ...['2024-01-02T03:04+1', '2024-01-02T03:04+01', '2024-01-02T03:04+1:00', '2024-01-02T03:04+01:0'],
    ...['2024-01-02T03:04+18:01', '2024-01-02T03:04+01:60', '2024-01-02T03:04+01-00', '2024-01-02T03:04+-1:00'],
    ...['2O24-01-02', '2024-01-0/', '2024-01-0:', '٢٠٢٤-٠١-٠٢', '2024-01-02T0 :00', '2024-01-02T-1:00', '2024-01--2'],
    ...['Tue Jan 02 2024', 'NaN', 'today', '2024-01-02\0', '2024-01-02T03:04:05.5.5', '2024–01–02'],
  ])('not %j', (text) => {
    expect(read(text)).toBeNaN();
  });

  test('no texts but these, whatever is changed in one', () => {
    const form = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-](0\d|1[0-8]):?\d\d)?)?$/;
    const byte = fc.constantFrom(...'0123456789-+:. TZtz/,\0ä');
    const text = fc.constantFrom('2024-02-29T23:59:59.123+05:45', '1999-12-31 00:00:00Z', '2000-02-29T12:34');
    fc.assert(
      fc.property(text, fc.array(fc.tuple(fc.nat(30), byte), { maxLength: 3 }), fc.nat(30), (of, changes, length) => {
        const bytes = [...of];
        for (const [at, by] of changes) bytes[at % bytes.length] = by;
        const changed = bytes.slice(0, length).join('');
        if (!form.test(changed)) expect(read(changed)).toBeNaN();
      }),
      { numRuns: 2000 },
    );
  });
});

describe('unix', () => {
  test('whole and with decimals, of which three count', () => {
    const number = fc.tuple(
      fc.bigInt({ min: BigInt(FIRST), max: BigInt(LAST) }),
      fc.stringMatching(/^[0-9]{0,12}$/),
      fc.constantFrom('', '0', '000'),
    );
    fc.assert(
      fc.property(number, fc.constantFrom('.', ','), ([ms, more, zeros], decimal) => {
        const sign = ms < 0n ? '-' : '';
        const digits = String(ms < 0n ? -ms : ms).padStart(4, '0');
        const expected = ms < 0n && /[1-9]/.test(more) ? Number(ms) - 1 : Number(ms);
        if (expected < FIRST) return;
        const seconds = `${sign}${zeros}${digits.slice(0, -3)}${decimal}${digits.slice(-3)}${more}`;
        expect(reader({ format: 'unix', decimal })(seconds)).toBe(expected);
        const whole = `${sign}${zeros}${digits}${more === '' ? '' : decimal}${more}`;
        expect(reader({ format: 'unixMs', decimal })(whole)).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test.each<[string, number]>([
    ['0', 0],
    ['-0', 0],
    ['-0.0', 0],
    ['+12', 12_000],
    ['1704164645', 1_704_164_645_000],
    ['1704164645.1', 1_704_164_645_100],
    ['1704164645.123999', 1_704_164_645_123],
    ['-0.0001', -1],
    ['-1.5', -1500],
    ['253402300799.999', LAST],
  ])('%s', (text, ms) => {
    expect(reader({ format: 'unix' })(text)).toBe(ms);
  });

  test.each([
    ...['', '-', '+', '.', '.5', '5.', '-.5', '1e9', '1704164645.1.2', '1 000', '1_000', '0x10', '--1', '+-1', 'NaN'],
    // Milliseconds taken for seconds.
    ...['1704164645123', '253402300800', '-62167219201', '9'.repeat(400), '1,5', '٣', '1704164645Z', 'Infinity'],
  ])('not %j', (text) => {
    expect(reader({ format: 'unix' })(text)).toBeNaN();
  });
});

describe('patterns', () => {
  test.each<[string, string, string]>([
    ['dd/MM/yyyy HH:mm', '31/12/2024 23:59', '2024-12-31T23:59:00.000Z'],
    ['yyyyMMdd', '19690720', '1969-07-20T00:00:00.000Z'],
    ['yyyyMMddHHmmssSSS', '20240229010203004', '2024-02-29T01:02:03.004Z'],
    ['HH.mm.ss,SSS – MM-dd yyyy', '01.02.03,999 – 02-29 2000', '2000-02-29T01:02:03.999Z'],
    ['yyyy年MM月dd日', '2024年01月02日', '2024-01-02T00:00:00.000Z'],
  ])('%s', (format, text, iso) => {
    const read = reader({ format });
    expect(new Date(read(text)).toISOString()).toBe(iso);
    expect(read(`${text} `)).toBeNaN();
    expect(read(text.slice(0, -1))).toBeNaN();
    const places = [...text].keys();
    for (const at of places) expect(read(`${text.slice(0, at)}x${text.slice(at + 1)}`), `${at}`).toBeNaN();
    for (const at of places)
      expect(read(`${text.slice(0, at)}/${text.slice(at + 1)}`) === read(text)).toBe(text[at] === '/');
  });

  test('are read as iso is', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        const [year, month, day, hour, minute, second, rest] = new Date(ms).toISOString().match(/\d+/g)!;
        const format = 'ss:mm:HH dd.MM.yyyy SSS';
        expect(reader({ format })(`${second}:${minute}:${hour} ${day}.${month}.${year} ${rest}`)).toBe(ms);
      }),
    );
  });

  test.each(['30/02/2024', '00/01/2024', '01/13/2024', '1/1/2024', '01-01-2024', '2024/01/01', ''])(
    'not %j',
    (text) => {
      expect(reader({ format: 'dd/MM/yyyy' })(text)).toBeNaN();
    },
  );

  const OTHER = 'expected iso, unix, unixMs, or a pattern of yyyy, MM, dd, HH, mm, ss and SSS:';
  test.each<[string, string | undefined]>([
    ['yyyy-MM-dd', undefined],
    ['YYYY-MM-DD', `${OTHER} YYYY is not supported`],
    ['yyyy-MMM-dd', `${OTHER} MMM is not supported`],
    ["yyyyMMdd'T'HHmm", `${OTHER} T is not supported`],
    ['epoch', `${OTHER} e is not supported`],
    ['yyyy-MM-dd hh:mm', `${OTHER} hh is not supported`],
    ['yyyy-MM-dd MM', 'MM occurs twice'],
    ['MM-dd', 'expected yyyy in the pattern'],
    ['yyyy-dd', 'expected MM in the pattern'],
    ['HH:mm', 'expected yyyy in the pattern'],
    ['-', 'expected yyyy in the pattern'],
    ['yyyyMMdd mm', 'mm needs HH'],
    ['yyyyMMdd HH ss', 'ss needs mm'],
    ['yyyyMMdd HHmm SSS', 'SSS needs ss'],
    ['yyyyMMdd ', 'remove the blanks around the pattern'],
  ])('%j is right or has a fault', (pattern, fault) => {
    expect(patternFault(pattern)).toBe(fault);
  });
});

describe('zones', () => {
  const NAMES = [
    ...['Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/London', 'America/Sao_Paulo', 'Europe/Amsterdam'],
    ...['Pacific/Apia', 'Africa/Casablanca', 'Asia/Manila', 'America/St_Johns', 'Antarctica/Troll'],
  ];

  /** What the clocks of a zone show. */
  function clockOf(timeZone: string): (ms: number) => number {
    const clock = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric', era: 'short' },
    });
    return (ms) => {
      const second = Math.floor(ms / 1000) * 1000;
      const part = Object.fromEntries(clock.formatToParts(second).map(({ type, value }) => [type, value]));
      const year = part.era?.startsWith('B') ? 1 - Number(part.year) : Number(part.year);
      const date = new Date(second);
      date.setUTCFullYear(year, Number(part.month) - 1, Number(part.day));
      date.setUTCHours(Number(part.hour), Number(part.minute), Number(part.second));
      return date.getTime() + (ms - second);
    };
  }

  const HOUR = 3_600_000;

  /** As java.time has it, found by trying all offsets that are in use around it. */
  function utcOf(local: number, clock: (ms: number) => number): number {
    const before = clock(local - 30 * HOUR) - (local - 30 * HOUR);
    const after = clock(local + 30 * HOUR) - (local + 30 * HOUR);
    const found = [before, after].map((offset) => local - offset).filter((utc) => clock(utc) === local);
    // In a gap: later by its length, which is the same as with the offset from before it.
    return found.length === 0 ? local + (after - before) - after : Math.min(...found);
  }

  test.each(NAMES)('%s, at any time', (zone) => {
    const [clock, read] = [clockOf(zone), reader({ zone })];
    fc.assert(
      fc.property(instant, (local) => {
        expect(read(new Date(local).toISOString().slice(0, -1))).toBe(utcOf(local, clock));
      }),
      { numRuns: 150 },
    );
  });

  test.each(NAMES)('%s, around the changes of its clocks', (zone) => {
    const [clock, read] = [clockOf(zone), reader({ zone })];
    const offsetAt = (ms: number): number => clock(ms) - ms;
    const year = fc.integer({ min: 1850, max: 2037 });
    fc.assert(
      fc.property(year, fc.array(fc.integer({ min: -3 * HOUR, max: 3 * HOUR }), { minLength: 4 }), (of, near) => {
        const month = 30 * 24 * HOUR;
        for (let from = Date.UTC(of, 0, 1); from < Date.UTC(of + 1, 0, 1); from += month) {
          let [low, high] = [from, from + month];
          if (offsetAt(low) === offsetAt(high)) continue;
          while (high - low > 1000) {
            const middle = Math.floor((low + high) / 2000) * 1000;
            if (offsetAt(middle) === offsetAt(low)) low = middle;
            else high = middle;
          }
          for (const offset of [offsetAt(low), offsetAt(high)]) {
            for (const distance of [-1, 0, 1, ...near]) {
              const local = high + offset + distance;
              expect(read(new Date(local).toISOString().slice(0, -1))).toBe(utcOf(local, clock));
            }
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  test.each<[string, string, string]>([
    // It does not exist: clocks went from 02:00 to 03:00.
    ['Europe/Oslo', '2024-03-31T02:30', '2024-03-31T01:30:00.000Z'],
    // It exists twice: clocks went from 03:00 to 02:00.
    ['Europe/Oslo', '2024-10-27T02:30', '2024-10-27T00:30:00.000Z'],
    ['Europe/Oslo', '2024-10-27T03:00', '2024-10-27T02:00:00.000Z'],
    ['Australia/Lord_Howe', '2024-10-06T02:10', '2024-10-05T15:40:00.000Z'],
    ['Australia/Lord_Howe', '2024-04-07T01:45', '2024-04-06T14:45:00.000Z'],
    // A day that Samoa left out.
    ['Pacific/Apia', '2011-12-30T05:00', '2011-12-30T15:00:00.000Z'],
    ['Asia/Kathmandu', '1985-12-31T23:59', '1985-12-31T18:29:00.000Z'],
    ['Asia/Kathmandu', '1986-01-01T00:15', '1985-12-31T18:30:00.000Z'],
    ['+05:45', '2024-01-01', '2023-12-31T18:15:00.000Z'],
    ['-18:00', '2024-01-01', '2024-01-01T18:00:00.000Z'],
  ])('%s: %s', (zone, text, iso) => {
    expect(new Date(reader({ zone })(text)).toISOString()).toBe(iso);
  });

  test('a time that is none stays none', () => {
    expect(reader({ zone: 'Europe/Oslo' })('2024-13-01T02:30')).toBeNaN();
  });

  test('are names and offsets', () => {
    for (const zone of [...NAMES, 'UTC', 'Etc/GMT+5', '+00:00', '-03:30', '+18:00']) expect(isZone(zone)).toBe(true);
    for (const zone of [
      '',
      'Europe/Nowhere',
      'Z',
      '+1:00',
      '+0100',
      '+01',
      '-18:01',
      '+19:00',
      '+01:60',
      'local',
      '+',
    ]) {
      expect(isZone(zone), zone).toBe(false);
    }
  });
});

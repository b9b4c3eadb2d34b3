/** Columns of a job file: their forms, what they become, and which are refused, with their place. */
import { describe, expect, test } from 'vitest';
import { diffJobs } from '../../src/job/diff-jobs.ts';
import { parseJobFile } from '../../src/job/load-job.ts';
import { parseJob } from '../../src/job/schema.ts';
import { asPublished } from '../cluster/job/stored-job.ts';
import { complaint, complaintOf, type How, job, specOf } from './column-jobs.ts';

describe('columns', () => {
  test('may be a type alone, with its defaults', () => {
    const all = 'y: label\nx: number\nc: category\nl: categories\nw: weight\ng: group\nt: time\ni: ignore';
    expect(specOf(all)).toEqual({
      columns: [
        { name: 'y', type: 'label' },
        { name: 'x', type: 'number', normalize: 'standard', missing: 'mean' },
        { name: 'c', type: 'category', ids: 'hash' },
        { name: 'l', type: 'categories', ids: 'hash', separator: '|', maxLength: 1024 },
        { name: 'w', type: 'weight' },
        { name: 'g', type: 'group', ids: 'hash' },
        { name: 't', type: 'time', format: 'iso', zone: 'UTC' },
        { name: 'i', type: 'ignore' },
      ],
      dialect: { header: true, delimiter: ',', quote: '"', missing: [''], decimal: '.' },
    });
  });

  test('may have settings, and be crosses', () => {
    const columns = [
      'y: { type: label, positive: [yes], negative: [no] }',
      'q: { type: number, quantiles: 9, missing: zero, position: 3 }',
      'x: { type: number, normalize: log, from: folder }',
      'c: { type: category, ids: integer, vocabulary: shops, buckets: 5 }',
      'l: { type: categories, separator: ";", maxLength: 2 }',
      't: { type: time, format: "dd.MM.yyyy HH:mm", zone: Asia/Kathmandu, from: folder }',
      'qc: { cross: [q, c], buckets: 7 }',
    ];
    expect(specOf(columns.join('\n')).columns).toEqual([
      { name: 'y', type: 'label', positive: ['yes'], negative: ['no'] },
      { name: 'q', type: 'number', quantiles: 9, missing: 'zero', position: 3, normalize: 'none' },
      { name: 'x', type: 'number', normalize: 'log', missing: 'mean', from: 'folder' },
      { name: 'c', type: 'category', ids: 'integer', vocabulary: 'shops', buckets: 5 },
      { name: 'l', type: 'categories', ids: 'hash', separator: ';', maxLength: 2 },
      { name: 't', type: 'time', format: 'dd.MM.yyyy HH:mm', zone: 'Asia/Kathmandu', from: 'folder' },
      { name: 'qc', type: 'cross', of: ['q', 'c'], buckets: 7 },
    ]);
  });

  test('without a header have the place in the list, but crosses and folders have none', () => {
    const columns = 'y: label\nd: { type: category, from: folder }\nc: category\ndc: { cross: [d, c] }\nx: number';
    const { columns: found } = specOf(columns, { csv: '{ header: false }' });
    expect(found.map((column) => ('position' in column ? [column.name, column.position] : column.name))).toEqual([
      ['y', 1],
      'd',
      ['c', 2],
      'dc',
      ['x', 3],
    ]);
  });

  test('without a header may be named by their position, or have one', () => {
    const columns = '"10": label\n"2": number\nz: { type: number, position: 7 }';
    const { columns: found } = specOf(columns, { csv: '{ header: false }' });
    expect(found).toMatchObject([
      { name: '2', position: 2 },
      { name: '10', position: 10 },
      { name: 'z', position: 7 },
    ]);
    expect(specOf('y: label\n"2": number').columns[0]).not.toHaveProperty('position');
  });

  test('may have the names of things of the language', () => {
    const { columns } = specOf('constructor: label\ntoString: number');
    expect(columns.map(({ name }) => name)).toEqual(['constructor', 'toString']);
  });

  test('and what divides them have the defaults of the format', () => {
    expect(specOf('y: label\nx: number', { format: 'tsv' }).dialect.delimiter).toBe('\t');
    const csv = '{ header: false, delimiter: ";", quote: none, comment: "#", missing: ["?", NA], decimal: "," }';
    expect(specOf('y: label\nx: number', { format: 'tsv', csv }).dialect).toEqual({
      ...{ header: false, delimiter: ';', quote: null, comment: '#', missing: ['?', 'NA'], decimal: ',' },
    });
  });

  test('are read back from the store as they were', () => {
    const columns = [
      'y: { type: label, classes: [a, b] }',
      'q: { type: number, quantiles: 9, missing: zero, position: 2 }',
      'c: { type: category, ids: integer, buckets: 5 }',
      'x: number',
      'l: categories',
      'w: weight',
      'g: { type: group, ids: integer }',
      't: { type: time, format: unix }',
      'i: ignore',
      'qc: { cross: [q, c] }',
    ].join('\n');
    for (const csv of ['{}', '{ header: false, quote: none, comment: "#" }']) {
      const model = '{ type: fm, task: binary }';
      const one = parseJobFile('job.yaml', job(columns.replace(', classes: [a, b]', ''), { csv, model }));
      expect(parseJob(JSON.parse(JSON.stringify(asPublished(one))))).toEqual(asPublished(one));
    }
    const dense = parseJobFile(
      'job.yaml',
      job('y: { type: label, classes: [a, b] }\nx: number', { model: '{ type: softmax }' }),
    );
    expect(parseJob(JSON.parse(JSON.stringify(asPublished(dense))))).toEqual(asPublished(dense));
  });
});

describe('rules between columns', () => {
  const XY = 'y: label\nx: number';
  test.each<[string, string, string, How?]>([
    ['no label', 'x: number', '5:12: data.columns: expected one column of type label'],
    ['two labels', `${XY}\nz: label`, '8:8: data.columns.z: the job already has a column of type label: y'],
    [
      'two weights',
      `${XY}\nv: weight\nw: weight`,
      '9:8: data.columns.w: the job already has a column of type weight: v',
    ],
    ['two groups', `${XY}\nf: group\ng: group`, '9:8: data.columns.g: the job already has a column of type group: f'],
    ['two times', `${XY}\nt: time\nu: time`, '9:8: data.columns.u: the job already has a column of type time: t'],
    [
      'a time of an unknown form',
      `${XY}\nt: { type: time, format: YYYY-MM-DD }`,
      '8:30: data.columns.t.format: expected iso, unix, unixMs, or a pattern of yyyy, MM, dd, HH, mm, ss and SSS: YYYY is not supported',
    ],
    [
      'a time without a year',
      `${XY}\nt: { type: time, format: dd.MM. }`,
      '8:30: data.columns.t.format: expected yyyy in the pattern',
    ],
    [
      'a time of an unknown zone',
      `${XY}\nt: { type: time, zone: Europe/Nowhere }`,
      '8:28: data.columns.t.zone: expected an IANA name such as Europe/Oslo, or ±hh:mm, got Europe/Nowhere',
    ],
    [
      'a zone of what has none',
      `${XY}\nt: { type: time, format: unix, zone: UTC }`,
      '8:42: data.columns.t.zone: not with format unix, which counts from 1970 in UTC',
    ],
    [
      'a time in a folder, by position',
      `${XY}\nt: { type: time, from: folder, position: 3 }`,
      '8:46: data.columns.t.position: not with from: folder',
    ],
    [
      'nothing to learn from',
      'y: label\nw: weight',
      '5:12: data.columns: expected a column of type number, category or categories',
    ],
    [
      'a category for a dense model',
      'y: label\nx: number\nc: category',
      '8:8: data.columns.c: softmax takes only numbers: leave the column out, or use the model lr, fm, ffm, wide_deep or deepfm',
      { model: '{ type: softmax }' },
    ],
    [
      'quantiles for a dense model',
      'y: label\nx: { type: number, quantiles: 3 }',
      '7:8: data.columns.x: softmax takes only numbers: leave the column out, or use the model lr, fm, ffm, wide_deep or deepfm',
      { model: '{ type: softmax }' },
    ],
    [
      'quantiles that are normalized',
      'y: label\nx: { type: number, normalize: log, quantiles: 3 }',
      '7:35: data.columns.x.normalize: not with quantiles: a column with quantiles is a category',
    ],
    [
      'classes for a model without any',
      'y: { type: label, classes: [a, b] }\nx: number',
      '6:32: data.columns.y.classes: only for models with classes: lr does not have classes',
    ],
    [
      'classes for a model with another task',
      'y: { type: label, classes: [a, b] }\nx: number',
      '6:32: data.columns.y.classes: only for model.task multiclass',
      { model: '{ type: mlp, task: binary }' },
    ],
    [
      'positive texts for a regression',
      'y: { type: label, positive: [a] }\nx: number',
      '6:33: data.columns.y.positive: only for model.task binary',
      { model: '{ type: lr, task: regression }' },
    ],
    [
      'negative texts alone',
      'y: { type: label, negative: [a] }\nx: number',
      '6:33: data.columns.y.negative: expected the field positive as well',
    ],
    [
      'a text of a label twice',
      'y: { type: label, positive: [a, b], negative: [b] }\nx: number',
      '6:8: data.columns.y: expected each text once',
    ],
    [
      'a cross of a number',
      `${XY}\nc: category\nxc: { cross: [x, c] }`,
      '9:18: data.columns.xc.cross: x is not a column of type category, nor a number with quantiles',
    ],
    [
      'a cross of a list',
      `${XY}\nl: categories\nc: category\ncl: { cross: [c, l] }`,
      '10:18: data.columns.cl.cross: l is not a column of type category, nor a number with quantiles',
    ],
    [
      'a vocabulary that is a number',
      `${XY}\nc: { type: category, vocabulary: x }`,
      '8:38: data.columns.c.vocabulary: expected another name: x is the vocabulary of a column of type number',
    ],
    [
      'a vocabulary with other buckets',
      `${XY}\nc: { type: category, buckets: 9 }\nd: { type: category, vocabulary: c }`,
      '9:38: data.columns.d.vocabulary: expected the same buckets as c, which shares this vocabulary: 9',
    ],
    [
      'a label that is missing',
      "x: number\ny: { type: label, positive: [yes, ''] }",
      '7:8: data.columns.y: the label "" is also listed in csv.missing',
    ],
    [
      'a sign between whole numbers',
      `${XY}\nl: { type: categories, ids: integer, separator: '-' }`,
      '8:53: data.columns.l.separator: expected another character than the sign of a number',
    ],
    [
      'a cross of what is missing',
      `${XY}\nc: category\ncl: { cross: [c, d] }`,
      '9:18: data.columns.cl.cross: d is not a column of type category, nor a number with quantiles',
    ],
    [
      'a position in a folder',
      'y: label\nx: { type: number, position: 3, from: folder }',
      '7:34: data.columns.x.position: not with from: folder',
    ],
    [
      'a position twice',
      'y: { type: label, position: 2 }\nx: { type: number, position: 2 }',
      '7:8: data.columns.x: expected each position once: y also has position 2',
    ],
    [
      'a position of another column of the list',
      'y: label\nx: number\nz: { type: number, position: 1 }',
      '8:8: data.columns.z: expected each position once: y also has position 1',
      { csv: '{ header: false }' },
    ],
    [
      'a name among positions',
      'y: label\n"5": number',
      '6:8: data.columns.y: expected a position, since the column 5 has one',
      { csv: '{ header: false }' },
    ],
    [
      'a name that is no position of any file',
      '"1": label\n"5000": number',
      '7:13: data.columns.5000: expected a position of at most 4096',
      { csv: '{ header: false }' },
    ],
    [
      'a quote that divides',
      XY,
      '4:17: data.csv.quote: expected a character that differs from the delimiter',
      { csv: '{ quote: "," }' },
    ],
    [
      'a comment that divides',
      XY,
      '4:35: data.csv.comment: expected a character that differs from the delimiter and from the quote',
      { csv: '{ delimiter: "|", comment: "|" }' },
    ],
    [
      'a delimiter of numbers',
      XY,
      '4:21: data.csv.delimiter: "-" may be part of a number: expected another character',
      { csv: '{ delimiter: "-" }' },
    ],
    [
      'a comma of decimals that is the delimiter',
      XY,
      '4:3: data.csv.delimiter: "," may be part of a number: expected another character',
      { csv: '{ decimal: "," }' },
    ],
    [
      'a comment that begins as a number',
      XY,
      '4:19: data.csv.comment: "-" may be part of a number: expected another character',
      { csv: '{ comment: "-" }' },
    ],
    [
      'a quote that is a blank',
      XY,
      '4:17: data.csv.quote: expected a character that is not a blank',
      { csv: '{ quote: " " }' },
    ],
    [
      'weights of labels',
      XY,
      '3:50: data.labelWeights: not supported for format csv: use a column of type weight',
      { data: 'labelWeights: true' },
    ],
  ])('%s', (_, columns, message, how) => {
    expect(complaintOf(columns, how)).toBe(message);
  });

  test('fields in which jobs differ are called as in the job file', () => {
    const of = (data: string) => parseJobFile('job.yaml', job(XY, { data }));
    const [before, now] = [of('missing: ["?"]'), of('missing: ["-"]')];
    expect(diffJobs(before, now)).toEqual([{ field: 'data.csv.missing', before: ['?'], after: ['-'] }]);
  });

  test('formats have columns or not', () => {
    const text = job(XY, { format: 'libsvm' });
    expect(complaint(text)).toBe(
      'job.yaml has 2 errors\n  4:3: data.csv: only for format csv, tsv or interactions\n  5:3: data.columns: only for format csv, tsv, interactions, jsonl, parquet or columns',
    );
    const none = 'name: a\nmodel: { type: lr }\ndata: { format: tsv, train: a }\n';
    const places = job('x: { type: number, position: 1 }\nc: { type: category, from: folder }\ny: label', {
      format: 'columns',
    });
    expect(complaint(places)).toBe(
      [
        'job.yaml has 3 errors',
        '4:3: data.csv: only for format csv, tsv or interactions',
        '6:34: data.columns.x.position: not supported for format columns: its files define it',
        '7:32: data.columns.c.from: not supported for format columns: its files define it',
      ].join('\n  '),
    );
    const missing = 'name: a\nmodel: { type: lr }\ndata: { format: libsvm, train: a, missing: ["?"] }\n';
    expect(complaint(missing)).toMatch(
      /data.missing: only for format csv, tsv, interactions, jsonl, parquet or columns$/,
    );
    expect(complaint(none)).toBe('3:17: data.format: tsv needs data.columns: a type for each column to read');
  });
});

describe('splits and sampling', () => {
  const XY = 'x: number\ny: label';
  const XYT = `${XY}\nc: category\nwhen: { type: time, zone: Europe/Oslo }`;
  const of = (data: string, columns = XYT) => parseJobFile('job.yaml', job(columns, { data }));

  test('become what the roles use', () => {
    expect(of('split: { test: 0.2, by: c }').data.split).toEqual({ test: 0.2, by: 'c' });
    // Noon in Oslo, in summer.
    expect(of('split: { from: "2024-06-01T12:00" }').data.split).toEqual({ fromMs: Date.UTC(2024, 5, 1, 10) });
    expect(of('negativeSampling: { rate: 0.5 }').data.negativeSampling).toEqual({ rate: 0.5, correction: 'weight' });
  });

  test.each([
    ['split: {}', /data\.split: expected either test or from/],
    ['split: { test: 0.2, from: 2024-01-01 }', /data\.split: expected either test or from/],
    ['split: { test: 1 }', /data\.split\.test: expected less than 1, got 1/],
    ['split: { test: 0.1, by: x }', /data\.split\.by: x is not a column of type category or group/],
    ['split: { from: 2024-01-01, by: c }', /data\.split\.by: only with test/],
    ['split: { from: tomorrow }', /data\.split\.from: expected a time such as 2024-06-01/],
    ['split: { test: 0.1 }, test: other.csv', /data\.test: not with data\.split/],
    ['negativeSampling: { rate: 0 }', /data\.negativeSampling\.rate: expected more than 0, got 0/],
  ])('%s is refused', (data, message) => {
    expect(complaintOf(XYT, { data })).toMatch(message);
  });

  test('by time need a time column', () => {
    expect(complaintOf(XY, { data: 'split: { from: 2024-01-01 }' })).toMatch(
      /data\.split\.from: needs a column of type time/,
    );
  });
});

/** Scores as text: CSV (RFC 4180) or JSON lines, a line a record. */
import { PaddletError } from '../../base/errors.ts';
import { LONGEST_FLOAT, writeFloat } from '../../checkpoint/export/float-text.ts';
import type { ScoredGroup } from '../../roles/evaluator/score-groups.ts';
import type { OutputNames } from './output.ts';

export interface LineWriter {
  /** What is written before the first line. */
  readonly head: Uint8Array;
  lines(group: ScoredGroup): Uint8Array;
}

const ERROR = 'error';

/** Throws `Usage` when two columns have the same name, or two keys. */
export function lineWriter(format: 'csv' | 'jsonl', names: OutputNames): LineWriter {
  return format === 'csv' ? csvWriter(columnNames(names), names) : jsonWriter(names);
}

/** Those of a table. Throws `Usage` when two are the same. */
export function columnNames({ kept, scores, hasErrors }: OutputNames): readonly string[] {
  return refuseTwice([...kept, ...scores, ...(hasErrors ? [errorColumn(scores)] : [])]);
}

function refuseTwice(all: readonly string[]): readonly string[] {
  const twice = all.find((name, at) => all.indexOf(name) < at);
  if (twice !== undefined) {
    throw new PaddletError('Usage', `two columns of the output would be called ${twice}`, {
      hint: 'keep each column once, and none with the name of a score; rename it in the input, if it has to be kept',
    });
  }
  return all;
}

/** A class may have the name, too. */
function errorColumn(scores: readonly string[]): string {
  let name = ERROR;
  while (scores.includes(name)) name += '_';
  return name;
}

/** Classes are in an object of their own. */
const keyOf = (scores: readonly string[]): string => (scores.length === 1 ? 'score' : 'scores');

const written = Buffer.alloc(LONGEST_FLOAT);

/** A finite f32, with as many digits as say which one it is. */
const scoreText = (score: number): string => written.toString('latin1', 0, writeFloat(written, 0, score));

/** Texts of fields are bytes, as Latin-1. */
function csvWriter(names: readonly string[], { hasErrors }: OutputNames): LineWriter {
  const asBytes = (text: string): string => Buffer.from(text).toString('latin1');
  // Readers skip an empty line: the records after it would get the scores of others.
  const noScore = names.length === 1 ? '""' : '';
  return {
    head: Buffer.from(`${names.map((name) => csvField(asBytes(name))).join(',')}\n`, 'latin1'),
    lines({ records, scores, outputs, errors, kept }) {
      let text = '';
      for (let record = 0; record < records; record++) {
        for (const field of kept?.[record] ?? []) text += `${csvField(field)},`;
        const error = errors.get(record);
        for (let output = 0; output < outputs; output++) {
          if (output > 0) text += ',';
          text += error === undefined ? scoreText(scores[record * outputs + output]!) : noScore;
        }
        if (hasErrors) text += error === undefined ? ',' : `,${csvField(asBytes(error))}`;
        text += '\n';
      }
      return Buffer.from(text, 'latin1');
    },
  };
}

/** Blanks around a text are quoted, too: readers may drop them. */
const csvField = (text: string): string =>
  /[",\r\n]|^[ \t]|[ \t]$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

function jsonWriter({ kept: keptNames, scores: scoreNames, hasErrors }: OutputNames): LineWriter {
  refuseTwice([...keptNames, keyOf(scoreNames), ...(hasErrors ? [ERROR] : [])]);
  const keys = keptNames.map((name) => `${JSON.stringify(name)}:`);
  const isOne = scoreNames.length === 1;
  const name = keyOf(scoreNames);
  const classKeys = scoreNames.map((name) => `${JSON.stringify(name)}:`);
  return {
    head: new Uint8Array(0),
    lines({ records, scores, outputs, errors, kept }) {
      let text = '';
      for (let record = 0; record < records; record++) {
        const texts = kept?.[record] ?? [];
        const carried = texts.map((field, at) => `${keys[at]}${JSON.stringify(utf8(field))},`).join('');
        const error = errors.get(record);
        const own = Array.from(scores.subarray(record * outputs, (record + 1) * outputs), scoreText);
        const scored = isOne ? own[0]! : `{${own.map((score, at) => `${classKeys[at]}${score}`).join(',')}}`;
        const reason = hasErrors && error !== undefined ? `,"${ERROR}":${JSON.stringify(error)}` : '';
        text += `{${carried}"${name}":${error === undefined ? scored : 'null'}${reason}}\n`;
      }
      return Buffer.from(text);
    },
  };
}

/** Replaces characters that cannot be read, as in fields with another encoding. */
export const utf8 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8');

import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { EXIT, type ExitCode, PaddletError } from '../../base/errors.ts';
import type { Host } from '../../base/seams.ts';
import { visibleLines } from '../../base/visible.ts';
import { openCheckpointModel } from '../../cluster/client/checkpoint-model.ts';
import type { JobRecord } from '../../cluster/job/job-record.ts';
import { refuseAbsent } from '../../data/absent-columns.ts';
import { modelColumnsOf } from '../../data/columns/inputs.ts';
import { SeenColumns } from '../../data/columns/seen.ts';
import type { Format } from '../../data/formats/format.ts';
import { type DataFormat, formatOf, formatsWhere } from '../../data/formats/registry.ts';
import { THREAD_WORDS } from '../../host/thread-words.ts';
import { delimiterFault } from '../../job/column-rules.ts';
import { resolveDialect } from '../../job/columns.ts';
import type { Job } from '../../job/schema.ts';
import { outlineOf } from '../../model/registry.ts';
import { Predictor } from '../../roles/evaluator/predictor.ts';
import { NO_TALLY, type Tally } from '../../roles/evaluator/score-groups.ts';
import { completeIn } from '../../roles/master/dataset.ts';
import { durationFlag } from '../base/duration-flag.ts';
import { refuseEmpty } from '../base/given-path.ts';
import { modelArg, namedModel } from '../base/named-job.ts';
import { withJob } from '../base/with-job.ts';
import { jobFlags, PaddletCommand } from '../base-command.ts';
import { bestFlag, bestOfNoJob } from '../evaluate/best-flag.ts';
import { type Score, type Scored, scoreBest, scoreModel } from '../evaluate/score-model.ts';
import { type Destination, outputFile, standardOutput } from './destination.ts';
import { findInput, type InputFile, openInput, STANDARD } from './input.ts';
import { OUTPUT_FORMATS, type OutputFormat } from './output-formats.ts';
import { createPartMaker, type PartMakerOptions } from './part-maker.ts';
import { type Summary, summaryOf, summaryText } from './summary.ts';
import { createThreadPool, type ThreadPool } from './thread-pool.ts';

interface OpenModel {
  readonly record: JobRecord;
  readonly host: Host;
  readonly signal: AbortSignal;
  /** Calls `score` with the source of the parameters, and once more if that source disappears. */
  readonly withModel: (score: Score<Tally>) => Promise<Scored<Tally>>;
}

const SCORED_FORMATS = formatsWhere(({ openForward, openRows }) => (openForward ?? openRows) !== undefined);

export default class PredictCommand extends PaddletCommand<typeof PredictCommand> {
  static override summary = 'Score each record of a file with a trained model';
  static override description =
    `Writes one line for each record of a file or of stdin, in the order of the input. The line contains the predicted
probability (binary classification), the predicted value (regression), or the probability of each class (multiclass).
The records need no labels. A record that paddlet cannot parse gets no score; the summary lists the first reasons, and
--errors writes all reasons to the output.

While the job runs, the command reads the parameters from its pservers; afterwards, from its checkpoints. If MODEL is a
checkpoint folder or a merged model, the command needs neither a store nor a running job. paddlet detects and unpacks
gzip, zstd and RecordIO. Memory use does not depend on the size of the file. The command does not change the job.`;
  static override examples = [
    {
      command: '<%= config.bin %> predict clicks --data new.csv --keep id --output scores.csv',
      description: 'Score new.csv, and copy the column id to the output.',
    },
    {
      command: 'zcat log.gz | <%= config.bin %> predict clicks --data - --format csv --as jsonl | head',
      description: 'Score records from a pipe, and print JSON lines.',
    },
    {
      command: '<%= config.bin %> predict clicks --data new.parquet --keep id --output scores.parquet',
      description: 'Score a Parquet file, and write Parquet.',
    },
    {
      command: '<%= config.bin %> predict /backup/clicks --data new.csv --output scores.csv',
      description: 'Score with a copy of a checkpoint folder; the store of the job is not needed.',
    },
  ];
  static override args = modelArg;
  static override flags = {
    ...jobFlags,
    timeout: durationFlag('60s', 'Longest time to wait for each answer from the store or the pservers.'),
    data: Flags.string({ required: true, helpValue: 'FILE', description: 'File to score; - for stdin.' }),
    format: Flags.option({
      options: SCORED_FORMATS,
      description: 'Format of the input. Default: the format of the job; required for stdin.',
    })(),
    delimiter: Flags.string({
      helpValue: 'CHARACTER',
      description: "Character that separates the fields of a csv file. Default: the character of the job's files.",
    }),
    keep: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      delimiter: ',',
      default: [],
      helpValue: 'COLUMN',
      description:
        'Column of the input to copy to the output, by name. Positions from 1 also work for csv, tsv and interactions; paths also work for jsonl and parquet. May be repeated.',
    }),
    output: Flags.string({
      char: 'o',
      default: STANDARD,
      helpValue: 'FILE',
      description: 'File to write; - for stdout. The write is atomic.',
    }),
    as: Flags.option({
      options: OUTPUT_FORMATS,
      description:
        'Format of the output. Default: given by the extension of --output (.jsonl or .parquet), otherwise csv.',
    })(),
    errors: Flags.boolean({
      description:
        'Also write why a record has no score: in an additional column error, or in jsonl as the key error of that record.',
    }),
    replace: Flags.boolean({ description: 'Overwrite existing files.' }),
    best: bestFlag,
    threads: Flags.integer({
      min: 1,
      max: 64,
      default: 1,
      helpValue: 'N',
      description: 'Number of threads. All threads read and score records. The output does not depend on the number.',
    }),
    strict: Flags.boolean({
      description:
        'Exit with code 3 if the input contains no records, if a record has no score, or if a column is empty in all records. All scores are still written.',
    }),
  };

  override async execute(): Promise<ExitCode> {
    const { flags, args } = this;
    refuseEmpty([flags.data], '--data');
    refuseEmpty([flags.output], '--output');
    if (flags.data === STANDARD && flags.format === undefined) {
      throw new PaddletError('Usage', 'expected --format for records from stdin', {
        hint: 'pass --format, such as --format csv',
      });
    }
    const host = this.host('predict');
    const input = await findInput(host.disk, flags.data);
    const signal = this.interruption();
    const model = namedModel(args.model, flags, this.typed);
    if (model.kind === 'job') {
      return withJob({ flags: model.flags, host, signal }, (job) =>
        this.predictTo(
          { ...job, withModel: (score) => (flags.best ? scoreBest(job, score) : scoreModel(job, score)) },
          input,
        ),
      );
    }
    if (flags.best) throw bestOfNoJob(model.path);
    const { record, client } = await openCheckpointModel({ host, path: resolve(model.path), signal });
    const withModel = async (score: Score<Tally>): Promise<Scored<Tally>> => ({
      ...(await score(client, signal)),
      from: 'checkpoints',
    });
    return this.predictTo({ record, host, signal, withModel }, input);
  }

  private async predictTo(model: OpenModel, input: InputFile | undefined): Promise<ExitCode> {
    const { output, replace, format: wanted, keep } = this.flags;
    const as = this.as();
    const format = formatFor(model.record.job, wanted, keep);
    this.checkDelimiter(model.record.job, format);
    if (as === 'parquet' && output === STANDARD && process.stdout.isTTY === true) {
      throw new PaddletError('Usage', 'refusing to write Parquet to a terminal', {
        hint: 'name a file with --output',
      });
    }
    if (output !== STANDARD && input?.path === resolve(output)) {
      throw new PaddletError('Usage', `--output ${output} is the file to score`, { hint: 'name another file' });
    }
    const to = output === STANDARD ? standardOutput() : await outputFile(model.host, resolve(output), replace);
    try {
      const summary = await this.predict(model, input, format, to);
      await to.finish();
      return this.show(summary);
    } catch (error) {
      // The first error says what went wrong.
      await to.discard().catch(() => undefined);
      throw error;
    }
  }

  /** Throws `Usage` for a format without delimiters, and for a character that cannot be one. */
  private checkDelimiter({ data }: Job, format: DataFormat): void {
    const { delimiter } = this.flags;
    if (delimiter === undefined) return;
    if (format !== 'csv') {
      throw new PaddletError('Usage', `--delimiter is for csv files, and the input is ${format}`, {
        hint: 'leave out --delimiter, or pass --format csv',
      });
    }
    const fault = delimiterFault({ ...(data.dialect ?? resolveDialect('csv', undefined, undefined)), delimiter });
    if (fault !== undefined) throw new PaddletError('Usage', `--delimiter ${JSON.stringify(delimiter)}: ${fault}`);
  }

  private as(): OutputFormat {
    const { as, output } = this.flags;
    return as ?? OUTPUT_FORMATS.find((format) => output.endsWith(`.${format}`)) ?? 'csv';
  }

  /** Undefined if the reader of the output closed the pipe. */
  private async predict(
    { record, host, signal, withModel }: OpenModel,
    found: InputFile | undefined,
    format: DataFormat,
    to: Destination,
  ): Promise<Summary | undefined> {
    const { data, delimiter, keep, errors, threads } = this.flags;
    const { file, source, stream } = await openInput(data, found, format, signal);
    const making = { record, format, delimiter, file, keep, as: this.as(), hasErrors: errors, source };
    const maker = await createPartMaker(making, host.disk);
    const { output } = maker;
    const pool = threads === 1 ? undefined : await startPool(threads, making);
    const startMs = host.clock.monotonicMs();
    let begun: Promise<boolean> | undefined;
    let isWanted = true;
    const predictor = new Predictor({
      parts: maker.parts(stream),
      make: pool?.make ?? maker.make,
      // Each thread has one to make and one to come.
      atOnce: threads === 1 ? 1 : 2 * threads,
      async take(made) {
        isWanted = await to.write(output.bytesOf(made));
        return isWanted;
      },
    });
    const tally = await withModel(async (client, stop) => {
      // Once, and not before there is a model.
      begun ??= to.write(output.head);
      isWanted = await begun;
      return isWanted ? predictor.run(client, stop) : NO_TALLY;
    }).finally(() => Promise.all([pool?.close(), maker.close()]));
    if (!isWanted) return undefined;
    const end = output.end();
    if (end.length > 0 && !(await to.write(end))) return undefined;
    const absent = absentIn(record, tally);
    const written =
      this.flags.output === STANDARD ? `${tally.records} scores were written before that was known` : undefined;
    refuseAbsent({ where: file, absent, complete: completeIn(record.train), written });
    return summaryOf(record.job.name, tally.from, tally, absent, host.clock.monotonicMs() - startMs);
  }

  private show(summary: Summary | undefined): ExitCode {
    if (summary === undefined) return EXIT.done;
    const { json, output, strict } = this.flags;
    if (output !== STANDARD) this.output(summary, () => summaryText(summary));
    else process.stderr.write(`${json ? JSON.stringify(summary) : visibleLines(summaryText(summary))}\n`);
    return strict && (summary.records === 0 || summary.bad > 0 || summary.absentColumns.length > 0)
      ? EXIT.data
      : EXIT.done;
  }
}

/** Columns of the job that no good record has a value of. */
function absentIn({ job }: JobRecord, { records, bad, seen }: Tally): string[] {
  if (records === bad) return [];
  return new SeenColumns(job.data.columns ?? []).unseen.filter((name) => !seen.has(name));
}

async function startPool(threads: number, making: PartMakerOptions): Promise<ThreadPool> {
  const { startThread } = await import('../../host/threads.ts');
  const { source } = making;
  // A copy of its bytes alone: the array would be sent with all of the memory that it is in.
  const sent =
    source.kind === 'file' ? source : { ...source, head: { ...source.head, bytes: new Uint8Array(source.head.bytes) } };
  const options = { ...making, source: sent } satisfies PartMakerOptions;
  return createThreadPool(Array.from({ length: threads }, () => startThread(THREAD_WORDS.predict, options)));
}

/** Throws `Usage` when the model takes no records of the format that is wanted. */
function formatFor({ data, model }: Job, wanted: DataFormat = data.format, keep: readonly string[]): DataFormat {
  const [given, own] = [formatOf(wanted), formatOf(data.format)];
  const { readsFields } = outlineOf(model, data.columns && modelColumnsOf(data.columns));
  const suits = ({ input, hasFields }: Format): boolean => input === own.input && (hasFields || !readsFields);
  const others = SCORED_FORMATS.filter((name) => suits(formatOf(name)));
  if (!SCORED_FORMATS.includes(wanted)) {
    throw new PaddletError('Usage', `the records of ${wanted} files are scored as text`, {
      hint: `say what the file is with --format ${others.join(' or ')}`,
    });
  }
  if (!suits(given) || given.hasLabelFiles !== own.hasLabelFiles) {
    throw new PaddletError('Usage', `the model takes records of ${data.format}, not of ${wanted}`, {
      hint: `--format may be ${others.join(' or ')}`,
    });
  }
  if (keep.length > 0 && given.input !== 'columns') {
    throw new PaddletError('Usage', `${wanted} has no columns to keep`, { hint: 'leave out --keep' });
  }
  return wanted;
}

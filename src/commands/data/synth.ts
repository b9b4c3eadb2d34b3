import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import { SYNTH_FORMATS } from '../../data/synth/record-text.ts';
import { SYNTH_DEFAULTS, type SynthOptions, writeSynth } from '../../data/synth/synth.ts';
import { PaddletCommand } from '../base-command.ts';

const MOST_RECORDS = 1_000_000_000;
const MOST_FEATURES = 50_000_000;

export default class DataSynth extends PaddletCommand<typeof DataSynth> {
  static override summary = 'Generate a data set from a planted model';
  static override description =
    `Writes training records, test records and planted.json. With --as csv, tsv or jsonl, also writes job.yaml, a job
file that trains on these records. The records resemble click logs. Their labels are drawn from a known factorization
machine, the planted model. planted.json contains the metrics of the planted model on the test records: the best result
that training can be expected to reach. The same flags always give the same bytes.`;
  static override examples = [
    {
      command: '<%= config.bin %> data synth --output data/synth',
      description: 'Generate the data that examples/synth-fm.yaml trains on.',
    },
    {
      command: '<%= config.bin %> data synth --output big --records 5000000 --features 1000000 --per-record 39',
      description: 'Generate a larger data set.',
    },
    {
      command:
        '<%= config.bin %> data synth --output log --as csv --per-record 39 --numbers 13 --features 390000 --factors 0',
      description:
        'Generate a click log with 13 numeric and 26 categorical columns. To train on it: paddlet run log/job.yaml --data-dir log.',
    },
  ];
  static override flags = {
    output: Flags.string({
      char: 'o',
      required: true,
      helpValue: 'FOLDER',
      description: 'Folder to write to; created if missing.',
    }),
    records: Flags.integer({
      default: SYNTH_DEFAULTS.records,
      min: 1,
      max: MOST_RECORDS,
      description: 'Number of training records.',
    }),
    'test-records': Flags.integer({
      default: SYNTH_DEFAULTS.testRecords,
      min: 1,
      max: MOST_RECORDS,
      description: 'Number of test records.',
    }),
    features: Flags.integer({
      default: SYNTH_DEFAULTS.features,
      min: 1,
      max: MOST_FEATURES,
      description: 'Number of distinct features in the data set.',
    }),
    'per-record': Flags.integer({
      default: SYNTH_DEFAULTS.perRecord,
      min: 1,
      max: 10_000,
      description: 'Number of features in each record.',
    }),
    as: Flags.option({
      options: SYNTH_FORMATS,
      default: SYNTH_DEFAULTS.format,
      description:
        'Format of the output. Files in csv, tsv and jsonl have a label column and one column for each feature of a record.',
    })(),
    numbers: Flags.integer({
      default: SYNTH_DEFAULTS.numbers,
      min: 0,
      max: 10_000,
      description: 'Number of numeric columns; the other columns are categorical.',
    }),
    missing: Flags.string({
      default: String(SYNTH_DEFAULTS.missing),
      helpValue: 'SHARE',
      description: 'Fraction of values to leave missing in numeric columns; at least 0 and below 1.',
    }),
    factors: Flags.integer({
      default: SYNTH_DEFAULTS.factors,
      min: 0,
      max: 1024,
      description: 'Length of the factor vectors of the planted model; 0 makes the model linear.',
    }),
    noise: Flags.string({
      default: String(SYNTH_DEFAULTS.noise),
      helpValue: 'NUMBER',
      description: "Standard deviation of the noise that is added to each record's logit.",
    }),
    seed: Flags.integer({
      default: SYNTH_DEFAULTS.seed,
      min: 0,
      max: 2 ** 32 - 1,
      helpValue: 'N',
      description: 'Seed of the random number generator.',
    }),
  };

  override async execute(): Promise<void> {
    const options = this.options();
    const folder = resolve(this.flags.output);
    const wait = await this.wait(`generating ${options.records} records`);
    try {
      const made = await writeSynth(this.host(), folder, options).catch((error: NodeJS.ErrnoException) => {
        // Passes on everything but errors of the file system: no such folder, no permission, no space.
        if (error instanceof PaddletError || !/^E[A-Z]+$/.test(error.code ?? '')) throw error;
        throw new PaddletError('Usage', `cannot write to ${folder}: ${error.message}`, {
          hint: 'choose another folder with --output',
          cause: error,
        });
      });
      wait.done();
      const { report, ...files } = made;
      const { train, test, planted } = files;
      this.output({ files, ...report }, () => {
        const rows = [
          [train, options.records],
          [test, options.testRecords],
        ] as const;
        const auc = report.test.auc === undefined ? '' : `, AUC ${report.test.auc.toFixed(4)}`;
        const logloss = report.test.logloss === undefined ? '' : `logloss ${report.test.logloss.toFixed(4)}`;
        const limits = `The planted model on the test file: ${logloss}${auc} (${planted})`;
        return `${this.table([{ head: 'file' }, { head: 'records', align: 'right' }], rows)}\n\n${limits}`;
      });
    } finally {
      wait.done();
    }
  }

  private options(): SynthOptions {
    const { records, features, factors, numbers, as: format, seed } = this.flags;
    const perRecord = this.flags['per-record'];
    if (perRecord > features) {
      throw new PaddletError('Usage', `--per-record ${perRecord}: expected at most --features (${features})`);
    }
    const noise = Number(this.flags.noise);
    if (this.flags.noise.trim() === '' || !Number.isFinite(noise) || noise < 0) {
      throw new PaddletError('Usage', `--noise ${this.flags.noise}: expected a number of at least 0`);
    }
    const missing = Number(this.flags.missing);
    if (this.flags.missing.trim() === '' || !(missing >= 0 && missing < 1)) {
      throw new PaddletError('Usage', `--missing ${this.flags.missing}: expected a number of at least 0 and below 1`);
    }
    const testRecords = this.flags['test-records'];
    return { records, testRecords, features, perRecord, numbers, missing, factors, noise, seed, format };
  }
}

/** Figures of the rows, and where the time of each went. */
import { type Figure, median } from '../figure.ts';
import { ROLES } from './looks.ts';
import type { Round, Trial } from './measure.ts';
import type { Trained } from './peers.ts';
import type { Row } from './rows.ts';
import { type Span, spanOf } from './spans.ts';

export interface Measured {
  readonly row: Row;
  readonly rounds: readonly Round[];
}

const SPAN_WORDS = { all: 'all passes', first: 'first pass, from text', later: 'later passes' } as const;
const TRAINER_MIB = 120;
const PSERVER_MIB = 90;

type PeerName = 'native' | 'sklearn' | 'alone';
const PEER_WORDS: Readonly<Record<PeerName, string>> = {
  native: 'one thread of C',
  sklearn: 'scikit-learn',
  alone: 'the model alone',
};
const MODE_WORDS = { async: '', sync: ', sync', twice: ', twice the trainers' } as const;

export const nameOf = ({ number, scene, mode, span }: Row): string =>
  `${number}. ${scene.name}${MODE_WORDS[mode]}: ${SPAN_WORDS[span]}`;

const trialOf = (round: Round, row: Row): Trial => round.trials.get(row.mode)!;
const spanIn = (trial: Trial, { span }: Row): Span | undefined =>
  spanOf(trial.looks, span, trial.records, trial.passes);

/** What the job says of all passes where the looks were too few: then the speed of a span is not known better. */
function speedOf(trial: Trial, row: Row): number {
  return spanIn(trial, row)?.recordsPerSecond ?? trial.result.recordsPerSecond;
}

/** With the reading, too: one pass. */
const fromText = ({ readSeconds, recordsPerSecond }: Trained, { records }: Trial): number =>
  records / (readSeconds + records / recordsPerSecond);

export function figuresOf({ row, rounds }: Measured): Figure[] {
  const speeds = rounds.map((round) => speedOf(trialOf(round, row), row));
  const few = rounds.some((round) => spanIn(trialOf(round, row), row) === undefined);
  const value = median(speeds);
  const own: Figure = {
    what: `${nameOf(row)}${few ? ' (too short to look: as the job says)' : ''}`,
    value,
    unit: 'records/s',
    bestValue: Math.max(...speeds),
    ...(row.atLeast === undefined ? {} : { aim: { of: 'value', bound: row.atLeast, best: 'high' } }),
  };
  const beside = (what: string, others: readonly (number | undefined)[], bound: number | undefined): Figure[] => {
    const pairs = others.flatMap((other, at) => (other === undefined ? [] : [[speeds[at]!, other] as const]));
    if (pairs.length === 0) return [];
    const peer = pairs.map(([, other]) => other);
    return [
      {
        what: `${row.number}.    beside ${what}`,
        value,
        unit: 'records/s',
        limit: { what, value: median(peer) },
        ratio: median(pairs.map(([speed, other]) => speed / other)),
        best: Math.max(...speeds) / Math.max(...peer),
        ...(bound === undefined ? {} : { aim: { of: 'ratio', bound, best: 'high' } }),
      },
    ];
  };
  const ofAsync = rounds.map((round) => (row.ofAsync ? speedOf(round.trials.get('async')!, row) : undefined));
  const requests = rounds.map(({ requests }) => (row.ofRequests === undefined ? undefined : requests));
  const other = (peer: PeerName) =>
    rounds.map(
      (round) =>
        round[peer] &&
        (row.span === 'first' ? fromText(round[peer], trialOf(round, row)) : round[peer].recordsPerSecond),
    );
  return [
    own,
    ...beside(row.mode === 'sync' ? 'async' : 'half the trainers', ofAsync, row.ofAsync),
    ...beside('push+pull alone', requests, row.ofRequests),
    ...beside(PEER_WORDS.native, other('native'), row.ofNative),
    ...beside(PEER_WORDS.sklearn, other('sklearn'), undefined),
    ...beside(PEER_WORDS.alone, other('alone'), row.ofAlone),
  ];
}

/** Memory of the trainers of a small job, and of pservers that have no rows yet, each with its upper limit. */
export function memoryFigures(measured: readonly Measured[]): Figure[] {
  const small = measured.filter(({ row }) => row.number === '1');
  const trials = small.flatMap(({ row, rounds }) => rounds.map((round) => trialOf(round, row)));
  const mostOf = (role: 'trainer' | 'pserver', isCounted: (look: Trial['looks'][number]) => boolean): number[] =>
    trials.map(({ looks }) => Math.max(...looks.filter(isCounted).map(({ roles }) => roles[role].residentMiB)));
  const figure = (what: string, values: readonly number[], bound: number): Figure[] => {
    const seen = values.filter(Number.isFinite);
    if (seen.length === 0) return [];
    const aim = { of: 'value', bound, best: 'low' } as const;
    return [{ what, value: median(seen), unit: 'MiB resident', bestValue: Math.min(...seen), aim }];
  };
  return [
    ...figure(
      'a trainer of row 1',
      mostOf('trainer', () => true),
      TRAINER_MIB,
    ),
    ...figure(
      'a pserver of row 1 without rows',
      mostOf('pserver', ({ rows }) => rows === 0),
      PSERVER_MIB,
    ),
  ];
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Where the time of the median round by speed went. */
export function whereTimeGoes({ row, rounds }: Measured): Record<string, string> {
  const sorted = rounds.map((round) => trialOf(round, row)).sort((a, b) => speedOf(a, row) - speedOf(b, row));
  const trial = sorted[sorted.length >> 1]!;
  const span = spanIn(trial, row);
  const peerLosses = (['native', 'alone'] as const).flatMap((name) => {
    const loss = rounds[0]![name]?.loss;
    return loss === undefined ? [] : [`, ${PEER_WORDS[name]} ${loss.toFixed(4)}`];
  });
  const common = {
    row: nameOf(row),
    'start-up': `${trial.startSeconds.toFixed(1)} of ${trial.seconds.toFixed(1)} s`,
    'loss of the last pass': `${trial.result.metrics.train?.logloss?.toFixed(4) ?? '–'}${peerLosses.join('')}`,
    MiB: ROLES.map((role) => `${role} ${mostResident(trial, role).toFixed(0)}`).join(', '),
  };
  if (span === undefined) return common;
  const phasesOf = (phases: Span['phases']): string => {
    const shown = [...phases].filter(([, share]) => share >= 0.005).sort(([, a], [, b]) => b - a);
    return shown.map(([phase, share]) => `${phase} ${percent(share)}`).join(', ');
  };
  const shares = (of: Span['busy']): string => ROLES.map((role) => `${role} ${percent(of[role])}`).join(', ');
  return {
    row: common.row,
    trainers: `${phasesOf(span.phases)}; ${percent(span.changeover)} of it between tasks`,
    pservers: phasesOf(span.pserverPhases),
    'CPU of each': shares(span.busy),
    'lacked a core': shares(span.lacked),
    'CPU a record': `${micros(span)} µs${peerMicros(rounds)}`,
    'bytes a record': `${span.sentPerRecord.toFixed(0)} sent, ${span.receivedPerRecord.toFixed(0)} received`,
    MiB: common.MiB,
    'loss of the last pass': common['loss of the last pass'],
    'start-up': common['start-up'],
  };
}

const micros = ({ cpuPerRecord }: Span): string =>
  ROLES.map((role) => `${role}s ${cpuPerRecord[role].toPrecision(2)}`).join(', ');

function peerMicros(rounds: readonly Round[]): string {
  const names = Object.keys(PEER_WORDS) as PeerName[];
  const of = (name: PeerName): string => {
    const used = rounds.flatMap(({ [name]: peer }) => (peer === undefined ? [] : [peer.cpuPerRecord]));
    return used.length === 0 ? '' : `; ${PEER_WORDS[name]} ${median(used).toPrecision(2)}`;
  };
  return names.map(of).join('');
}

const mostResident = ({ looks }: Trial, role: (typeof ROLES)[number]): number =>
  Math.max(0, ...looks.map(({ roles }) => roles[role].residentMiB));

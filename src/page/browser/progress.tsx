/** Why the job is as it is, and how far it is. */
import type { PageJob, PageProgress } from '../page-data.ts';
import { countText, durationText, metricText, percentText, rateText } from './format.ts';
import { Coded, type Fact, Facts, Panel } from './parts.tsx';

/** Said only of a job that runs: it may be known soon. */
const UNKNOWN = '–';
const BAD: readonly PageJob['phase'][] = ['failed', 'unresponsive'];

export function Why({ job }: { readonly job: PageJob }) {
  const [first, ...others] = job.why;
  const isBad = BAD.includes(job.phase) || job.health === 'UNHEALTHY';
  const tone = first === undefined || job.phase === 'done' ? 'good' : isBad ? 'bad' : 'warning';
  return (
    <section class={`why ${tone}`} aria-labelledby="title-why">
      <h2 id="title-why" class="unseen">
        Why
      </h2>
      <div aria-live="polite">
        {first === undefined ? (
          <p class="cause">{job.phase === 'done' ? 'The job is done.' : 'Nothing is blocking the job.'}</p>
        ) : (
          <>
            <p class="cause">
              <Coded text={first.sentence} />
            </p>
            {first.hint !== undefined && (
              <p class="hint">
                <Coded text={first.hint} />
              </p>
            )}
          </>
        )}
        {others.length > 0 && (
          <ul>
            {others.map(({ sentence, hint }) => (
              <li key={sentence}>
                <Coded text={sentence} />{' '}
                {hint !== undefined && (
                  <span class="hint">
                    <Coded text={hint} />
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

export function Progress({ job: { progress, phase, processes } }: { readonly job: PageJob }) {
  const { share } = progress;
  return (
    <Panel id="progress" title="Progress" note={share === undefined ? undefined : <b>{percentText(share)}</b>}>
      <div
        class={`bar ${phase}`}
        role="progressbar"
        aria-label="Of all passes"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={share === undefined ? undefined : Math.floor(share * 100)}
      >
        <div style={{ width: `${(share ?? 0) * 100}%` }} />
      </div>
      <Facts facts={factsOf(progress).filter(({ value }) => value !== UNKNOWN || processes.length > 0)} />
    </Panel>
  );
}

function factsOf({ pass, passes, tasks, rounds, ...rest }: PageProgress): Fact[] {
  const { recordsPerSecond, secondsLeft, elapsedSeconds, loss } = rest;
  const [rate = '', unit = ''] = recordsPerSecond === undefined ? [] : rateText(recordsPerSecond).split(' ');
  return [
    { name: 'Pass', ...(pass === undefined ? { value: UNKNOWN, more: `of ${passes}` } : ofAll(pass + 1, passes)) },
    ...(tasks === undefined ? [] : [{ name: 'Tasks of this pass', ...ofAll(tasks.done, tasks.total) }]),
    ...(tasks === undefined ? [] : [{ name: 'Tasks running', value: countText(tasks.pending) }]),
    ...(rounds === undefined ? [] : [{ name: 'Rounds', ...ofAll(rounds.done, rounds.total) }]),
    { name: 'Speed', ...(rate === '' ? { value: UNKNOWN } : { value: rate, more: unit }) },
    { name: 'Time left', value: secondsLeft === undefined ? UNKNOWN : durationText(secondsLeft) },
    { name: 'Elapsed', value: durationText(elapsedSeconds) },
    { name: 'Mean loss', value: loss === undefined ? UNKNOWN : metricText(loss) },
  ];
}

const ofAll = (done: number, total: number): Pick<Fact, 'value' | 'more'> => ({
  value: countText(done),
  more: `of ${countText(total)}`,
});

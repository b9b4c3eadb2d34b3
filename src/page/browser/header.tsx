/** Which job it is, how it is, and whether what is shown is live. */
import { useEffect, useState } from 'preact/hooks';
import type { PageData, PageJob } from '../page-data.ts';
import type { View } from './connection.ts';
import { durationText } from './format.ts';
import { Badge, type Tone } from './parts.tsx';

const PHASE_TONES: Readonly<Record<PageJob['phase'], Tone>> = {
  training: 'accent',
  evaluating: 'accent',
  concluding: 'accent',
  done: 'good',
  failed: 'bad',
  unresponsive: 'bad',
  stopped: 'warning',
  waiting: 'warning',
};
/** No process is to be healthy then. */
const RESTING: readonly PageJob['phase'][] = ['done', 'failed', 'stopped'];
const HEALTH_TONES: Readonly<Record<PageJob['health'], Tone>> = { OK: 'good', UNHEALTHY: 'bad', UNKNOWN: 'plain' };
const HEALTH_WORDS: Readonly<Record<PageJob['health'], string>> = {
  OK: 'healthy',
  UNHEALTHY: 'not healthy',
  UNKNOWN: 'health unknown',
};

export function Header({ view }: { readonly view: View }) {
  const job = view.data?.job;
  return (
    <header class="top">
      <div class="brand">paddlet {view.data !== undefined && <small>{view.data.version}</small>}</div>
      <h1>{job?.name ?? 'Training'}</h1>
      {job !== undefined && (
        <div class="badges">
          <Badge tone={PHASE_TONES[job.phase]}>{job.phase}</Badge>
          {!RESTING.includes(job.phase) && <Badge tone={HEALTH_TONES[job.health]}>{HEALTH_WORDS[job.health]}</Badge>}
          <Badge tone="plain">{job.mode} mode</Badge>
        </div>
      )}
      <LiveSign view={view} />
    </header>
  );
}

function LiveSign({ view: { link, data, seenMs } }: { readonly view: View }) {
  const isLive = link.kind === 'live' && data?.problem === undefined;
  const nowMs = useNow(!isLive);
  if (isLive) return <p class="live on">live</p>;
  const age = seenMs === undefined ? '' : ` for ${durationText((nowMs - seenMs) / 1000)}`;
  return <p class="live off">{link.kind === 'connecting' ? 'connecting' : `not live${age}`}</p>;
}

/** Changes every second, while it is asked for. */
export function useNow(isWanted: boolean): number {
  const [nowMs, setNowMs] = useState(() => performance.now());
  useEffect(() => {
    if (!isWanted) return;
    setNowMs(performance.now());
    const timer = setInterval(() => setNowMs(performance.now()), 1000);
    return () => clearInterval(timer);
  }, [isWanted]);
  return nowMs;
}

export function Jobs({ data }: { readonly data: PageData }) {
  const { jobs, job, servedBy } = data;
  if (jobs.length < 2) return null;
  return (
    <nav class="jobs" aria-label="Jobs of this store">
      <ul>
        {jobs.map(({ name, end }) => {
          const isShown = name === job?.name;
          const href = `?job=${encodeURIComponent(name)}${location.hash}`;
          return (
            <li key={name} class={isShown ? 'shown' : ''}>
              {servedBy === 'ui' ? (
                <a href={href} aria-current={isShown ? 'page' : undefined}>
                  {name}
                </a>
              ) : (
                <span>{name}</span>
              )}
              <small class={end === 'failed' ? 'bad' : ''}>
                {isShown && end === undefined ? 'shown' : (end ?? 'open')}
              </small>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

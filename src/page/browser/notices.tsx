/** What keeps the page from showing the job as it is now, and what to do. */
import type { View } from './connection.ts';
import { durationText } from './format.ts';
import { useNow } from './header.tsx';

/** Above all else while what is shown is not live. The age is not announced: it changes every second. */
export function Notice({ view }: { readonly view: View }) {
  const { link, data, seenMs } = view;
  const isOld = link.kind === 'lost' || link.kind === 'refused' || data?.problem !== undefined;
  const nowMs = useNow(isOld);
  if (!isOld) return null;
  const age = seenMs === undefined ? undefined : durationText((nowMs - seenMs) / 1000);
  const shown = age === undefined ? '' : `This page shows the state of ${age} ago.`;
  if (link.kind === 'refused') return <Refused message={link.message} shown={shown} />;
  return (
    <section class="notice warning" aria-label="Connection">
      <span role="status">
        <strong>{link.kind === 'lost' ? 'Not connected.' : 'The page has no newer data.'}</strong>{' '}
        {link.kind === 'lost' ? `${location.host} does not answer; the page reconnects by itself.` : data?.problem}
      </span>{' '}
      {shown}
    </section>
  );
}

const Refused = ({ message, shown }: { readonly message: string; readonly shown: string }) => (
  <section class="notice bad" aria-label="Connection">
    <span role="alert">
      <strong>The server refused this page:</strong> {message}
    </span>{' '}
    {shown}
    <p>
      Open the page with a valid link: <code>paddlet ui</code> shows the jobs of a store, and{' '}
      <code>paddlet token view</code> prints the link of a job. After <code>paddlet token rotate</code> earlier links no
      longer work. The page tries again every 10 seconds.
    </p>
  </section>
);

/** Shown in place of the job if the link has no token. */
export function LinkHelp({ isBroken }: { readonly isBroken: boolean }) {
  return (
    <main class="help">
      <section class="panel" aria-labelledby="title-help">
        <h1 id="title-help">{isBroken ? 'This link is incomplete' : 'This page needs its full link'}</h1>
        <p>
          {isBroken
            ? 'The part after “#view=” must be the 64 characters of the view token; at least one is missing or wrong.'
            : 'The address of this page must end with “#view=” and the view token of the job.'}
        </p>
        <p>To get the whole link:</p>
        <ul>
          <li>
            <code>paddlet run</code> prints it when it starts a job.
          </li>
          <li>
            <code>paddlet token view</code> prints it for a job that is running.
          </li>
          <li>
            <code>paddlet ui</code> serves a page for all jobs of a store, and prints its link.
          </li>
        </ul>
        <p class="muted">With the link anyone can watch the job, but not change it.</p>
      </section>
    </main>
  );
}

/** The page as a whole. */
import type { PageData } from '../page-data.ts';
import { Cluster } from './cluster.tsx';
import type { View } from './connection.ts';
import { Curves } from './curves.tsx';
import { Header, Jobs } from './header.tsx';
import { Checkpoints, Records, Result, Tables } from './ledger.tsx';
import { Log } from './log.tsx';
import { Notice } from './notices.tsx';
import { Empty } from './parts.tsx';
import { Processes } from './processes.tsx';
import { Progress, Why } from './progress.tsx';

/** Then the picture of the cluster is high. */
const MANY = 20;

export function App({ view }: { readonly view: View }) {
  const { data, link, curves } = view;
  const job = data?.job;
  return (
    <>
      <Header view={view} />
      {data !== undefined && <Jobs data={data} />}
      <Notice view={view} />
      {job === undefined ? (
        <main class="none">
          <Empty>{data !== undefined ? noJobText(data) : link.kind === 'connecting' ? 'Connecting…' : ''}</Empty>
        </main>
      ) : (
        <main class={job.processes.length > MANY ? 'grid many' : 'grid'}>
          <Why job={job} />
          <Progress job={job} />
          <Curves curves={curves} />
          <Cluster job={job} />
          <div class="ledger">
            {job.result !== undefined && <Result result={job.result} />}
            <Records records={job.records} />
            {job.tables !== undefined && <Tables tables={job.tables} />}
            <Checkpoints job={job} time={data?.time ?? 0} />
          </div>
          {job.processes.length > 0 && <Processes job={job} />}
          <Log log={job.log} />
        </main>
      )}
    </>
  );
}

function noJobText({ jobs, servedBy, problem }: PageData): string {
  if (problem !== undefined) return '';
  const asked = new URLSearchParams(location.search).get('job');
  if (asked !== null) return `This store does not have a job ${asked}.`;
  if (jobs.length > 0 && servedBy === 'ui') return 'Choose one of the jobs above.';
  return 'This store does not have a job yet. Start one with paddlet run; this page then shows it.';
}

/** What became of the records, what is saved, and how the job ended. */
import type { PageCheckpoint, PageJob, PageKept, PageResult, PageTable } from '../page-data.ts';
import { metricTitle } from './charts.ts';
import {
  agoText,
  bytesText,
  compactText,
  countText,
  durationText,
  metricText,
  percentText,
  rateText,
} from './format.ts';
import { Empty, Facts, Panel, useShowAll } from './parts.tsx';

const ACCOUNT = ['read', 'good', 'bad', 'duplicate', 'applied', 'discarded', 'lost'] as const;
const MEANINGS: Readonly<Record<(typeof ACCOUNT)[number], string>> = {
  read: 'Read',
  good: 'Good',
  bad: 'Bad',
  duplicate: 'Duplicate',
  applied: 'Applied',
  discarded: 'Discarded',
  lost: 'Lost',
};

export function Records({ records }: { readonly records: PageJob['records'] }) {
  const known = ACCOUNT.filter((name) => records[name] !== undefined);
  const { lost } = records;
  return (
    <Panel id="records" title="Account of records">
      {known.length === 0 ? (
        <Empty>No records are accounted for yet.</Empty>
      ) : (
        <Facts
          facts={known.map((name) => ({
            name: MEANINGS[name],
            value: countText(records[name] ?? 0),
            tone: name === 'lost' && lost !== 0 ? ('bad' as const) : undefined,
          }))}
        />
      )}
      {lost === 0 && <p class="good">✓ No records are lost.</p>}
      {lost !== undefined && lost !== 0 && (
        <p class="bad">Records are lost: this is a defect of paddlet. Please report it.</p>
      )}
    </Panel>
  );
}

const MOST_SHOWN = 8;

export function Checkpoints({ job, time }: { readonly job: PageJob; readonly time: number }) {
  const { checkpoints, kept } = job;
  const { most, button } = useShowAll(checkpoints.length, MOST_SHOWN, 'checkpoints');
  return (
    <Panel id="checkpoints" title="Checkpoints">
      {checkpoints.length === 0 ? (
        <Empty>No checkpoint yet.</Empty>
      ) : (
        <table class="checkpoints">
          <thead>
            <tr>
              <th scope="col">Pserver</th>
              <th scope="col">Saved</th>
              <th scope="col">Size</th>
              <th scope="col">Round</th>
            </tr>
          </thead>
          <tbody>
            {checkpoints.slice(0, most).map((checkpoint, at) => (
              <CheckpointRow key={'error' in checkpoint ? `e${at}` : checkpoint.index} {...{ checkpoint, time }} />
            ))}
          </tbody>
        </table>
      )}
      {button}
      {kept !== undefined && (
        <>
          <h3>Kept models</h3>
          <Facts
            facts={[
              keptFact('Last', kept.metric, kept.last),
              ...(kept.best === undefined ? [] : [keptFact('Best', kept.metric, kept.best)]),
            ]}
          />
        </>
      )}
    </Panel>
  );
}

function CheckpointRow({ checkpoint, time }: { readonly checkpoint: PageCheckpoint; readonly time: number }) {
  if ('error' in checkpoint) {
    return (
      <tr class="bad">
        <td colSpan={4}>{checkpoint.error}</td>
      </tr>
    );
  }
  const { index, uuid, bytes, round, buildsOn } = checkpoint;
  return (
    <tr title={uuid}>
      <th scope="row">{index}</th>
      <td>{agoText(time - checkpoint.time)}</td>
      <td>
        {bytes === undefined ? '–' : bytesText(bytes)}
        {buildsOn && ` on ${countText(buildsOn.files)} of ${bytesText(buildsOn.bytes)}`}
      </td>
      <td>{round === undefined ? '–' : countText(round)}</td>
    </tr>
  );
}

/** Tables with admission, eviction or a bound. Counts are since the pservers started. */
export function Tables({ tables }: { readonly tables: readonly PageTable[] }) {
  const { most, button } = useShowAll(tables.length, MOST_SHOWN, 'tables');
  const notes = tables.flatMap(({ note }) => note ?? []);
  return (
    <Panel id="tables" title="Tables">
      <table class="checkpoints">
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col">Rows</th>
            <th scope="col">Size</th>
            <th scope="col">Admitted</th>
            <th scope="col">Evicted</th>
          </tr>
        </thead>
        <tbody>
          {tables.slice(0, most).map((table) => (
            <TableRow key={table.name} table={table} />
          ))}
        </tbody>
      </table>
      {button}
      {notes.map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
    </Panel>
  );
}

function TableRow({ table }: { readonly table: PageTable }) {
  const { name, rows, candidates, bytes, boundBytes, admitted, notAdmitted, refused, evicted } = table;
  const all = [
    `${countText(candidates)} candidates`,
    `${bytesText(bytes)}${boundBytes === undefined ? '' : ` of ${bytesText(boundBytes)}`}`,
    `${countText(admitted)} ids admitted, ${countText(notAdmitted)} not admitted, ${countText(refused)} refused`,
    `${countText(evicted.bound)} rows evicted at the bound, ${countText(evicted.unseen)} as unseen`,
  ];
  return (
    <tr title={all.join('; ')}>
      <th scope="row">{name}</th>
      <td>{countText(rows)}</td>
      <td>{boundBytes === undefined ? bytesText(bytes) : percentText(bytes / boundBytes)}</td>
      <td>{compactText(admitted)}</td>
      <td>{compactText(evicted.bound + evicted.unseen)}</td>
    </tr>
  );
}

const keptFact = (name: string, metric: string, { passes, value }: PageKept) => ({
  name: `${name}: ${passes} ${passes === 1 ? 'pass' : 'passes'}`,
  value: value === undefined ? '–' : metricText(value),
  more: metricTitle(metric),
});

export function Result({ result }: { readonly result: PageResult }) {
  const { train, test, modelDigest, recordsPerSecond, elapsedSeconds } = result;
  const metrics = [...new Set([...Object.keys(test), ...Object.keys(train)])];
  const cell = (value: number | undefined): string => (value === undefined ? '–' : metricText(value));
  return (
    <Panel id="result" title="Result">
      <table class="result">
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col">Train</th>
            <th scope="col">Test</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((metric) => (
            <tr key={metric}>
              <th scope="row">{metricTitle(metric)}</th>
              <td>{cell(train[metric])}</td>
              <td>
                <b>{cell(test[metric])}</b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="muted">
        Trained in {durationText(elapsedSeconds)} at {rateText(recordsPerSecond)}. Model digest{' '}
        <code class="digest">{modelDigest}</code>
      </p>
    </Panel>
  );
}

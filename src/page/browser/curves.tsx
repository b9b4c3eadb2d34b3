/** How the loss and the metrics developed. */
import type { PageCurve } from '../page-data.ts';
import { type Chart, chartsOf } from './charts.ts';
import { CurveChart } from './curve-chart.tsx';
import { countText, metricText } from './format.ts';
import { Empty, Panel } from './parts.tsx';

/** The table shows the newest points, at most this many. */
const POINTS_TOLD = 20;

export function Curves({ curves }: { readonly curves: readonly PageCurve[] }) {
  const charts = chartsOf(curves);
  const names = [...new Set(charts.flatMap(({ lines }) => lines.map(({ name }) => name)))];
  return (
    <Panel id="curves" title="Curves" note={charts.length > 0 && 'by records trained'}>
      {charts.length === 0 ? (
        <Empty>No curves yet: the first point appears after the first records are trained.</Empty>
      ) : (
        <div class="charts">
          {charts.map((chart) => (
            <CurveChart key={chart.metric} chart={chart} names={names} />
          ))}
        </div>
      )}
      {charts.length > 0 && (
        <details>
          <summary>Latest points as tables</summary>
          {charts.map((chart) => (
            <PointTable key={chart.metric} chart={chart} />
          ))}
        </details>
      )}
    </Panel>
  );
}

function PointTable({ chart: { title, trained, lines } }: { readonly chart: Chart }) {
  const from = Math.max(0, trained.length - POINTS_TOLD);
  return (
    <table class="points">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">records</th>
          {lines.map(({ name }) => (
            <th scope="col" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {trained.slice(from).map((x, at) => (
          <tr key={x}>
            <td>{countText(x)}</td>
            {lines.map(({ name, values }) => {
              const value = values[from + at];
              return <td key={name}>{value === null || value === undefined ? '' : metricText(value)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

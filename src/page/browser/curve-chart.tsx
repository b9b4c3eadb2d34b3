/** A chart with a separate legend: the values where the pointer is, else the latest. */
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { type Chart, type ChartLine, chartText } from './charts.ts';
import { countText, metricText } from './format.ts';
import { useWidth } from './width.ts';

const HEIGHT = 170;
/** Patterns that distinguish the curves in addition to their colors. */
const DASHES: readonly (readonly number[])[] = [[], [5, 3], [2, 2], [8, 3, 2, 3]];
const MOST_POINTS_MARKED = 30;

export interface CurveChartProps {
  readonly chart: Chart;
  /** Names of all curves, so that each curve looks the same in every chart. */
  readonly names: readonly string[];
}

/** `train` is dimmed: what counts is how well others are predicted. */
function styleOf(name: string, names: readonly string[]): number {
  if (name === 'train') return 0;
  return 1 + (names.filter((one) => one !== 'train').indexOf(name) % 3);
}

export function CurveChart({ chart, names }: CurveChartProps) {
  const { ref: frame, width } = useWidth<HTMLDivElement>();
  const plot = useRef<uPlot>(null);
  const [at, setAt] = useState<number | null>(null);
  const scheme = useColorScheme();
  const styles = chart.lines.map(({ name }) => styleOf(name, names));
  const isReady = width > 0;
  useEffect(() => {
    if (frame.current === null || !isReady) return;
    const options = optionsOf(chart, styles, frame.current, setAt);
    const made = new uPlot({ ...options, width, height: HEIGHT }, dataOf(chart), frame.current);
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [isReady, scheme, chart.metric, chart.lines.map(({ name }) => name).join('\n'), styles.join()]);
  useEffect(() => plot.current?.setData(dataOf(chart)), [chart]);
  useEffect(() => plot.current?.setSize({ width, height: HEIGHT }), [width]);
  return (
    <figure class="chart">
      <figcaption>
        <b>{chart.title}</b>
        <span class="at">{at === null ? 'latest' : `at ${countText(chart.trained[at] ?? 0)}`}</span>
        <ul>
          {chart.lines.map((line, index) => (
            <LegendLine key={line.name} line={line} style={styles[index]!} at={at} />
          ))}
        </ul>
      </figcaption>
      <div class="plot" ref={frame} role="img" aria-label={chartText(chart)} />
    </figure>
  );
}

interface LegendLineProps {
  readonly line: ChartLine;
  readonly style: number;
  readonly at: number | null;
}

function LegendLine({ line: { name, values, latest }, style, at }: LegendLineProps) {
  const value = at === null ? latest : values[at];
  return (
    <li>
      <svg width="18" height="8" aria-hidden="true">
        <path d="M0 4H18" class={`curve-${style}`} stroke-dasharray={dashOf(style).join(' ')} />
      </svg>
      {name} <b>{value === undefined || value === null ? '–' : metricText(value)}</b>
    </li>
  );
}

const dashOf = (style: number): number[] => [...(DASHES[style === 0 ? 1 : style === 1 ? 0 : style] ?? [])];

const dataOf = ({ trained, lines }: Chart): uPlot.AlignedData =>
  [trained, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;

function optionsOf(
  { trained, lines }: Chart,
  styles: readonly number[],
  element: HTMLElement,
  onPoint: (at: number | null) => void,
): Omit<uPlot.Options, 'width' | 'height'> {
  const css = getComputedStyle(element);
  const color = (name: string): string => css.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    font: `11px ${css.fontFamily}`,
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    scales: { x: { time: false } },
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    padding: [8, 12, 0, 0],
    axes: [
      { ...axis, size: 26, space: 60, values: (_, splits) => splits.map(axisText) },
      { ...axis, size: 50, space: 34, values: (_, splits) => splits.map(tickText) },
    ],
    series: [
      {},
      ...lines.map(({ name }, at) => ({
        label: name,
        stroke: color(`--curve-${styles[at]}`),
        width: 1.75,
        dash: dashOf(styles[at]!),
        spanGaps: true,
        points: { show: trained.length <= MOST_POINTS_MARKED, size: 5 },
      })),
    ],
    hooks: { setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)] },
  };
}

const AXIS = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 4 });
const axisText = (records: number): string => AXIS.format(records);

/** Rounds off the noise of binary fractions. */
const tickText = (value: number): string => String(Number(value.toPrecision(6)));

/** Changes with the scheme of the system: a canvas does not follow style sheets. */
function useColorScheme(): string {
  const [isDark, setDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    const onChange = (): void => setDark(query.matches);
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, []);
  return isDark ? 'dark' : 'light';
}

/** The last lines of the logs. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { PageLogLine } from '../page-data.ts';
import { clockText, isoText } from './format.ts';
import { Empty, Panel } from './parts.tsx';

export function Log({ log }: { readonly log: readonly PageLogLine[] }) {
  const frame = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  });
  const onScroll = ({ currentTarget: element }: { readonly currentTarget: HTMLElement }): void => {
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 8;
  };
  return (
    <Panel id="log" title="Log" note={log.length > 0 && 'latest lines'}>
      {log.length === 0 ? (
        <Empty>No log lines yet.</Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
        <section class="log" ref={frame} tabIndex={0} aria-label="Lines of the log" onScroll={onScroll}>
          {log.map((line, at) => (
            <Line key={at} line={line} />
          ))}
        </section>
      )}
    </Panel>
  );
}

const Line = ({ line: { log, time, level, text } }: { readonly line: PageLogLine }) => (
  <div class={`line ${level}`}>
    <time dateTime={isoText(time)}>{clockText(time)}</time> <span class="level">{level}</span>{' '}
    <span class="from">{log}</span> <span class="text">{text}</span>
  </div>
);

/** Where the time of trainers and pservers goes: one line a role, the sum of its processes since each of them began. */
import type { LiveProcess } from '../../view/describe-job.ts';

export function timesText(processes: readonly LiveProcess[]): string[] {
  const trainers = new Map<string, number>();
  const pservers = new Map<string, number>();
  let changeoverMs = 0;
  for (const { answer } of processes) {
    if (answer.kind !== 'info' || answer.info.state !== 'working') continue;
    const { info } = answer;
    if (info.role === 'master') continue;
    addTo(info.role === 'trainer' ? trainers : pservers, info.spentMs);
    if (info.role === 'trainer') changeoverMs += info.changeoverMs;
  }
  const between = Math.round((100 * changeoverMs) / Math.max(sumOf(trainers), 1));
  const changeover = between === 0 ? '' : `; ${between} % of it between tasks`;
  return [...lineOf('trainers', trainers, changeover), ...lineOf('pservers', pservers, '')];
}

function addTo(sums: Map<string, number>, spentMs: Readonly<Record<string, number>>): void {
  for (const [name, ms] of Object.entries(spentMs)) sums.set(name, (sums.get(name) ?? 0) + ms);
}

const sumOf = (sums: ReadonlyMap<string, number>): number => [...sums.values()].reduce((sum, one) => sum + one, 0);

/** Omits what rounds to 0 %. */
function lineOf(whose: string, sums: ReadonlyMap<string, number>, more: string): string[] {
  const total = sumOf(sums);
  if (total === 0) return [];
  const shares = [...sums]
    .map(([name, ms]) => ({ name, percent: Math.round((100 * ms) / total) }))
    .filter(({ percent }) => percent > 0)
    .sort((a, b) => b.percent - a.percent);
  return [`time of ${whose}: ${shares.map(({ name, percent }) => `${name} ${percent} %`).join(', ')}${more}`];
}

/** The processes of the job and who waits for whom, as a picture and in words. */
import type { PageJob, PageProcess } from '../page-data.ts';
import { type Group, layoutCluster } from './cluster-layout.ts';
import { counted, listText } from './format.ts';
import { Empty, Panel, useShowAll } from './parts.tsx';
import { ProcessBox } from './process-box.tsx';
import { routeOf } from './routes.ts';
import { type UnitCells, unitCells } from './unit-cells.ts';
import { type WaitGroup, waitGroups, waitText } from './waits.ts';
import { useWidth } from './width.ts';

/** More lines than that say nothing in a picture: the words say it. */
const GROUPS_DRAWN = 9;
const LINES_DRAWN = 64;

const ROLES = ['master', 'pserver', 'trainer'] as const;
type Role = (typeof ROLES)[number];
type ByRole = Readonly<Record<Role, readonly PageProcess[]>>;

export function Cluster({ job }: { readonly job: PageJob }) {
  const { processes, units } = job;
  const groups = waitGroups(job.waits);
  const cells = unitCells(units);
  const isShown = processes.length > 0 && units.total > 0;
  return (
    <Panel id="cluster" title="Cluster" note={isShown && unitsText(units)}>
      {processes.length === 0 ? (
        <Empty>No process of the job is running.</Empty>
      ) : (
        <>
          {isShown && <Legend units={units} />}
          <Picture job={job} cells={cells} waits={groups} />
        </>
      )}
      {processes.length > 0 && cells.lost.length > 0 && (
        <p class="lost">
          <span class="cell lost" aria-hidden="true" /> No live pserver has {cells.lost.length === 1 ? 'unit' : 'units'}{' '}
          {listText(cells.lost.map(String), 12)}.
        </p>
      )}
      <Waits groups={groups} />
      <Stragglers processes={processes} />
    </Panel>
  );
}

const Legend = ({ units: { replicas, orphans } }: { readonly units: PageJob['units'] }) => (
  <ul class="legend" aria-label="Signs of the picture">
    <li>
      <span class="cell led" aria-hidden="true" /> unit it leads
    </li>
    {replicas > 1 && (
      <li>
        <span class="cell copy" aria-hidden="true" /> copy in sync
      </li>
    )}
    {orphans > 0 && (
      <li>
        <span class="cell orphan" aria-hidden="true" /> unit without a primary
      </li>
    )}
  </ul>
);

interface PictureProps {
  readonly job: PageJob;
  readonly cells: UnitCells;
  readonly waits: readonly WaitGroup[];
}

function Picture({ job, cells, waits }: PictureProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const byRole: ByRole = {
    master: job.processes.filter(({ role }) => role === 'master'),
    pserver: job.processes.filter(({ role }) => role === 'pserver'),
    trainer: job.processes.filter(({ role }) => role === 'trainer'),
  };
  const cellsOf = ({ id, role }: PageProcess) => (role === 'pserver' ? (cells.of.get(Number(id)) ?? []) : []);
  const wishes = ROLES.map((role) => ({
    hasHeading: roleTitle(role, byRole[role].length) !== undefined,
    lines: role === 'master' ? 2 : 3,
    keys: byRole[role].map(({ key }) => key),
    cells: Math.max(0, ...byRole[role].map((process) => cellsOf(process).length)),
  }));
  const { groups, height } = layoutCluster(wishes, width);
  return (
    <div class="picture" ref={ref} style={{ height: `${height}px` }}>
      {width > 0 && (
        <>
          <Lines groups={groups} waits={waits} width={width} height={height} />
          {ROLES.map((role, at) => {
            const group = groups[at]!;
            const title = roleTitle(role, byRole[role].length);
            return (
              <div key={role}>
                {title !== undefined && (
                  <p class="role" style={{ top: `${group.y}px` }}>
                    {title}
                  </p>
                )}
                <ul aria-label={title ?? role}>
                  {byRole[role].map((process, index) => (
                    <ProcessBox
                      key={process.key}
                      process={process}
                      box={group.boxes[index]!}
                      group={group}
                      cells={cellsOf(process)}
                    />
                  ))}
                </ul>
              </div>
            );
          })}
        </>
      )}
    </div>
  );
}

/** Undefined where the box itself says it. */
function roleTitle(role: Role, count: number): string | undefined {
  if (role === 'master' && count === 1) return undefined;
  return count === 0 ? `No ${role}` : counted(count, role);
}

function unitsText({ total, replicas, toMove, orphans }: PageJob['units']): string {
  return [
    counted(total, 'unit'),
    ...(replicas > 1 ? [`${replicas} copies of each`] : []),
    ...(toMove > 0 ? [`${toMove} to move`] : []),
    ...(orphans > 0 ? [`${orphans} without a primary`] : []),
  ].join(' · ');
}

interface LinesProps {
  readonly groups: readonly Group[];
  readonly waits: readonly WaitGroup[];
  readonly width: number;
  readonly height: number;
}

function Lines({ groups, waits, width, height }: LinesProps) {
  const boxes = new Map(groups.flatMap((group) => group.boxes.map((box) => [box.key, box])));
  const drawn = waits.slice(0, GROUPS_DRAWN).map(({ from, to }, lane) => {
    const target = boxes.get(to);
    if (target === undefined) return [];
    const sources = from.flatMap((key) => boxes.get(key) ?? []).filter((box) => box !== target);
    return sources.slice(0, LINES_DRAWN).map((box) => routeOf(box, target, lane, width));
  });
  return (
    <svg class="lines" width={width} height={height} aria-hidden="true">
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">
          <path d="M0 0L8 4L0 8Z" />
        </marker>
      </defs>
      {drawn.flat().map(({ path }) => (
        <path key={path} d={path} class="wait" marker-end="url(#arrow)" />
      ))}
      {drawn.map(([route], at) => {
        if (route === undefined) return null;
        const { x, y } = route.sign;
        return (
          <g key={at} class="sign">
            <circle cx={x} cy={y} r="8" />
            <text x={x} y={y + 3.5}>
              {at + 1}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const WAITS_SHOWN = 6;

function Waits({ groups }: { readonly groups: readonly WaitGroup[] }) {
  const { most, button } = useShowAll(groups.length, WAITS_SHOWN, 'waits');
  if (groups.length === 0) return null;
  return (
    <>
      <h3>Who waits for whom</h3>
      <ol class="waits">
        {groups.slice(0, most).map((group) => (
          <li key={`${group.to} ${group.what}`}>{waitText(group)}</li>
        ))}
      </ol>
      {button}
    </>
  );
}

function Stragglers({ processes }: { readonly processes: readonly PageProcess[] }) {
  const slow = processes.filter((process) => process.slow !== undefined);
  const { most, button } = useShowAll(slow.length, WAITS_SHOWN, 'stragglers');
  if (slow.length === 0) return null;
  return (
    <>
      <h3>Stragglers</h3>
      <ul class="stragglers">
        {slow.slice(0, most).map(({ key, role, id, slow: reason }) => (
          <li key={key}>
            <b>
              {role} {id}
            </b>
            : {reason}
          </li>
        ))}
      </ul>
      {button}
    </>
  );
}

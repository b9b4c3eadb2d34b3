/**
 * The HTTP answers of every role on its port: GET /healthz, /readyz and, if a flag says so, /metrics (docs/design.md
 * §9).
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { isPaddletError } from '../base/errors.ts';
import type { HttpAnswer } from '../protocol/messages/channel.ts';
import type { WireTraffic } from '../protocol/websocket/wire-options.ts';

/** Labels of all series of a process. */
export interface MetricsLabels {
  readonly job: string;
  readonly role: string;
  /** Index of a pserver; absent until the pserver has one. */
  readonly index?: string;
}

/** Metrics of Node that are not exported: it has a series for each part of its heap, and operators cannot use them. */
const LEFT_OUT = ['total', 'used', 'available'].map((what) => `nodejs_heap_space_size_${what}_bytes`);

/** A registry with the metrics of the process: memory, CPU, event loop, descriptors, version. */
export function createMetricsRegistry(labels: MetricsLabels, version: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ ...labels });
  collectDefaultMetrics({ register: registry });
  for (const name of LEFT_OUT) registry.removeSingleMetric(name);
  new Gauge({
    name: 'paddlet_build_info',
    help: 'Always 1; its labels are the versions of paddlet and Node',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.versions.node }, 1);
  return registry;
}

/** Seconds: from a push of a small model to a pserver that is stuck. */
const SERVED_BUCKETS = [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5, 30];

/** Those of training. A series for each type that there is would be too many. */
const SERVED_TYPES: ReadonlySet<string> = new Set([
  ...['pull', 'push', 'pullVersion', 'pushLane', 'replicate'],
  ...['getTasks', 'finishTasks', 'getLanes'],
]);

/** Takes the time of each request that this process has answered, in milliseconds. */
export function registerServed(registry: Registry): (type: string, tookMs: number) => void {
  const seconds = new Histogram({
    name: 'paddlet_request_seconds',
    help: 'Time from the start of a request by another process until its answer',
    labelNames: ['type'],
    buckets: SERVED_BUCKETS,
    registers: [registry],
  });
  return (type, tookMs) => seconds.observe({ type: SERVED_TYPES.has(type) ? type : 'other' }, tookMs / 1000);
}

export function registerTraffic(registry: Registry, traffic: Readonly<WireTraffic>): void {
  new Counter({
    name: 'paddlet_wire_bytes_total',
    help: 'Bytes of frames exchanged with other roles, headers included',
    labelNames: ['direction'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ direction: 'sent' }, traffic.sentBytes);
      this.inc({ direction: 'received' }, traffic.receivedBytes);
    },
  });
}

/** A series for each of `kinds`, so that a kind that is not present shows 0; `now` returns those that are present. */
export function registerTroubles(registry: Registry, kinds: readonly string[], now: () => readonly string[]): void {
  new Gauge({
    name: 'paddlet_trouble',
    help: '1 while this process waits for something outside of paddlet: its store, its checkpoint folder, a pserver',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const found = now();
      for (const kind of kinds) this.set({ kind }, found.includes(kind) ? 1 : 0);
    },
  });
}

export interface Readiness {
  readonly ready: boolean;
  /** What it waits for, when not ready. */
  readonly reason?: string;
}

export interface HealthOptions {
  readonly role: string;
  readonly isReady: () => Readiness;
  readonly registry: Registry;
  /** Whether strangers may read /metrics: they cannot prove to know the join token over HTTP. */
  readonly exposeMetrics: boolean;
  /** A master's list of the addresses where metrics of the job can be read, for Prometheus (`http_sd_config`). */
  readonly targets?: () => Promise<readonly object[]>;
}

const CLOSED = 'start this process with --expose-metrics to read its metrics here\n';

/** The `http` answerer of `ListenOptions`. Healthy means that the process answers; ready that it does its work. */
export function createHealth(options: HealthOptions): (path: string) => Promise<HttpAnswer | undefined> {
  return async (path) => {
    switch (path.split('?', 1)[0]) {
      case '/healthz':
        return json(200, { status: 'ok', role: options.role });
      case '/readyz': {
        const { ready, reason } = options.isReady();
        const status = ready ? 'ready' : 'waiting';
        return json(ready ? 200 : 503, { status, role: options.role, ...(reason === undefined ? {} : { reason }) });
      }
      case '/metrics':
        if (!options.exposeMetrics) return { status: 403, contentType: 'text/plain; charset=utf-8', body: CLOSED };
        return { status: 200, contentType: options.registry.contentType, body: await options.registry.metrics() };
      case '/targets':
        if (options.targets === undefined) return undefined;
        if (!options.exposeMetrics) return { status: 403, contentType: 'text/plain; charset=utf-8', body: CLOSED };
        return targetsOf(options.targets);
      default:
        return undefined;
    }
  };
}

async function targetsOf(targets: () => Promise<readonly object[]>): Promise<HttpAnswer> {
  try {
    return json(200, await targets());
  } catch (error) {
    // Prometheus keeps those that it knows.
    if (!isPaddletError(error)) throw error;
    return json(503, { error: error.message });
  }
}

function json(status: number, body: object): HttpAnswer {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}

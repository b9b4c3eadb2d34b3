/**
 * The HTTP answers of every role on its port: GET /healthz, /readyz and, if a flag says so, /metrics (docs/design.md
 * §9).
 */
import { Counter, collectDefaultMetrics, Registry } from 'prom-client';
import type { HttpAnswer } from '../protocol/messages/channel.ts';
import type { WireTraffic } from '../protocol/websocket/wire-options.ts';

/**
 * A registry with the metrics of the process (memory, CPU, event loop, descriptors), every series labelled with
 * `labels`.
 */
export function createMetricsRegistry(labels: Readonly<Record<string, string>>): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ ...labels });
  collectDefaultMetrics({ register: registry });
  return registry;
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
      default:
        return undefined;
    }
  };
}

function json(status: number, body: object): HttpAnswer {
  return { status, contentType: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` };
}

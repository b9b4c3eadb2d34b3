/** etcd's gRPC services, as npm `etcd3` brings them in its copy of etcd's rpc.proto. */
import { createRequire } from 'node:module';
import { makeClientConstructor, type ServiceClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import * as loader from '@grpc/proto-loader';
import type { Services } from 'etcd3';

export type ServiceName = keyof typeof Services;

/**
 * The representation that the message types of `etcd3` describe: 64-bit numbers as decimal strings, names as in the
 * file.
 */
const REPRESENTATION = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true } as const;

// The executable has no such file: its build replaces this call by one with the parsed text
// (scripts/build-steps/bundle.ts).
const definitions = loader.loadSync(createRequire(import.meta.url).resolve('etcd3/proto/rpc.proto'), REPRESENTATION);

const constructors = new Map<ServiceName, ServiceClientConstructor>();

/** The class of the clients of one service. */
export function clientOf(service: ServiceName): ServiceClientConstructor {
  const known = constructors.get(service);
  if (known !== undefined) return known;
  const made = makeClientConstructor(definitions[`etcdserverpb.${service}`] as ServiceDefinition, service);
  constructors.set(service, made);
  return made;
}

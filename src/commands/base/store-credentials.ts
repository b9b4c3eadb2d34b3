/** How a command reaches an etcd cluster that wants a user or certificates. A password is never on the command line. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { PaddletError } from '../../base/errors.ts';
import type { StoreCredentials } from '../../store/etcd/access.ts';

const helpGroup = 'STORE';
const pem = (env: string, description: string) => Flags.string({ env, helpValue: 'FILE', description, helpGroup });

export const credentialFlags = {
  'store-user': Flags.string({
    env: 'PADDLET_STORE_USER',
    helpValue: 'NAME',
    description:
      'Name of the etcd user to log in as. The password comes from the variable PADDLET_STORE_PASSWORD or the file --store-password-file.',
    helpGroup,
  }),
  'store-password-file': Flags.string({
    env: 'PADDLET_STORE_PASSWORD_FILE',
    helpValue: 'FILE',
    description: 'File that contains the password of --store-user.',
    helpGroup,
  }),
  'store-ca': pem(
    'PADDLET_STORE_CA',
    'PEM file with the certificate authority that paddlet trusts for etcds:// servers. Default: the public certificate authorities.',
  ),
  'store-cert': pem(
    'PADDLET_STORE_CERT',
    'PEM file with the client certificate that paddlet presents to etcds:// servers. Requires --store-key.',
  ),
  'store-key': pem('PADDLET_STORE_KEY', 'PEM file with the private key of the certificate in --store-cert.'),
};

export const PASSWORD_VARIABLE = 'PADDLET_STORE_PASSWORD';

export type CredentialFlags = Readonly<Partial<Record<keyof typeof credentialFlags, string | undefined>>>;

/** Reads the files that the flags name; none for a store that is not etcd. `Usage` when something is missing. */
export function storeCredentials(url: string, flags: CredentialFlags): StoreCredentials {
  if (!/^etcds?:/.test(url)) return {};
  const { 'store-user': name, 'store-password-file': passwordFile } = flags;
  const { 'store-ca': ca, 'store-cert': cert, 'store-key': key } = flags;
  if ((cert === undefined) !== (key === undefined)) throw usage('give both --store-cert and --store-key, or neither');
  const password =
    passwordFile === undefined ? process.env[PASSWORD_VARIABLE] : firstLine('--store-password-file', passwordFile);
  const hasPassword = password !== undefined && password !== '';
  if (hasPassword && name === undefined) throw usage('a password for the store needs --store-user');
  const tls = [ca, cert, key].every((file) => file === undefined)
    ? undefined
    : { ca: read('--store-ca', ca), cert: read('--store-cert', cert), key: read('--store-key', key) };
  if (name === undefined) return { tls };
  if (!hasPassword) {
    throw new PaddletError('Usage', `--store-user ${name} needs a password`, {
      hint: `set ${PASSWORD_VARIABLE}, or pass --store-password-file FILE`,
    });
  }
  return { tls, user: { name, password } };
}

/** The same flags for a process that is started; the password itself stays in the environment or in its file. */
export function credentialArguments(flags: CredentialFlags): string[] {
  return (Object.keys(credentialFlags) as (keyof typeof credentialFlags)[]).flatMap((flag) => {
    const value = flags[flag];
    if (value === undefined) return [];
    return [`--${flag}`, flag === 'store-user' ? value : resolve(value)];
  });
}

const usage = (message: string): PaddletError => new PaddletError('Usage', message);

function read(flag: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new PaddletError('Usage', `${flag} ${file}: ${(error as Error).message}`, { cause: error });
  }
}

const firstLine = (flag: string, file: string): string => read(flag, file)!.split(/\r?\n/, 1)[0]!;

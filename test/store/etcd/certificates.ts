/** Certificates for one test, made with openssl: an authority, a server and a client, and a stranger's. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  /** Paths of PEM files. */
  readonly cert: string;
  readonly key: string;
}

export class Certificates {
  readonly folder = mkdtempSync(join(tmpdir(), 'paddlet-certificates-'));
  readonly authority = this.#authority('authority');
  readonly stranger = this.#authority('stranger');
  readonly server = this.#signed('server', 'subjectAltName=IP:127.0.0.1,DNS:localhost');
  readonly client = this.#signed('client', 'extendedKeyUsage=clientAuth');

  /** The reason to skip tests that need them, or undefined. */
  static whyNot(): string | undefined {
    try {
      execFileSync('openssl', ['version'], { stdio: 'pipe' });
      return undefined;
    } catch {
      return 'no openssl';
    }
  }

  /** As PEM text, with an authority. */
  static read({ cert, key }: Certificate, authority: Certificate) {
    return {
      ca: readFileSync(authority.cert, 'utf8'),
      cert: readFileSync(cert, 'utf8'),
      key: readFileSync(key, 'utf8'),
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #authority(name: string): Certificate {
    const made = this.#files(name);
    this.#openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      made.key,
      '-out',
      made.cert,
      '-subj',
      `/CN=${name}`,
      '-days',
      '2',
    );
    return made;
  }

  #signed(name: string, extension: string): Certificate {
    const made = this.#files(name);
    const request = join(this.folder, `${name}.csr`);
    const extensions = join(this.folder, `${name}.ext`);
    writeFileSync(extensions, `${extension}\n`);
    this.#openssl('req', ...NEW_KEY, '-keyout', made.key, '-out', request, '-subj', `/CN=${name}`);
    const by = ['-CA', this.authority.cert, '-CAkey', this.authority.key, '-CAcreateserial'];
    this.#openssl('x509', '-req', '-in', request, ...by, '-out', made.cert, '-days', '2', '-extfile', extensions);
    return made;
  }

  #files(name: string): Certificate {
    return { cert: join(this.folder, `${name}.pem`), key: join(this.folder, `${name}.key`) };
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { stdio: 'pipe' });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

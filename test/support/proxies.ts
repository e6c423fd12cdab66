import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { isListening } from './http/connection.js';
import { freePort } from '../../packages/platform/src/testing/free-port.js';
import type { ProgramFolder } from './program.js';
import { until } from '../../packages/platform/src/testing/until.js';

const ROOT = new URL('../../', import.meta.url);
/** Debian installs nginx and HAProxy in a folder that is not in every PATH. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin`;
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

/** A certificate for localhost. */
export const CERTIFICATE = read('test/postgres/certificates/server.crt');
const KEY = read('test/postgres/certificates/server.key');

/** What a test changes in the shipped configuration. */
export interface ProxyOptions {
  /** How long the proxy waits for an answer. */
  readonly readTimeout?: string;
  /** Whether clients connect with TLS, over which they may choose HTTP/2. */
  readonly tls?: boolean;
  /** Whether it removes the prefix /api. */
  readonly removesPrefix?: boolean;
  /** What it compresses; nothing by default. */
  readonly compresses?: 'json' | 'page and lines';
}

/** The settings of a proxy that every test changes. */
interface Place {
  readonly port: number;
  /** Of the programs. */
  readonly upstreams: readonly number[];
  /** Makes a file that the configuration can name, and returns its path. */
  readonly writeFile: (name: string, text: string) => string;
}

/** How a proxy is started, and how it differs from the others. */
interface Kind {
  readonly shipped: string;
  /** The replacements of texts of the shipped configuration, each of which it must have. */
  replace(place: Place, options: ProxyOptions): readonly (readonly [string, string])[];
  /** The command without its program. */
  readonly args: (file: string, folder: ProgramFolder) => readonly string[];
  /** The header `Server` of the answers, if it sets one: without its version. */
  readonly server?: string;
  /** The codes of its answers when no program listens. */
  readonly unreachable: readonly number[];
  /** Whether it makes the ETag of an answer weak that it compresses. */
  readonly weakensEtags: boolean;
  /** Whether it limits the requests of an address that are under way. */
  readonly limitsAddresses: boolean;
  /** Whether it sends a request to another program if one does not listen. */
  readonly sendsAgain: boolean;
  /** Whether it breaks an answer off that the program has broken off. */
  readonly breaksOff: boolean;
  /** Whether it ends a connection of HTTP/2 with headers above 16 KiB, instead of an answer. */
  readonly endsConnections: boolean;
}

const LINES_TYPES = 'text/css text/javascript application/javascript application/x-ndjson';

const KINDS = {
  nginx: {
    shipped: 'deploy/nginx.conf',
    replace({ port, upstreams, writeFile }, options) {
      const { readTimeout = '30s', compresses } = options;
      const tls = `ssl_certificate ${writeFile('proxy.crt', CERTIFICATE)};
        ssl_certificate_key ${writeFile('proxy.key', KEY)};`;
      const servers = upstreams.map((upstream) => `server 127.0.0.1:${upstream} max_fails=0;`);
      const types = compresses === 'json' ? 'application/json' : LINES_TYPES;
      return [
        // The names of containers are unknown here, and only some releases look them up again.
        ['resolver 127.0.0.11 valid=5s;', ''],
        ['server plants:3000 resolve max_fails=0;', servers.join('\n')],
        [
          'listen 80;',
          options.tls === true
            ? `listen 127.0.0.1:${port} ssl http2; ${tls}`
            : `listen 127.0.0.1:${port};`,
        ],
        ['proxy_read_timeout 30s;', `proxy_read_timeout ${readTimeout};`],
        [
          'server_tokens off;',
          `server_tokens off; ${options.removesPrefix === true ? 'rewrite ^/api(/.*)$ $1;' : ''}`,
        ],
        [
          'gzip off;',
          compresses === undefined
            ? 'gzip off;'
            : `gzip on; gzip_proxied any; gzip_types ${types};`,
        ],
      ];
    },
    args: (file, folder) => [
      ...['-p', folder.path, '-c', file],
      ...['-g', `daemon off; error_log stderr; pid ${folder.file('nginx.pid')};`],
    ],
    server: 'nginx',
    unreachable: [50200],
    weakensEtags: true,
    limitsAddresses: true,
    sendsAgain: true,
    breaksOff: true,
    endsConnections: true,
  },
  haproxy: {
    shipped: 'deploy/haproxy.cfg',
    replace({ port, upstreams, writeFile }, options) {
      const { readTimeout = '30s', compresses } = options;
      const tls = `ssl crt ${writeFile('proxy.pem', CERTIFICATE + KEY)} alpn h2,http/1.1`;
      const servers = upstreams.map((upstream, index) => `server s${index} 127.0.0.1:${upstream}`);
      const types = compresses === 'json' ? 'application/json' : `text/html ${LINES_TYPES}`;
      const compression = `compression algo gzip\n  compression type ${types}`;
      const prefix = 'http-request replace-path ^/api(/.*) \\1';
      return [
        // Not every machine allows it the files for more.
        ['maxconn 16384', 'maxconn 8192'],
        ['bind :80', `bind 127.0.0.1:${port} ${options.tls === true ? tls : ''}`],
        ['timeout server 30s', `timeout server ${readTimeout}`],
        ['server one 127.0.0.1:3000', servers.join('\n  ')],
        ['server two 127.0.0.1:3001', ''],
        [
          'balance leastconn',
          `balance leastconn\n  ${options.removesPrefix === true ? prefix : ''}`,
        ],
        [
          'default_backend plants',
          `default_backend plants\n  ${compresses === undefined ? '' : compression}`,
        ],
      ];
    },
    args: (file) => ['-db', '-f', file],
    unreachable: [50300],
    weakensEtags: true,
    limitsAddresses: true,
    sendsAgain: true,
    breaksOff: true,
    endsConnections: false,
  },
  caddy: {
    shipped: 'deploy/Caddyfile',
    replace({ port, upstreams, writeFile }, options) {
      const { readTimeout = '30s', compresses } = options;
      const tls = `tls ${writeFile('proxy.crt', CERTIFICATE)} ${writeFile('proxy.key', KEY)}`;
      const types = `text/html ${LINES_TYPES}`.split(' ');
      const match = `match {\n${types.map((type) => `header Content-Type ${type}*`).join('\n')}\n}`;
      const site = [
        options.tls === true ? tls : '',
        options.removesPrefix === true ? 'uri strip_prefix /api' : '',
        compresses === undefined ? '' : `encode gzip {\n${compresses === 'json' ? '' : match}\n}`,
      ];
      return [
        // Its interface for administrators has one port for all.
        ['{\n\tservers {', '{\n\tadmin off\n\tservers {'],
        [
          '127.0.0.1:3000 127.0.0.1:3001',
          upstreams.map((upstream) => `127.0.0.1:${upstream}`).join(' '),
        ],
        [
          'plants.example.com {',
          `${options.tls === true ? 'https' : 'http'}://:${port} {\n\tbind 127.0.0.1\n${site.join('\n')}`,
        ],
        ['response_header_timeout 30s', `response_header_timeout ${readTimeout}`],
      ];
    },
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
    server: 'Caddy',
    // The second one once it knows by its own requests.
    unreachable: [50200, 50300],
    weakensEtags: false,
    limitsAddresses: false,
    sendsAgain: false,
    breaksOff: false,
    endsConnections: false,
  },
} satisfies Record<string, Kind>;

export type ProxyName = keyof typeof KINDS;
export const PROXIES = Object.keys(KINDS) as ProxyName[];

/** A proxy with its shipped configuration, as a process of its own. */
export class Proxy {
  private constructor(
    readonly kind: Kind,
    private readonly process: ChildProcess,
    readonly port: number,
    private readonly isTls: boolean,
  ) {}

  /**
   * Starts a proxy with its shipped configuration, but with other addresses.
   *
   * @param upstreams the ports of the programs
   */
  static async start(
    name: ProxyName,
    folder: ProgramFolder,
    upstreams: readonly number[],
    options: ProxyOptions = {},
  ): Promise<Proxy> {
    const kind: Kind = KINDS[name];
    const port = await freePort();
    const writeFile = (file: string, text: string): string => {
      writeFileSync(folder.file(file), text);
      return folder.file(file);
    };
    let text = read(kind.shipped);
    for (const [before, after] of kind.replace({ port, upstreams, writeFile }, options)) {
      if (!text.includes(before)) throw new Error(`${kind.shipped} has no ${before}`);
      text = text.replace(before, () => after);
    }
    const args = kind.args(writeFile(`${name}.conf`, text), folder);
    const process = spawn(name, args, {
      // Caddy keeps its state in the home folder.
      env: { PATH, HOME: folder.path },
      stdio: 'ignore',
    });
    const proxy = new Proxy(kind, process, port, options.tls === true);
    await until(async () => {
      const isOpen = await isListening(port);
      // Otherwise another process has taken the port.
      if (process.exitCode !== null) throw new Error(`${name} has not started`);
      return isOpen;
    });
    return proxy;
  }

  get origin(): string {
    return `${this.isTls ? 'https://localhost' : 'http://127.0.0.1'}:${this.port}`;
  }

  /** Sums the sizes of the files that it has open and has removed, in bytes. */
  countTemporaryBytes(): number {
    const { pid } = this.process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const files = [String(pid), ...children.split(' ')]
      .filter((one) => one !== '')
      .flatMap((one) =>
        readdirSync(`/proc/${one}/fd`).map((descriptor) => `/proc/${one}/fd/${descriptor}`),
      );
    return files
      .filter((file) => isRemoved(file))
      .reduce((bytes, file) => bytes + statSync(file).size, 0);
  }

  async stop(): Promise<void> {
    this.process.kill('SIGTERM');
    if (this.process.exitCode === null) await once(this.process, 'exit');
  }
}

/** Whether a descriptor leads to a removed file, as those of nginx's temporary files do. */
function isRemoved(descriptor: string): boolean {
  try {
    const target = readlinkSync(descriptor);
    return target.startsWith('/') && target.endsWith('(deleted)');
  } catch {
    // It was closed in the meantime.
    return false;
  }
}

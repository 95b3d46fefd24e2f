// `os`: the machine that a program may believe it runs on.

import * as host from './host.js';
import { process } from './process.js';
import { errorNames } from './system_error.js';
import { fill } from './unsupported.js';

const signals = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

export default fill(
  {
    EOL: '\n',
    devNull: '/dev/null',
    constants: { signals, errno: errorNames, priority: {}, dlopen: {}, UV_UDP_REUSEADDR: 4 },
    arch: () => process.arch,
    machine: () => 'wasm32',
    platform: () => process.platform,
    type: () => 'Linux',
    release: () => '6.0.0',
    version: () => '#1',
    hostname: () => 'box',
    endianness: () => 'LE',
    homedir: () => process.env.HOME ?? '/box',
    tmpdir: () => (process.env.TMPDIR ?? '/tmp').replace(/(?<=.)\/$/, ''),
    uptime: () => host.milliseconds() / 1000,
    loadavg: () => [0, 0, 0],
    totalmem: () => 512 * 1024 * 1024,
    freemem: () => Math.max(0, 512 * 1024 * 1024 - host.memoryUsed()),
    availableParallelism: () => 1,
    cpus: () => [{ model: 'WebAssembly', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
    networkInterfaces: () => ({}),
    userInfo: () => ({ uid: 1000, gid: 1000, username: 'box', homedir: process.env.HOME ?? '/box', shell: null }),
    getPriority: () => 0,
  },
  'os',
  'setPriority',
);

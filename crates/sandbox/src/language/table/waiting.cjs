// Loaded by a Node that waits for its program, before it looks for the program. Also by that program's worker threads, which do not wait:
// nothing does once the mark is gone.
'use strict';
const fs = require('fs');
const mark = __dirname + '/wait.json';
if (require('worker_threads').isMainThread && fs.existsSync(mark)) {
  fs.unlinkSync(mark);
  // Only this was started with it.
  delete process.env.NODE_OPTIONS;
  warm();
  fs.writeSync(1, '\x06');
  receive();
}
delete require.cache[__filename];

// What every program needs at its start is done once ahead: a module is found, loaded and forgotten, and values are made text.
function warm() {
  const sample = __dirname + '/sample.js';
  fs.writeFileSync(sample, 'exports.sample = 1;\n');
  require(sample);
  delete require.cache[sample];
  module.children.length = 0;
  fs.unlinkSync(sample);
  // Not the real one: looking at that changes descriptor 1, which a program's children may have too.
  const { Writable } = require('stream');
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  new console.Console(output).log('%s', 1, [{ a: 1 }]);
  require('net');
}

function take(count) {
  const taken = Buffer.alloc(count);
  for (let filled = 0; filled < count; ) {
    const more = fs.readSync(0, taken, filled, count - filled);
    if (more === 0) process.reallyExit(1);
    filled += more;
  }
  return taken;
}

function receive() {
  const job = JSON.parse(take(Number(take(8).readBigUInt64LE())));
  for (const [name, size] of job.files) {
    const folder = name.lastIndexOf('/');
    if (folder > 0) fs.mkdirSync(name.slice(0, folder), { recursive: true });
    fs.writeFileSync(name, take(size));
  }
  process.argv.push(...job.args);
}

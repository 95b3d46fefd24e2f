// Drives belljar with a JavaScript client, over both transports and in every era of the protocol that it speaks. Throws where an answer is
// wrong.
//
// Usage: checks.cjs (sdk|client) BELLJAR URL TOKEN

const assert = require('node:assert/strict');
const { readdirSync, readFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

// Milliseconds. Much longer than anything takes, on a machine that has other things to do.
const PATIENCE = 60_000;

// What a guest can make large. JSON takes six bytes for each character of the first; a client takes a message of 10 MiB.
const FLOODS = [
  "print('\\x01' * 2_000_000)",
  "for n in range(8): open(f'{n}.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(1_900_000))",
];

const PACKAGES = {
  // Knows nothing newer than 2025-11-25.
  sdk: () => ({
    ...require('@modelcontextprotocol/sdk/client/index.js'),
    ...require('@modelcontextprotocol/sdk/client/stdio.js'),
    ...require('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    eras: ['legacy'],
    call: (client, params, options) => client.callTool(params, undefined, options),
  }),
  client: () => ({
    ...require('@modelcontextprotocol/client'),
    ...require('@modelcontextprotocol/client/stdio'),
    eras: ['legacy', 'auto', { pin: '2026-07-28' }],
    call: (client, params, options) => client.callTool(params, options),
  }),
};

async function main(name, belljar, url, token) {
  const { Client, StdioClientTransport, StreamableHTTPClientTransport, eras, call } = PACKAGES[name]();
  const started = () => new StdioClientTransport({ command: belljar, args: ['serve'] });
  const at = token => {
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    return new StreamableHTTPClientTransport(new URL(url), { requestInit });
  };
  for (const mode of eras) {
    const open = async transport => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(transport);
      return client;
    };
    for (const transport of [started(), at(token)]) {
      const client = await open(transport);
      const run = (given, options) => call(client, { name: 'run_code', arguments: given }, options);
      for (const check of CHECKS) {
        console.error(mode, transport.constructor.name, check.name);
        await check(client, run);
      }
      await client.close();
    }
    await assert.rejects(open(at('wrong')), error => (error.data?.status ?? error.code) === 401);
  }
}

const TOOLS =
  'run_code install_packages list_packages list_runtimes configure_environment get_environment ' +
  'write_file read_file list_files list_sessions close_session fork_session save_session restore_session';

async function programsRun(client, run) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(tool => tool.name), TOOLS.split(' '));
  for (const [language, code] of [['python', 'print(6 * 7)'], ['javascript', 'console.log(6 * 7)'], ['bash', 'echo $((6 * 7))']]) {
    const { isError, structuredContent } = await run({ language, code });
    const { status, exit_code, stdout } = structuredContent;
    assert.deepEqual({ isError, status, exit_code, stdout }, { isError: false, status: 'completed', exit_code: 0, stdout: '42\n' });
  }
}

async function failuresAreResults(client, run) {
  for (const [given, words] of [
    [{ language: 'python', code: '1 / 0' }, 'ZeroDivisionError: division by zero'],
    [{ language: 'bash', code: 'kill -SEGV $$' }, '[crashed with SIGSEGV]'],
    [{ language: 'bash', code: 'sleep 9', timeout_ms: 100 }, '[timed out after '],
    [{ cod: '1' }, 'did you mean `code`'],
    [{ language: 'klingon', code: '1' }, '`klingon` is not a language belljar knows'],
  ]) {
    const { isError, content } = await run(given);
    assert(isError && content[0].text.includes(words), content[0].text);
  }
}

async function filesAreResources(client, run) {
  const { content } = await run({ language: 'bash', code: "echo x,y > 'a b.csv'" });
  const { uri } = content.find(block => block.type === 'resource_link');
  const { contents } = await client.readResource({ uri });
  assert.deepEqual(contents, [{ uri, mimeType: 'text/csv', text: 'x,y\n' }]);
}

async function floodsDoNoHarm(client, run) {
  for (const code of FLOODS) {
    const { isError, structuredContent } = await run({ language: 'python', code });
    assert.deepEqual([isError, structuredContent.status], [false, 'completed']);
  }
  await programsRun(client, run);
}

async function promptsAndCompletionsHelp(client) {
  const { messages } = await client.getPrompt({ name: 'compute', arguments: { question: '2 ** 100' } });
  assert.match(messages[0].content.text, /2 \*\* 100/);
  for (const ref of [{ type: 'ref/resource', uri: 'runtime://{language}' }, { type: 'ref/prompt', name: 'test-code' }]) {
    const { completion } = await client.complete({ ref, argument: { name: 'language', value: 'pyt' } });
    assert.deepEqual(completion.values, ['python']);
  }
}

async function cancellingEndsTheRun(client, run) {
  const marker = `client-${process.pid}`;
  const cancel = new AbortController();
  const told = Promise.withResolvers();
  const call = run(
    { language: 'bash', code: `echo started; exec -a ${marker} sleep 1000`, timeout_ms: 200_000 },
    { signal: cancel.signal, onprogress: ({ message }) => told.resolve(message) },
  );
  assert.equal(await Promise.race([told.promise, call]), 'started\n');
  await until(() => goesOn(marker));
  cancel.abort();
  await assert.rejects(call);
  await until(() => !goesOn(marker));
  await programsRun(client, run);
}

function goesOn(marker) {
  const argumentsOf = process => {
    try {
      return readFileSync(`/proc/${process}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc').some(process => /^\d/.test(process) && argumentsOf(process).startsWith(marker));
}

async function until(condition) {
  for (const end = Date.now() + PATIENCE; !condition(); await sleep(20)) {
    assert(Date.now() < end, `not in time: ${condition}`);
  }
}

const CHECKS = [programsRun, failuresAreResults, filesAreResources, floodsDoNoHarm, promptsAndCompletionsHelp, cancellingEndsTheRun];
main(...process.argv.slice(2));

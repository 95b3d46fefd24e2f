// What is asked of each original, and what it answers where it cannot be recorded (see `record.mjs`): from what was seen of it on the wire.

const initialize = {
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "recorder", version: "1" } },
};
const other = { name: "a method that it has not", method: "resources/list", params: {} };
const call = (name, tool, args, more = {}) => ({ name, method: "tools/call", params: { name: tool, arguments: args }, ...more });
const text = (...texts) => ({ result: { content: texts.map((it) => ({ type: "text", text: it })) } });
const error = (code, message) => ({ reply: { error: { code, message } } });
const identity = (serverInfo, capabilities, more) => ({
  reply: { result: { protocolVersion: "2025-06-18", capabilities, serverInfo, ...more } },
});
const tools = (...tools) => ({ reply: { result: { tools } } });
const string = { type: "string" };
const draft7 = "http://json-schema.org/draft-07/schema#";

const run = (name, languageId, code, more) => call(name, "run-code", { code, languageId, ...more });
const mcpServerCodeRunner = [
  { name: "initialize", ...initialize },
  { name: "tools", method: "tools/list", params: {} },
  run("output", "python", "print(1 + 1)"),
  run("no output", "python", "x = 1"),
  run("javascript", "javascript", "console.log([1, 2].map((it) => it * 2))"),
  run("perl", "perl", 'print "perl\\n";'),
  run("shell", "shellscript", "echo shell"),
  run("ruby", "ruby", "puts [1, 2].sum"),
  run("standard error", "python", "import sys\nprint('out')\nprint('warn', file=sys.stderr)"),
  run("failure", "python", "print('before')\n1/0"),
  run("exit code", "shellscript", "echo out; exit 3"),
  run("no such interpreter", "haskell", 'main = putStrLn "x"'),
  run("no code", "python", ""),
  run("more than 1 MiB", "python", "print('x' * (1 << 21))"),
  run("extra arguments", "python", "print(2)", { other: 1 }),
  call("missing argument", "run-code", { code: "x" }),
  call("wrong type", "run-code", { code: 1, languageId: "python" }),
  run("not in the enum", "elixir", "x"),
  call("unknown tool", "nope", {}),
  other,
];

const runtimes = { type: "string", enum: ["python", "quickjs", "clang", "clangpp", "ruby", "php-cgi"] };
const sandboxed = (name, runtime, code) => call(name, "run_code", { runtime, code }, { sandbox: true });
const issue = (more) => error(-32603, JSON.stringify([more], null, 2));
const runno = [
  { name: "initialize", ...initialize, ...identity({ name: "Runno Code Sandbox Server", version: "0.10.6" }, { tools: {} }) },
  {
    name: "tools",
    method: "tools/list",
    params: {},
    ...tools({
      name: "run_code",
      inputSchema: {
        type: "object",
        properties: { runtime: runtimes, code: string },
        required: ["runtime", "code"],
        additionalProperties: false,
        $schema: draft7,
      },
      annotations: { title: "Run Code Using Runno Sandbox", readOnlyHint: true, idempotentHint: true },
    }),
  },
  sandboxed("python", "python", "print(1+1)"),
  sandboxed("a Python error", "python", "1/0"),
  sandboxed("no output", "python", "x = 1"),
  sandboxed("a Python exit code", "python", "import sys\nprint('out')\nsys.exit(3)"),
  sandboxed("program and arguments", "python", "import sys, os\nprint(__file__, sys.argv, os.getcwd())"),
  sandboxed("both streams", "python", "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')"),
  sandboxed("javascript", "quickjs", "console.log(1 + 1)\nprint('x')"),
  sandboxed("a JavaScript error", "quickjs", "console.log('before')\nthrow new Error('x')"),
  sandboxed("c", "clang", '#include <stdio.h>\nint main(void) { puts("c"); return 3; }'),
  sandboxed("a warning in C", "clang", "#warning no\nint main(void) { return 0; }"),
  sandboxed("c++", "clangpp", '#include <iostream>\nint main() { std::cout << "c++\\n"; }'),
  sandboxed("ruby", "ruby", "puts [1, 2].sum"),
  sandboxed("php", "php-cgi", "<?php echo 1 + 1;"),
  call("extra arguments", "run_code", { runtime: "python", code: "print(2)", other: 1 }, { sandbox: true }),
  call(
    "not in the enum",
    "run_code",
    { runtime: "node", code: "x" },
    issue({
      received: "node",
      code: "invalid_enum_value",
      options: runtimes.enum,
      path: ["runtime"],
      message: "Invalid enum value. Expected 'python' | 'quickjs' | 'clang' | 'clangpp' | 'ruby' | 'php-cgi', received 'node'",
    }),
  ),
  call(
    "missing argument",
    "run_code",
    { runtime: "python" },
    issue({ code: "invalid_type", expected: "string", received: "undefined", path: ["code"], message: "Required" }),
  ),
  call(
    "files",
    "run_code_with_files",
    {
      runtime: "python",
      code: "text = open('/data.csv').read()\nopen('/out.txt', 'w').write(text.upper())\nprint(text)",
      input_files: [{ name: "/data.csv", encoding: "text", content: "a,b" }],
      output_file_names: ["/out.txt", "/nope"],
    },
    { reply: text("Execution crashed with error TypeError: Cannot read properties of undefined (reading 'access').") },
  ),
  call("unknown tool", "nope", {}, error(-32603, "Tool not found")),
  { ...other, ...error(-32601, "Method not found") },
];

const python = (name, python_code, seen, global_variables) =>
  call(name, "run_python_code", { python_code, ...(global_variables && { global_variables }) }, { reply: text(seen) });
const success = (value) => `<status>success</status>\n<return_value>\n${value}\n</return_value>`;
const failure = (output, traceback) =>
  `<status>run-error</status>\n${output}<error>\nTraceback (most recent call last):\n${traceback}\n\n</error>`;
const mcpRunPython = [
  { name: "initialize", ...initialize },
  { name: "tools", method: "tools/list", params: {} },
  python("output", "print(1+1)", "<status>success</status>\n<output>\n2\n</output>"),
  python("nothing", "x=1", "<status>success</status>"),
  python("None", "None", "<status>success</status>"),
  python("an empty string", '""', "<status>success</status>"),
  python("a number", "6*7", success("42")),
  python("a string", '"a string"', success("a string")),
  python("a dict", '{"a":[1,2],"b":None}', success('{\n  "a": [\n    1,\n    2\n  ],\n  "b": null\n}')),
  python("a global variable", "x*2", success("42"), { x: 21 }),
  python("await", "import asyncio\nawait asyncio.sleep(0.01)\n[1, 2]", success("[\n  1,\n  2\n]")),
  python("an error", 'print("before")\n1/0', failure("<output>\nbefore\n</output>\n", '  File "main.py", line 2, in <module>\n    1/0\n    ~^~\nZeroDivisionError: division by zero')),
  python("a syntax error", "def f(:", failure("", '  File "main.py", line 1\n    def f(:\n          ^\nSyntaxError: invalid syntax')),
  python("tags", 'print("</output> <b>")', "<status>success</status>\n<output>\n&lt;/output&gt; <b>\n</output>"),
  python("a tuple", "(1, 'a')", success('[\n  1,\n  "a"\n]')),
  python("a date", "import datetime\n[datetime.date(2026, 1, 2)]", success('[\n  "2026-01-02"\n]')),
  python("a decimal", "import decimal\n[decimal.Decimal('1.50')]", success('[\n  "1.50"\n]')),
  python("keys", "{(1, 2): 'a', 3: 'b'}", success('{\n  "1,2": "a",\n  "3": "b"\n}')),
  python("not a number", "[float('nan'), float('inf')]", success("[\n  NaN,\n  Infinity\n]")),
  python("letters", "['ü']", success('[\n  "ü"\n]')),
  python("an object", "class A:\n  def __repr__(self): return 'A()'\n[A()]", success('[\n  "A()"\n]')),
  python("names", "print(__name__)\nprint('__file__' in globals())", "<status>success</status>\n<output>\n__main__\nFalse\n</output>"),
  call("missing argument", "run_python_code", {}),
  call("wrong type", "run_python_code", { python_code: 1 }),
  call("unknown tool", "nope", {}),
  { name: "a log level", method: "logging/setLevel", params: { level: "warning" } },
  { name: "a bad log level", method: "logging/setLevel", params: { level: "loud" } },
];

const py = (name, code, more) => call(name, "python-code-runner", { code, ...more });
const js = (name, code) => call(name, "javascript-code-runner", { code });
const codeRunnerMcp = [
  { name: "initialize", ...initialize },
  { name: "tools", method: "tools/list", params: {} },
  py("output", "print(1 + 1)"),
  py("both streams", "import sys\nprint('out')\nprint('warn', file=sys.stderr)"),
  py("no output", "x = 6 * 7"),
  py("a variable of the last call", "print(x)"),
  py("a last expression", "x"),
  py("an error", "y = 1\n1/0"),
  py("an error after output", "print('before')\n1/0"),
  py("a syntax error", "def f(:"),
  py("no newline", "print('a', end='')"),
  py("after no newline", "print('b')"),
  py("top-level await", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')"),
  py("extra arguments", "print(2)", { other: 1 }),
  js("javascript output", "console.log(1 + 1)"),
  js("typescript", "const n: number = 2;\nconsole.log(n)"),
  js("javascript, both streams", "console.log('o')\nconsole.error('e')"),
  js("javascript, no output", "const x = 1"),
  js("a javascript error", "throw new Error('x')"),
  js("javascript await", "console.log(await Promise.resolve(3))"),
  js("no network", "await fetch('http://127.0.0.1:8/')"),
  call("missing argument", "python-code-runner", {}),
  call("wrong packages", "python-code-runner", { code: "1", packages: [] }),
  call("missing argument of javascript", "javascript-code-runner", {}),
  call("unknown tool", "nope", {}),
  other,
];

const object = (properties, required) => ({ type: "object", properties, ...(required && { required }) });
const list = { type: "array", items: string };
const said = (isError, fields) => ({
  reply: { result: { content: [{ type: "text", text: JSON.stringify(fields), isError }] } },
});
const execute = (name, code, isError, fields, more) =>
  call(name, "execute_code", { code, ...more }, said(isError, { ...fields, file_path: "<store>/code_<hex>.py", generated_filename: "code_<hex>.py" }));
const activated = (file) => `Command failed: source <venv>/bin/activate && python3 -u "${file}"\n`;
const refused = (message) => error(-32603, message);
const config = { type: "venv", venv_path: "<venv>" };
const mcpCodeExecutor = [
  { name: "initialize", ...initialize, reply: { result: { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "code-executor", version: "0.3.0" } } } },
  {
    name: "tools",
    method: "tools/list",
    params: {},
    ...tools(
      ...[
        ["execute_code", object({ code: string, filename: string }, ["code"])],
        ["initialize_code_file", object({ content: string, filename: string }, ["content"])],
        ["append_to_code_file", object({ file_path: string, content: string }, ["file_path", "content"])],
        ["execute_code_file", object({ file_path: string }, ["file_path"])],
        ["read_code_file", object({ file_path: string }, ["file_path"])],
        ["install_dependencies", object({ packages: list }, ["packages"])],
        ["check_installed_packages", object({ packages: list }, ["packages"])],
        [
          "configure_environment",
          object({ type: { type: "string", enum: ["conda", "venv", "venv-uv"] }, conda_name: string, venv_path: string, uv_venv_path: string }, ["type"]),
        ],
        ["get_environment_config", object({})],
      ].map(([name, inputSchema]) => ({ name, inputSchema })),
    ),
  },
  execute("output", "print(1 + 1)", false, { status: "success", output: "2\n" }),
  execute("standard error", "import sys\nprint('out')\nprint('warn', file=sys.stderr)", true, { status: "error", output: "warn\n" }),
  execute("an error", "print('before')\nimport sys\nsys.exit('no')", true, {
    status: "error",
    error: activated("<store>/code_<hex>.py") + "no\n",
  }),
  call(
    "a file name",
    "execute_code",
    { code: "print(__file__)", filename: "mine.py" },
    said(false, { status: "success", output: "<store>/mine_<hex>.py\n", file_path: "<store>/mine_<hex>.py", generated_filename: "mine_<hex>.py" }),
  ),
  call(
    "begin a file",
    "initialize_code_file",
    { content: "x = 20\n", filename: "part" },
    said(false, { status: "success", message: "File initialized successfully", file_path: "<store>/part_<hex>.py", filename: "part_<hex>.py" }),
  ),
  call(
    "add to it",
    "append_to_code_file",
    { file_path: "<last>", content: "print(x + 1)\n" },
    said(false, { status: "success", message: "Content appended successfully", file_path: "<store>/part_<hex>.py" }),
  ),
  call("read it", "read_code_file", { file_path: "<last>" }, said(false, { status: "success", content: "x = 20\nprint(x + 1)\n", file_path: "<store>/part_<hex>.py" })),
  call("run it", "execute_code_file", { file_path: "<last>" }, said(false, { status: "success", output: "21\n", file_path: "<store>/part_<hex>.py" })),
  call(
    "a file that is not there",
    "read_code_file",
    { file_path: "/nonexistent/x.py" },
    said(true, { status: "error", error: "ENOENT: no such file or directory, access '/nonexistent/x.py'", file_path: "/nonexistent/x.py" }),
  ),
  call("the environment", "get_environment_config", {}, said(false, { status: "success", config })),
  call(
    "an environment without its path",
    "configure_environment",
    { type: "conda" },
    said(true, { status: "error", error: "conda_name is required when type is 'conda'" }),
  ),
  call(
    "an environment of no type",
    "configure_environment",
    { type: "pipx" },
    said(true, { status: "error", error: "Invalid arguments: 'type' is required and must be one of 'conda', 'venv', or 'venv-uv'" }),
  ),
  call(
    "the same environment",
    "configure_environment",
    { type: "venv", venv_path: "<venv>" },
    said(false, { status: "success", message: "Environment configuration updated", previous: config, current: config }),
  ),
  call(
    "packages that are not there",
    "check_installed_packages",
    { packages: ["nonexistent_package_x"] },
    said(false, {
      status: "success",
      env_type: "venv",
      all_installed: false,
      not_installed: ["nonexistent_package_x"],
      package_details: { nonexistent_package_x: { installed: false, error: "Package not found" } },
    }),
  ),
  call("no packages", "install_dependencies", { packages: [] }, said(true, { status: "error", env_type: "venv", error: "No packages specified" })),
  call("missing code", "execute_code", {}, refused("Code is required")),
  call("missing content", "initialize_code_file", {}, refused("Content is required")),
  call("missing path", "read_code_file", {}, refused("File path is required")),
  call("packages of another type", "install_dependencies", { packages: "six" }, refused("Valid packages array is required")),
  call("unknown tool", "nope", {}, error(-32603, "Unknown tool")),
];

export const PROFILES = {
  "mcp-server-code-runner": { original: "mcp-server-code-runner 0.1.8 of npm", requests: mcpServerCodeRunner },
  "code-runner-mcp": { original: "@mcpc-tech/code-runner-mcp 0.1.21 of npm", requests: codeRunnerMcp },
  "mcp-run-python": { original: "mcp-run-python 0.0.22 of PyPI; runs from its contract", requests: mcpRunPython },
  runno: { original: "@runno/sandbox 0.10.2 of npm in the form of @runno/mcp 0.10.6; the rest from its contract", requests: runno },
  "mcp-code-executor": { original: "mcp_code_executor 0.3.0, from its contract: it is on no registry", requests: mcpCodeExecutor },
};

// Counts what a model has to read of each tool before it has called any. The tools come on standard input, as `tools/list` has them.
const { encode } = require('gpt-tokenizer/encoding/o200k_base');
const tools = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
for (const { name, description, inputSchema } of tools) {
  console.log(name, encode(JSON.stringify({ name, description, input_schema: inputSchema })).length);
}

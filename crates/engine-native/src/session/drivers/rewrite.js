// A cell's text as the engine gets it: what it declares at the top level is there for later cells, and `await` and `import` can stand there.
//
// It works on tokens, and where those could mean several things it leaves the text alone: the worst that comes of it is a cell without a value, or
// one that the engine refuses.

'use strict';

// What a rewritten cell calls. Symbols are in nobody's way.
const IMPORT = "globalThis[Symbol.for('belljar.import')]";
const META = "globalThis[Symbol.for('belljar.meta')]";

const WORD = /[\p{ID_Start}$_#\\][\p{ID_Continue}$\u200c\u200d\\]*/uy;
const NUMBER = /0[xXbBoO][\da-fA-F_]+n?|(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][+-]?\d+)?n?\.?/y;
const PUNCTUATION = /=>|\.\.\.|\?\.(?!\d)|\+\+|--|&&=?|\|\|=?|\?\?=?|[=!]==?|\*\*=?|>>>?=?|<<=?|[-+*%&|^<>]=|\/=|[-+*/%&|^<>=!~?:,;.(){}[\]@]/y;
const STRING = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y;
const REGEX = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[\w$]*/y;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{)/y;

/** Words after which an expression begins. */
const OPERATORS = new Set('return typeof case in of delete void throw new instanceof await yield else do extends default'.split(' '));
/** Words that begin a statement whose value is no expression's. */
const STATEMENTS = new Set(
  'if for while do switch try catch finally else throw return break continue debugger with const let var function class import export'.split(' '),
);

/** Every token with the depth of brackets around it, and whether a function is around it. Undefined when the text is not understood. */
function tokensOf(text) {
  const tokens = [];
  const open = [];
  let functions = 0;
  let at = 0;
  let newline = false;
  const match = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  const push = (type, value) => {
    tokens.push({ type, value, start: at, end: at + value.length, newline, depth: open.length, inFunction: functions > 0 });
    at += value.length;
    newline = false;
  };
  if (text.startsWith('#!')) at = (text.indexOf('\n') + text.length + 1) % (text.length + 1);
  while (at < text.length) {
    const character = text[at];
    if (/[\s\ufeff]/.test(character)) {
      newline ||= /[\n\r\u2028\u2029]/.test(character);
      at += 1;
      continue;
    }
    if (text.startsWith('//', at)) {
      at = text.indexOf('\n', at);
      if (at === -1) break;
      continue;
    }
    if (text.startsWith('/*', at)) {
      const end = text.indexOf('*/', at + 2);
      if (end === -1) return undefined;
      newline ||= text.slice(at, end).includes('\n');
      at = end + 2;
      continue;
    }
    const previous = tokens.at(-1);
    if (character === '`') {
      at += 1;
      const rest = match(TEMPLATE);
      at -= 1;
      if (rest === undefined) return undefined;
      push('template', `\`${rest}`);
      if (rest.endsWith('${')) open.push({ template: true });
      continue;
    }
    if (character === '}' && open.at(-1)?.template) {
      open.pop();
      at += 1;
      const rest = match(TEMPLATE);
      at -= 1;
      if (rest === undefined) return undefined;
      push('template', `}${rest}`);
      if (rest.endsWith('${')) open.push({ template: true });
      continue;
    }
    let found;
    if ((found = match(WORD)) !== undefined) push('word', found);
    else if (/\d/.test(character) || (character === '.' && /\d/.test(text[at + 1]))) push('number', match(NUMBER));
    else if (character === '"' || character === "'") {
      if ((found = match(STRING)) === undefined) return undefined;
      push('string', found);
    } else if (character === '/' && !endsOperand(previous) && (found = match(REGEX)) !== undefined) push('regex', found);
    else if ((found = match(PUNCTUATION)) === undefined) return undefined;
    else if (found === '(' || found === '[' || found === '{') {
      const isFunction = found === '{' && opensFunction(tokens);
      push('punctuation', found);
      open.push({ at: tokens.length - 1, isFunction });
      functions += isFunction;
    } else if (found === ')' || found === ']' || found === '}') {
      const opened = open.pop();
      if (opened === undefined || opened.template) return undefined;
      functions -= opened.isFunction;
      push('punctuation', found);
      tokens.at(-1).opened = opened.at;
    } else push('punctuation', found);
  }
  return open.length === 0 ? tokens : undefined;
}

/** Whether an operand can end here, so that a slash divides. */
function endsOperand(token) {
  if (token === undefined) return false;
  if (token.type === 'word') return !OPERATORS.has(token.value);
  if (token.type === 'punctuation') return token.value === ')' || token.value === ']';
  return token.type !== 'template' || token.value.endsWith('`');
}

/** Whether the brace after these tokens opens a function's body. */
function opensFunction(tokens) {
  const last = tokens.at(-1);
  if (last?.value === '=>') return true;
  if (last?.value !== ')') return false;
  const before = tokens[last.opened - 1];
  return !(before?.type === 'word' && /^(?:if|for|while|switch|catch|with|await)$/.test(before.value) && tokens[last.opened - 2]?.value !== '.');
}

/** Whether a statement begins with this token, outside all brackets. */
function beginsStatement(token, previous) {
  if (previous === undefined || previous.value === ';') return true;
  if (token.type === 'word' && /^(?:in|of|instanceof)$/.test(token.value)) return false;
  const mayBegin = token.type !== 'punctuation' || /^(?:\{|\+\+|--|!|~|@)$/.test(token.value);
  if (previous.value === '}' && previous.type === 'punctuation') {
    return STATEMENTS.has(token.value) || (token.newline && (mayBegin || token.value === '(' || token.value === '['));
  }
  // A line that does not go on with the one before it.
  const ends = endsOperand(previous) || previous.value === '++' || previous.value === '--';
  return token.newline && ends && mayBegin && token.type !== 'template' && token.type !== 'regex';
}

/**
 * The text as the engine gets it, line for line. Declarations at the top level become global variables that a later cell may declare again; with
 * `await` there, or with an `import`, the text becomes the body of a function.
 */
function rewrite(text) {
  const tokens = tokensOf(text);
  // What is wrong with it the engine says best.
  if (tokens === undefined) return { text, isAsync: false };
  const isImport = (token, at) => token.value === 'import' && token.depth === 0 && !/^[(.]/.test(tokens[at + 1]?.value ?? '(');
  const isAsync = tokens.some(
    (token, at) => token.type === 'word' && tokens[at - 1]?.value !== '.' && ((token.value === 'await' && !token.inFunction) || isImport(token, at)),
  );
  const edits = [];
  const replace = (start, end, by) => edits.push({ start, end, by });
  const hoisted = [];
  let last;
  let declaration = false;
  let after;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const previous = tokens[at - 1];
    const next = tokens[at + 1];
    const isMember = previous?.value === '.' || previous?.value === '?.';
    if (token.value === 'import' && token.type === 'word' && !isMember && next?.value === '(') replace(token.start, token.end, IMPORT);
    if (token.value === 'import' && token.type === 'word' && next?.value === '.' && tokens[at + 2]?.value === 'meta') {
      replace(token.start, tokens[at + 2].end, META);
    }
    if (isAsync && token.value === 'var' && token.depth > 0 && !token.inFunction && !isMember && next?.type === 'word') {
      // Without a value nothing would be assigned: then it stays within the cell.
      if (/^(?:=|in|of)$/.test(tokens[at + 2]?.value)) replace(token.start, token.end, '');
    }
    if (token.depth > 0) continue;
    if (at === after || beginsStatement(token, previous)) {
      last = token;
      declaration = false;
    }
    const begins = last === token || previous?.value === 'export' || previous?.value === 'default';
    if (token.value === ',' && declaration) name(tokens, at + 1, replace);
    if (!begins || token.type !== 'word') continue;
    if (isImport(token, at)) {
      at = rewriteImport(text, tokens, at, replace);
      after = at + 1;
    } else if (token.value === 'export') {
      const end = next?.value === 'default' ? next : token;
      const what = tokens.slice(tokens.indexOf(end) + 1, tokens.indexOf(end) + 5).map((each) => each.value);
      // A default one need have no name.
      const isDeclaration = /^(?:(?:const|let|var) |(?:async )?function (?:\* )?[^(*]|class (?!\{|extends\b))/.test(what.join(' '));
      if (next?.value === '{' || next?.value === '*') {
        while (tokens[at + 1] !== undefined && !beginsStatement(tokens[at + 1], tokens[at])) at += 1;
        replace(token.start, tokens[at].end, text.slice(token.start, tokens[at].end).replace(/[^\n]/g, ' '));
      } else replace(token.start, end.end, isDeclaration ? '' : ';0,');
    } else if (/^(?:const|let|var)$/.test(token.value) && (next?.type === 'word' || next?.value === '{' || next?.value === '[')) {
      if (!isAsync) {
        if (token.value !== 'var') replace(token.start, token.end, 'var');
      } else {
        // Assigned to, not declared: where nothing is strict that makes a global variable.
        replace(token.start, token.end, ';0,');
        declaration = true;
        name(tokens, at + 1, replace);
      }
    } else if (token.value === 'class' && next?.type === 'word') {
      replace(token.start, token.start, isAsync ? `;0,${next.value}=` : `var ${next.value}=`);
      const body = tokens.findIndex((other, index) => index > at && other.depth === 0 && other.value === '{');
      const end = tokens.find((other) => other.opened === body && other.value === '}');
      if (end !== undefined) replace(end.end, end.end, ';');
    } else if (isAsync && (token.value === 'function' || (token.value === 'async' && next?.value === 'function'))) {
      const place = at + (token.value === 'async' ? 2 : 1);
      const named = tokens[place]?.value === '*' ? tokens[place + 1] : tokens[place];
      if (named?.type === 'word') hoisted.push(named.value);
    }
  }
  if (isAsync) {
    if (tokens[0].type === 'string' && /^.use strict.$/.test(tokens[0].value)) replace(tokens[0].start, tokens[0].end, "''");
    const isExpression = last !== undefined && last.value !== ';' && last.value !== '{' && last.value !== '@' && !STATEMENTS.has(last.value);
    const second = tokens[tokens.indexOf(last) + 1]?.value;
    const isOther = (last?.value === 'async' && second === 'function') || second === ':';
    if (isExpression && !isOther) replace(last.start, last.start, 'return ');
  }
  let result = '';
  let from = 0;
  for (const edit of edits.sort((one, other) => one.start - other.start || one.end - other.end)) {
    if (edit.start < from) continue;
    result += text.slice(from, edit.start) + edit.by;
    from = edit.end;
  }
  result += text.slice(from);
  if (text.startsWith('#!')) result = `//${result}`;
  if (!isAsync) return { text: result, isAsync };
  const functions = hoisted.map((each) => `globalThis.${each}=${each};`).join('');
  return { text: `(async()=>{${functions}${result}\n})()`, isAsync };
}

/** A declared name with no value is assigned one. */
function name(tokens, at, replace) {
  if (tokens[at]?.type === 'word' && tokens[at + 1]?.value !== '=') replace(tokens[at].end, tokens[at].end, '=undefined');
}

/** `import a, { b as c } from "d"` as an assignment from `import("d")`. The place of its last token. */
function rewriteImport(text, tokens, start, replace) {
  const names = [];
  let namespace;
  let at = start + 1;
  while (at < tokens.length && tokens[at].type !== 'string') {
    const token = tokens[at];
    if (token.value === '*') {
      namespace = tokens[at + 2]?.value;
      at += 3;
    } else if (token.type === 'word' && token.depth === 0) {
      if (token.value !== 'from' || tokens[at + 1]?.value === 'from') names.push(`default:${token.value}`);
      at += 1;
    } else if (token.type === 'word' && tokens[at + 1]?.value === 'as') {
      names.push(`${token.value}:${tokens[at + 2]?.value}`);
      at += 3;
    } else {
      if (token.type === 'word') names.push(token.value);
      at += 1;
    }
  }
  if (at >= tokens.length) return start;
  let call = `await ${IMPORT}(${tokens[at].value}`;
  if (/^(?:with|assert)$/.test(tokens[at + 1]?.value) && tokens[at + 2]?.value === '{') {
    const end = tokens.findIndex((token) => token.opened === at + 2);
    call += `,{with:${text.slice(tokens[at + 2].start, tokens[end].end)}}`;
    at = end;
  }
  call += ')';
  const lines = text.slice(tokens[start].start, tokens[at].end).replace(/[^\n]/g, '');
  const target = namespace ?? (names.length > 0 ? `{${names.join(',')}}` : undefined);
  const rest = namespace !== undefined && names.length > 0 ? `,{${names.join(',')}}=${namespace}` : '';
  replace(tokens[start].start, tokens[at].end, `;0,${target === undefined ? '' : `${target}=`}${call}${rest};${lines}`);
  return at;
}

module.exports = { rewrite };

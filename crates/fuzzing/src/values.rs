//! Arguments of tools: mostly what they could be, and anything.

use arbitrary::{Arbitrary, Unstructured};
use serde_json::{Map, Value};

/// Texts that mean something to one argument or another.
const TEXTS: &[&str] = &[
    "s",
    "t",
    "python",
    "javascript",
    "c",
    "php",
    "auto",
    "native",
    "wasm",
    "main.py",
    "a",
    "a/b",
    "../a",
    "/etc",
    "a.png",
    "iVBORw0KGgo=",
    "image/svg+xml",
    "application/json",
    "pandas>=2",
    "@a/b@^1",
    "-std=c11",
    "-DA=1",
    "print(1)",
    "```python\n1\n```",
    "#!/usr/bin/env bash\n",
    "<?php",
    "\0",
    "\u{1b}[2J",
    "\u{2028}",
    "🐍",
];

pub(crate) fn list(u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<String>> {
    let count = u.int_in_range(0..=3)?;
    (0..count).map(|_| text(u)).collect()
}

pub(crate) fn text(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    let one = if u.ratio(1, 2)? { (*u.choose(TEXTS)?).to_owned() } else { String::arbitrary(u)? };
    // A caller can make anything long.
    Ok(if u.ratio(1, 30)? { one.repeat(u.int_in_range(2..=3_000)?) } else { one })
}

pub(crate) fn number(u: &mut Unstructured<'_>) -> arbitrary::Result<Value> {
    Ok(match u.int_in_range(0..=3)? {
        0 => u64::arbitrary(u)?.into(),
        1 => i64::arbitrary(u)?.into(),
        2 => u.int_in_range(0..=4_000)?.into(),
        _ => f64::arbitrary(u)?.into(),
    })
}

pub(crate) fn value(u: &mut Unstructured<'_>, depth: usize) -> arbitrary::Result<Value> {
    Ok(match u.int_in_range(0..=if depth == 0 { 3 } else { 5 })? {
        0 => Value::Null,
        1 => bool::arbitrary(u)?.into(),
        2 => number(u)?,
        3 => text(u)?.into(),
        4 => {
            let count = u.int_in_range(0..=3)?;
            (0..count).map(|_| value(u, depth - 1)).collect::<Result<Vec<_>, _>>()?.into()
        }
        _ => {
            let mut map = Map::new();
            for name in list(u)? {
                map.insert(name, value(u, depth - 1)?);
            }
            map.into()
        }
    })
}

use std::time::{Duration, Instant};

use super::*;
use crate::javascript::cell;
use crate::javascript::program::{Prepared, Role};
use crate::protocol::Dialect;

/// What a call of the host has of its thread's stack when the guest has used all that it may.
const HOST_STACK: usize = 4 << 20;

/// What can go on and on: how it starts, and what is again and again before and after the middle.
const ENDLESS: &[(&str, &str, &str, &str)] = &[
    ("", "(", "1", ")"),
    ("", "[", "1", "]"),
    ("", "{", "", "}"),
    ("", "!", "1", ""),
    ("", "- ", "1", ""),
    ("", "typeof ", "1", ""),
    ("", "typeof\u{a0}", "1", ""),
    ("", "new ", "a", ""),
    ("", "await ", "1", ""),
    ("", "a=>", "1", ""),
    ("", "a?b:", "1", ""),
    ("", "1+", "1", ""),
    ("", "a**", "1", ""),
    ("", "a=", "1", ""),
    ("", "a,", "1", ""),
    ("", "x?.", "a", ""),
    ("", "a.", "b", ""),
    ("", "a.return.", "b", ""),
    ("", "a.b(", "1", ")"),
    ("", "", "a", "()"),
    ("", "", "a", "[0]"),
    ("", "", "a", "``"),
    ("", "`${", "1", "}`"),
    ("", "f`", "1", "`"),
    ("", "if(1)", "a", ""),
    ("", "for(;;)", "a", ""),
    ("", "do ", "a", ";while(0)"),
    ("", "if(1)a;else ", "a", ""),
    ("", "if(1){}else ", "a", ""),
    ("", "if(1)return\nelse ", "a", ""),
    ("", "if(1)try{}finally{}else ", "a", ""),
    ("", "if(1)do a\nwhile(0)\nelse ", "a", ""),
    ("", "a:", "b", ""),
    ("", "class extends ", "a", "{}"),
    ("", "x={a:", "1", "}"),
    ("", "function f(){", "", "}"),
    ("var x:", "A<", "B", ">"),
    ("var x:", "A<B,", "B", ">"),
    ("var x:", "readonly ", "B[]", ""),
    ("var x:", "abstract\nnew () => ", "B", ""),
    ("var x:", "(a:B)=>", "B", ""),
    ("var x:", "A extends B?C:", "B", ""),
    ("", "", "a as const", " as const"),
    ("", "", "a", "!"),
    ("var x:", "", "B", "[]"),
    ("", "<A>", "b", ""),
    ("", "while(1)while(1)while(1)if(1)a,b;else ", "a", ""),
    ("", "a:a:a:if(1)b,b;else ", "a", ""),
    ("", "async/*\u{e9}*/x=>", "1", ""),
    ("", "async\nx=>", "1", ""),
    ("x=", "@f()\nclass extends ", "a", "{}"),
    ("x=", "@f\nclass extends ", "a", "{}"),
    ("x\n/", "typeof ", "1/2", ""),
    ("x=", "<T,>(a)=>", "1", ""),
    ("var x:", "B extends C?A<x,", "B", ">:D"),
    ("var x:", "keyof ", "B", ""),
    ("var x:", "B|", "B", ""),
    ("var x:", "{a:", "B", "}"),
    ("var x:", "[", "B", "]"),
    ("var x:", "(a:", "B", ")=>B"),
    ("var x:", "`${", "B", "}`"),
    ("namespace ", "a.", "b", "{}"),
    ("", "@(", "a", ")class A{}"),
    ("", "(!typeof a.b[1]+a=>", "1", ")"),
    ("", "[!!!!", "1", "]"),
    ("", "(a=", "1", ")=>1"),
    ("", "{if(1)if(1)if(1)if(1)", "1", "}"),
    ("", "function f(a=", "1", "){}"),
    ("", "class A{[", "1", "]=1}"),
    ("", "class A{a=", "1", "}"),
    ("var x:", "{a:A<B<C<D|", "1", ">>>}"),
];

/// What hides the rest of a text from those who do not read it as the reader does.
const VEILS: &[&str] = &[
    "var x=/[/*]/;\n",
    "var x=/'/;",
    "let x\n/'/.y;",
    "let x:B\n/'/.y;",
    "if(1)/'/.y;",
    "var x=`it's`;",
    "var x=`'${1}`;",
    "var x=`\\${'`;",
    "// it\r",
    "//\u{2028}",
    "x=\u{a0}/'/;",
    "x='\\\r\n';",
    "<!-- /*\n",
    "\n--> /*\n",
    "\u{2028}--> /*\n",
    "#! /*\n",
    "\u{feff}#! /*\n",
    "x=a++/'/1;",
    "{}/'/.y;",
    "x=()=>/'/;",
    "retur\\u006e /'/;",
    "x=1/2;/*'*/",
    "yield /'/;",
    "x as T? / '1';/1/;",
    "x=a!/'/1;/'/;",
    "x=y\n/'/.z;'/'",
    "x=y\n/2;/'/.z;",
    "x=f(y)[0]\n/'/.z;'/'",
    "x=(y)\n/2;/'/.z;",
    "x=y.let\n/'/.z;'/'",
    "return x\n/'/.z;'/'",
    "f(x\n/'/.z);'/'",
    "f(x\n/2);/'/.z;",
    "x=`${y\n/2}`;/'/.z;",
    "let x=1,y\n/'/.z;",
    "let[x]\n/'/.z;",
    "let x=1,[y]\n/'/.z;",
    "let x.y\n/'/.z;",
    "using x\n/'/.z;",
    "for(;;){break\n/'/.z}",
    "for(;;)x:break\n/'/.z;",
    "x:for(;;)y:break x\n/'/.z;",
    "for(;;)if(1)1;else continue\n/'/.z;",
    "x:debugger\n/'/.z;",
    "x:let y\n/'/.z;",
    "break x.y\n/'/.z;",
    "import x from 'y'\n/'/.z;",
    "export * from 'y'\n/'/.z;",
    "export * as x from 'y'\n/'/.z;",
    "function f(x)\n/'/.z;",
    "function*f(x)\n/'/.z;",
    "x=function f(y)\n/'/.z;",
    "x=function*f(y)\n/'/.z;",
    "x:function f(y)\n/'/.z;",
    "export default function(x)\n/'/.z;",
    "class A{x\n/'/.z;}",
    "class A{x=y\n/2;z=/'/}",
    "class A{f()\n/'/.z;}",
    "x={f()\n/'/.z}",
    "for(let x\n/'/;;);",
    "for(x of y)\n/'/.z;",
    "while(x)\n/'/.z;",
    "do x\nwhile(y)\n/'/.z;",
    "do break\n/'/.z\nwhile(0)",
    "x=y++\n/'/.z;",
    "x=async y\n/'/.z;",
    "x=>{}\n/'/.z;",
    "x=1.\nlet y\n/'/.z;",
    "x=a?b:c\n/2;/'/.z;",
    "x=y as T\n/'/.z;",
    "f(x as T\n/2);/'/.z;",
    "type x=y\n/'/.z;",
    "type x=typeof y.z\n/'/.z;",
    "export type x=y\n/'/.z;",
    "function f(x):y\n/'/.z;",
    "x=(y):z\n/'/.z;",
    "x=y!\n/'/.z;",
    "x=<T>y\n/'/.z;",
    "import x=y.z\n/'/.z;",
    "export import x=y.z\n/'/.z;",
    "import x=require(y)\n/'/.z;",
    "import type\nx=y.z\n/'/.z;",
    "import type\nx\n=\ny\n/'/.z;",
    "export=x\n/'/.z;'/'",
    "export as namespace x\n/'/.z;",
    "declare let x:y.z\n/'/.z;",
    "var x:y=z\n/'/.z;'/'",
    "enum A{x=y\n/'/.z}",
    "namespace x.y\n/'/.z;",
    "module x.y\n/'/.z;",
    "class A{f():y\n/'/.z;}",
    "@x.y\n/'/.z;",
    "{}/a<!--b/'\\\n",
    "{}/a;b/'\\\n",
    "{}/a+/'/.z;",
    "{}/a;return/'/.z;",
    "{}/x/in/'/.z;",
    "x=a++\n/2;/'/.z;",
    "x as void /2;/'/.z;",
    "x satisfies A &\nreturn\n/2;/'/.z;",
    "x as{a\nb:C}|void /2;/'/.z;",
    "x as in ?\n/2;/'/.z;",
    "declare function f(x:y)\n/'/.z;",
    "abstract class A{abstract f(x:y)\n/'/.z;}",
];

fn on_small_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(HOST_STACK).spawn_scoped(scope, work);
        thread.expect("a thread").join().expect("no panic");
    });
}

fn endless(levels: usize) -> impl Iterator<Item = String> {
    let repeat = move |part: &str| part.repeat(levels);
    ENDLESS.iter().map(move |(start, open, middle, close)| [start, &*repeat(open), middle, &*repeat(close)].concat())
}

fn read(text: &str) {
    for name in ["/box/a.js", "/box/a.mjs", "/box/a.ts"] {
        drop(Prepared::new(text, name, Role::Main));
    }
}

#[test]
fn nothing_deep_is_read() {
    on_small_stack(|| endless(100_000).for_each(|text| read(&text)));
    let loops = ["while(1)".repeat(500), "if(1)a,b;else ".to_owned()].concat();
    on_small_stack(|| read(&[&*loops.repeat(1_000), "a"].concat()));
}

#[test]
fn what_is_read_is_not_deep() {
    on_small_stack(|| {
        for (at, last) in endless(1).enumerate() {
            let text = |levels| endless(levels).nth(at).expect("text");
            let is_read = |levels: &usize| Obstacle::find(&text(*levels), Syntax::TypeScript).is_none();
            let levels = (0..12).rev().fold(0, |levels, bit| Some(levels | 1 << bit).filter(is_read).unwrap_or(levels));
            assert!(levels >= 200, "{last}");
            read(&text(levels));
        }
    });
}

#[test]
fn long_programs_are_read() {
    for part in [
        "// a comment, and (some [words {that say nothing\nconst x = { a: [1, 2], b: f(3) };\n",
        "const json = '[[[{\"a\":(';\n",
        "const quote = /[\"'(]/g, text = `it's ${a} ((`;\n",
        "if (!/^https?:\\/\\//.test(x)) y = (a / b) * (c / d) / e[0] / 2\nelse z = x => /[(]/.test(x)\n",
        "foo(a)(b)\nbar[0].then(c => { return c })\n",
        "function f(a) { return a }function g(b) { if (b < 1) { h() }if (b) { i() }else { j() } }",
    ] {
        let text = part.repeat(5_000);
        assert_eq!(Obstacle::find(&text, Syntax::JavaScript), None, "{part}");
        assert_eq!(Obstacle::find(&text, Syntax::TypeScript), None, "{part}");
    }
}

#[test]
fn divisions_go_on_in_the_next_line() {
    let start = "function f(a) { return [a, 1].map((x) => x + 1); }\n".repeat(200);
    for division in [
        "const w = n\n  / (hi - lo) // bin width\n",
        "const w = (n + 1)\n  / (hi - lo) // bin width\n",
        "const w = a.b[0](c)\n  / f(lo) / 2;\n",
        "function g(n) { return n\n  / (hi - lo) // bin width\n}\n",
        "console.log(n\n  / (hi - lo) // bin width\n)\n",
    ] {
        let text = [&*start, division, "const v = await Promise.resolve(1);\nv + 40"].concat();
        assert_eq!(Obstacle::find(&text, Syntax::JavaScript), None, "{division}");
        let prepared = Prepared::new(&text, "/box/main.js", Role::Main);
        assert!(prepared.text.ends_with("return (v + 40)"), "{division}");
    }
    let text = [&*start, "console.log(n\n  / (hi - lo) // bin width\n)"].concat();
    assert_eq!(Obstacle::find(&text, Syntax::TypeScript), None);
}

#[test]
fn what_is_in_the_way_is_told() {
    let text = ["interface A { a: B }\n".repeat(1_000), "type C = D\n/[(]/.test(x)".to_owned()].concat();
    let error = Obstacle::find(&text, Syntax::TypeScript).expect("an obstacle").explain(&text);
    assert_eq!((error.line, error.column), (1_002, 1));
    assert!(error.message.contains("put a regular expression in parentheses"), "{error:?}");
    assert_eq!(Obstacle::find(&text.replace("/[(]/", "(/[(]/)"), Syntax::TypeScript), None);
    let long = "a;".repeat(MAX_LENGTH / 2 + 1);
    assert_eq!(Obstacle::find(&long, Syntax::JavaScript), Some(Obstacle::TooLong));
    assert_eq!(Obstacle::find(&"a;".repeat(MAX_LENGTH / 2), Syntax::JavaScript), None);
    assert_eq!(Obstacle::find(&"a;".repeat(MAX_LENGTH / 2), Syntax::TypeScript), Some(Obstacle::TooLong));
    assert_eq!(Obstacle::TooLong.explain(&long).message, "it has more than 1 MiB, the most that is translated");
}

/// Nothing interrupts it, so it must not be for each of many parts that the rest is looked at.
#[test]
fn nothing_takes_long() {
    let classes = ["/*", &*"{".repeat(500), "*/x", &*"=/\"[\",".repeat(100_000)].concat();
    let names = (0..100_000).map(|number| format!("let a{number};")).collect::<Vec<_>>().concat();
    let started = Instant::now();
    read(&classes);
    assert!(matches!(Obstacle::find(&classes, Syntax::JavaScript), Some(Obstacle::Unclear(_))));
    let (prepared, _) = cell::prepare(&names, Dialect::Plain);
    assert!(prepared.text.ends_with("var a99999 = undefined;"));
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn nothing_is_hidden() {
    let deep = "(".repeat(100_000);
    on_small_stack(|| VEILS.iter().for_each(|veil| read(&[veil, "\nvar y=", &deep].concat())));
    on_small_stack(|| VEILS.iter().for_each(|veil| read(&[veil, "var y=", &deep].concat())));
}

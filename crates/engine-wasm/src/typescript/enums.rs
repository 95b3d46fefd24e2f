//! Bounds what enums cost. What their members are is worked out where no limit of the run holds and nothing interrupts
//! it, and a few members that repeat the one before can be more than there is memory. So it is counted first, and never
//! too low.

use std::collections::HashMap;

use oxc::ast::ast::{Expression, IdentifierReference, Program, TSEnumDeclaration};
use oxc::ast_visit::{Visit, walk};
use oxc::span::Span;
use oxc::syntax::operator::BinaryOperator;

/// The most bytes of all texts that members are, and that are put together on the way to them.
const MAX_TEXT: usize = 4 << 20;
/// Enums of one name are one enum in several parts, and a name in a part is looked up in all of them: this often at most,
/// which takes about half a second.
const MAX_LOOKUPS: usize = 10_000_000;
/// A number as text has at most this many bytes.
const LONGEST_NUMBER: usize = 25;

/// The first enum, if any, with which the enums of a program are more than is worked out.
pub(super) fn excess(program: &Program<'_>) -> Option<Span> {
    let mut enums = Enums::default();
    enums.visit_program(program);
    enums.excess
}

#[derive(Default)]
struct Enums<'a> {
    /// The longest that there is so far of each name, in whichever enum.
    members: HashMap<&'a str, Constant>,
    /// How many parts of enums have each name, and the most of these.
    parts: HashMap<&'a str, usize>,
    most_parts: usize,
    /// How many enums we are in.
    depth: usize,
    names: usize,
    text: usize,
    excess: Option<Span>,
}

/// What a constant expression can come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Constant {
    Number,
    /// Of at most so many bytes.
    Text(usize),
}

/// Goes in the order in which oxc works out members: a name stands for what was worked out before.
impl<'a> Visit<'a> for Enums<'a> {
    fn visit_ts_enum_declaration(&mut self, declaration: &TSEnumDeclaration<'a>) {
        let parts = self.parts.entry(declaration.id.name.as_str()).or_default();
        *parts += 1;
        self.most_parts = self.most_parts.max(*parts);
        self.depth += 1;
        walk::walk_ts_enum_declaration(self, declaration);
        self.depth -= 1;
        for member in &declaration.body.members {
            if let Some(initializer) = &member.initializer {
                let value = self.work_out(initializer);
                let longest = self.members.entry(member.id.static_name().as_str()).or_insert(value);
                *longest = value.max(*longest);
            }
        }
        if self.text > MAX_TEXT || self.names.saturating_mul(self.most_parts) > MAX_LOOKUPS {
            self.excess.get_or_insert(declaration.span);
        }
    }

    /// A name is looked up for each enum that it is in.
    fn visit_identifier_reference(&mut self, _: &IdentifierReference<'a>) {
        self.names += self.depth;
    }
}

impl<'a> Enums<'a> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "oxc works out these expressions and no others")]
    fn work_out(&mut self, expression: &Expression<'a>) -> Constant {
        let constant = match expression {
            Expression::StringLiteral(literal) => Constant::Text(literal.value.len()),
            Expression::TemplateLiteral(template) => {
                let texts = template.quasis.iter().map(|quasi| quasi.value.cooked.unwrap_or(quasi.value.raw).len());
                let texts = Constant::Text(texts.sum());
                template.expressions.iter().fold(texts, |sum, expression| sum.add(self.work_out(expression)))
            }
            Expression::Identifier(name) => self.member(name.name.as_str()),
            Expression::StaticMemberExpression(member) => self.member(member.property.name.as_str()),
            Expression::ComputedMemberExpression(member) => {
                member.static_property_name().map_or(Constant::Number, |name| self.member(name.as_str()))
            }
            Expression::BinaryExpression(binary) => {
                let (left, right) = (self.work_out(&binary.left), self.work_out(&binary.right));
                if binary.operator == BinaryOperator::Addition { left.add(right) } else { Constant::Number }
            }
            Expression::UnaryExpression(unary) => self.work_out(&unary.argument),
            Expression::ParenthesizedExpression(inner) => self.work_out(&inner.expression),
            _ => Constant::Number,
        };
        if let Constant::Text(length) = constant {
            self.text = self.text.saturating_add(length);
        }
        constant
    }

    fn member(&self, name: &str) -> Constant {
        self.members.get(name).copied().unwrap_or(Constant::Number)
    }
}

impl Constant {
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number, Self::Number) => Self::Number,
            (one, other) => Self::Text(one.length().saturating_add(other.length())),
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Number => LONGEST_NUMBER,
            Self::Text(length) => length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SyntaxError, to_javascript};

    fn text(source: &str) -> String {
        to_javascript(source, "main.ts").expect("TypeScript").text
    }

    fn refusal(source: &str) -> SyntaxError {
        to_javascript(source, "main.ts").expect_err("refused")
    }

    #[test]
    fn enums_as_people_write_them() {
        let flags = text("enum F { A = 1 << 0, B = 1 << 1, C = A | B, D = F.C + 1, E, G = ~F[\"A\"] & -(B) }\n");
        for member in ["\"C\"] = 3", "\"D\"] = 4", "\"E\"] = 5", "\"G\"] = -2"] {
            assert!(flags.contains(member), "{member}: {flags}");
        }
        let texts = text("enum B { Root = '/api' }\nenum B { Cat = Root + '/cat', Dog = `${B.Root}/dog${1}` }\n");
        assert!(texts.contains("= \"/api/cat\"") && texts.contains("= \"/api/dog1\""), "{texts}");
        let same_names = text("enum A { x = 'a' }\nenum C { x = A.x, y = x, z = f() }\n");
        assert!(same_names.contains("C[\"x\"] = \"a\"") && same_names.contains("C[\"y\"] = \"a\""), "{same_names}");
        let members: Vec<_> = (0..10_000).map(|index| format!("  m{index} = 'member ' + {index},\n")).collect();
        text(&format!("enum Many {{\n{}}}\n", members.concat()));
        let scopes: Vec<_> =
            (0..1_000).map(|index| format!("function f{index}() {{ enum E {{ a, b = a }} }}\n")).collect();
        text(&scopes.concat());
    }

    #[test]
    fn texts_that_grow() {
        let long = "x".repeat(1_000);
        let parts: [fn(&str) -> String; 4] = [
            |name| [name; 20].join(" + "),
            |name| format!("`{}`", format!("${{(E.{name})}}").repeat(20)),
            |name| [format!("E['{name}']").as_str(); 20].join(" + "),
            |name| format!("+({})", [name; 20].join(" + 1 + ")),
        ];
        for part in parts {
            let [b, c, d] = ["A", "B", "C"].map(part);
            let error = refusal(&format!("let a = 1;\nenum E {{ A = '{long}', B = {b}, C = {c}, D = {d} }}\n"));
            assert_eq!((&*error.message, error.line, error.column), ("its enums are too much to work out", 2, 1));
        }
    }

    #[test]
    fn long_texts_that_are_repeated() {
        let long = "x".repeat(400_000);
        let repeated: Vec<_> = (0..100).map(|index| format!(", b{index} = a")).collect();
        refusal(&format!("enum A {{ a = '{long}'{} }}\n", repeated.concat()));
        let nothing = " + ''".repeat(100);
        refusal(&format!("enum A {{ a = '{long}', b = a{nothing} }}\n"));
        refusal(&format!("enum A {{ a = '{long}' }}\nenum B {{ a = () => {{ enum A {{ b = a{nothing} }} }} }}\n"));
    }

    #[test]
    fn names_in_many_parts() {
        refusal(&"enum A{b=c}\n".repeat(10_000));
        refusal(&format!("{}enum A{{b=()=>[{}]}}\n", "enum A{}\n".repeat(1_000), "c,".repeat(20_000)));
    }
}

//! `#define`s of a body, expanded as the preprocessor does: a macro must not hide what a body does.

use std::rc::Rc;

use super::lexer::{Fault, Kind, Lexed, Macro, Token};

/// Calls within arguments of calls.
const DEPTH: usize = 64;
/// Tokens and steps of all expansions: every level may double them.
const LIMIT: usize = 1 << 17;

/// Puts what macros stand for in place of their names.
pub fn expand(lexed: &mut Lexed<'_>) {
    if lexed.macros.is_empty() {
        return;
    }
    let mut expansion = Expansion { macros: &lexed.macros, steps: 0, full: None };
    let items = lexed.tokens.iter().map(|token| Item { token: *token, within: None }).collect();
    let items = expansion.run(items, 0);
    lexed.faults.extend(expansion.full.map(|at| (at, Fault::Endless)));
    lexed.tokens = items.into_iter().map(|item| item.token).collect();
}

/// A token and the macros that it came out of: those do not expand in it again.
#[derive(Clone)]
struct Item<'a> {
    token: Token<'a>,
    within: Option<Rc<Within>>,
}

/// A macro, by its index, and those around it.
struct Within {
    index: usize,
    around: Option<Rc<Within>>,
}

struct Expansion<'m, 'a> {
    macros: &'m [Macro<'a>],
    steps: usize,
    /// Where it was given up.
    full: Option<usize>,
}

impl<'m, 'a> Expansion<'m, 'a> {
    fn run(&mut self, items: Vec<Item<'a>>, depth: usize) -> Vec<Item<'a>> {
        let mut left = items;
        left.reverse();
        let mut out = Vec::with_capacity(left.len());
        while let Some(item) = left.pop() {
            let Some((index, found)) = self.named(&item) else {
                out.push(item);
                continue;
            };
            let arguments = match &found.parameters {
                None => Vec::new(),
                Some(parameters) => match arguments(&mut left, parameters) {
                    Some(arguments) => arguments,
                    // The name alone is no call.
                    None => {
                        out.push(item);
                        continue;
                    }
                },
            };
            self.steps += 1;
            if depth == DEPTH || self.steps + out.len() + left.len() > LIMIT {
                self.full.get_or_insert(item.token.at);
                out.push(item);
                continue;
            }
            let arguments: Vec<_> = arguments.into_iter().map(|argument| self.run(argument, depth + 1)).collect();
            let within = |around: &Option<Rc<Within>>| Some(Rc::new(Within { index, around: around.clone() }));
            let own = within(&item.within);
            let mut body = Vec::with_capacity(found.body.len());
            for token in &found.body {
                let parameter =
                    found.parameters.iter().flatten().position(|name| token.kind == Kind::Word && token.text == *name);
                match parameter.and_then(|i| arguments.get(i)) {
                    Some(given) => body.extend(given.iter().map(|i| Item { token: i.token, within: within(&i.within) })),
                    None => body.push(Item { token: Token { at: item.token.at, ..*token }, within: own.clone() }),
                }
            }
            self.steps += body.len();
            left.extend(body.into_iter().rev());
        }
        out
    }

    /// The macro that a token is the name of, if it is defined there and does not stand for itself.
    fn named(&self, item: &Item<'a>) -> Option<(usize, &'m Macro<'a>)> {
        let token = &item.token;
        let is_named = |m: &Macro<'a>| token.kind == Kind::Word && m.name == token.text && m.at < token.at;
        let index = self.macros.iter().position(is_named)?;
        let mut within = item.within.as_deref();
        while let Some(around) = within {
            if around.index == index {
                return None;
            }
            within = around.around.as_deref();
        }
        Some((index, &self.macros[index]))
    }
}

/// Takes `( … )` from the end of `left`, which is the next token, and gives what stands between its commas.
fn arguments<'a>(left: &mut Vec<Item<'a>>, parameters: &[&str]) -> Option<Vec<Vec<Item<'a>>>> {
    if !left.last().is_some_and(|item| item.token.is("(")) {
        return None;
    }
    let mut arguments = vec![Vec::new()];
    let mut depth = 0usize;
    for (i, item) in left.iter().enumerate().rev() {
        let token = &item.token;
        depth += usize::from(token.is("("));
        depth -= usize::from(token.is(")"));
        if depth == 0 {
            left.truncate(i);
            return Some(arguments);
        }
        let rest = arguments.len() == parameters.len() && parameters.last() == Some(&"__VA_ARGS__");
        if depth == 1 && token.is(",") && !rest {
            arguments.push(Vec::new());
        } else if let (Some(last), false) = (arguments.last_mut(), depth == 1 && token.is("(")) {
            last.push(item.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn expanded(source: &str) -> Lexed<'_> {
        let mut lexed = lex(source);
        expand(&mut lexed);
        lexed
    }

    fn texts(source: &str) -> String {
        expanded(source).tokens.iter().map(|t| t.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn macros_are_in_place_of_their_names() {
        assert_eq!(texts("#define A B()\n#define B dep_wait\nA; x.A2;"), "dep_wait ( ) ; x . A2 ;");
        let lexed = expanded("#define A f()\nA;");
        assert_eq!((lexed.tokens[0].at, lexed.tokens[2].at, lexed.tokens[0].written), (14, 14, 10));
    }

    #[test]
    fn arguments_are_in_place_of_parameters() {
        assert_eq!(texts("#define EACH(m) for (auto p : m.pages())\nEACH(w) {}"), "for ( auto p : w . pages ( ) ) { }");
        assert_eq!(texts("#define F(a, b) b a\nF(f(1, 2), (3, 4)); F;"), "( 3 , 4 ) f ( 1 , 2 ) ; F ;");
        assert_eq!(texts("#define V(f, ...) f(__VA_ARGS__)\nV(g, 1, 2)"), "g ( 1 , 2 )");
        assert_eq!(texts("#define F(a) a + 1\nF(F(2)) F()"), "2 + 1 + 1 + 1");
        assert_eq!(texts("#define G(a) [a]\n#define F G\nF(3)"), "[ 3 ]");
    }

    #[test]
    fn a_macro_is_defined_from_its_line_on() {
        assert_eq!(texts("A;\n#define A b\nA;"), "A ; b ;");
    }

    #[test]
    fn endless_and_huge_macros_end() {
        assert_eq!(texts("#define A A + B\n#define B A\nA"), "A + A");
        let doubled: String = (0..40).map(|i| format!("#define M{} M{i} M{i}\n", i + 1)).collect();
        for source in
            [format!("#define M0\n{doubled}M40"), format!("{doubled}M40"), format!("#define F(a) a a\n{}", "F(".repeat(1000))]
        {
            expanded(&source);
        }
        assert!(expanded(&format!("{doubled}M40")).faults.iter().any(|(_, fault)| *fault == Fault::Endless));
        let nested = format!("#define F(a) a\n{}1{}", "F(".repeat(1000), ")".repeat(1000));
        assert!(expanded(&nested).faults.iter().any(|(_, fault)| *fault == Fault::Endless));
    }
}

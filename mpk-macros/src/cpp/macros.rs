//! `#define`s of a body, expanded as far as the checks need it: a macro must not hide what a body does.

use super::lexer::{Kind, Lexed, Macro, Token};

/// Macros within macros; deeper ones are left as words.
const DEPTH: usize = 8;
/// Tokens of an expansion; it stops there, since every level may double them.
const LIMIT: usize = 1 << 17;

/// The tokens with the bodies of macros in place of their names, each at the offset of the use. Arguments are left where they
/// stand, after the body: their words count, their order does not.
pub fn expand<'a>(lexed: &Lexed<'a>) -> Vec<Token<'a>> {
    if lexed.macros.is_empty() {
        return lexed.tokens.clone();
    }
    let mut out = Vec::with_capacity(lexed.tokens.len());
    for token in &lexed.tokens {
        put(*token, token.at, &lexed.macros, DEPTH, &mut out);
    }
    out
}

fn put<'a>(token: Token<'a>, at: usize, macros: &[Macro<'a>], depth: usize, out: &mut Vec<Token<'a>>) {
    let named = |m: &&Macro<'a>| token.kind == Kind::Word && m.name == token.text;
    match macros.iter().rfind(named) {
        Some(found) if depth > 0 && out.len() < LIMIT => {
            for inner in &found.body {
                put(*inner, at, macros, depth - 1, out);
            }
        }
        _ => out.push(Token { at, ..token }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    #[test]
    fn macros_are_in_place_of_their_names() {
        let lexed = lex("#define A B()\n#define B dep_wait\nA; x.A2;");
        let expanded = expand(&lexed);
        assert_eq!(expanded.iter().map(|t| t.text).collect::<Vec<_>>(), ["dep_wait", "(", ")", ";", "x", ".", "A2", ";"]);
        assert_eq!(expanded[0].at, expanded[2].at);
    }

    #[test]
    fn endless_and_huge_macros_end() {
        expand(&lex("#define A A A A A A A A\nA A A A A A A A"));
        expand(&lex("#define A B B\n#define B A A\nA"));
    }
}

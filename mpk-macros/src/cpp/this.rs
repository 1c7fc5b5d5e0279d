//! `this->x` and `(*this).x` are `x`: a body is a member of the struct that has its ports.

use super::lexer::{Kind, Token};

/// The ways to say "of this task".
const PREFIXES: [&[&str]; 3] = [&["this", "->"], &["(", "*", "this", ")", "."], &["(", "this", ")", "->"]];

/// The tokens without them.
pub fn without<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        // `f(*this)` is a call that hands it on.
        let called = out.last().is_some_and(|t: &Token<'_>| t.kind == Kind::Word || t.is(")") || t.is("]") || t.is(">"));
        let said = |prefix: &&&[&str]| {
            let fits = rest.len() > prefix.len() && prefix.iter().zip(rest).all(|(text, token)| token.is(text));
            fits && !(called && prefix[0] == "(")
        };
        rest = match PREFIXES.iter().find(said) {
            Some(prefix) => &rest[prefix.len()..],
            None => {
                out.push(*token);
                after
            }
        };
    }
    out
}

/// Whether the `this` at `at` stands in the captures of a lambda.
pub fn is_captured(tokens: &[Token<'_>], at: usize) -> bool {
    let open = tokens[..at].iter().rev().find(|t| ["[", "(", "{", ";", "]", ")"].iter().any(|text| t.is(text)));
    open.is_some_and(|t| t.is("["))
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    #[test]
    fn members_are_seen_without_it() {
        let tokens = lex("this->x.at(0); (*this).dep_wait(); (this)->y; f(*this).x; auto g = [&, this] {};").tokens;
        let left = without(&tokens);
        let texts: Vec<_> = left.iter().map(|t| t.text).collect();
        assert_eq!(texts[..6], ["x", ".", "at", "(", "0", ")"]);
        assert_eq!(texts[7..10], ["dep_wait", "(", ")"]);
        let kept: Vec<bool> = (0..left.len()).filter(|i| left[*i].is("this")).map(|i| is_captured(&left, i)).collect();
        assert_eq!(kept, [false, true]);
    }
}

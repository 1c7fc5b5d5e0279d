//! Monotonic state only grows (MPK-E0121).

use super::checker::Finding;
use super::lexer::{Kind, Token};
use crate::errors::{Code, Problem};

const OVERWRITES: [&str; 8] = ["set", "store", "zero", "clear", "reset", "fill", "init", "exchange"];
const ASSIGNMENTS: [&str; 11] = ["=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "--"];
const FUNCTIONS: [&str; 9] =
    ["memset", "memcpy", "atomicExch", "atomicSub", "atomicCAS", "atomicMin", "atomicAnd", "atomicXor", "atomicDec"];

/// Reports what sets one of `ports` to anything but more than it was.
pub fn check(tokens: &[Token<'_>], ports: &[String], findings: &mut Vec<Finding>) {
    for (i, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word || !ports.iter().any(|port| port == token.text) {
            continue;
        }
        let before = i.checked_sub(1).map(|i| tokens[i]);
        if before.is_some_and(|t| t.is(".") || t.is("->") || t.is("::")) {
            continue;
        }
        let function = caller(&tokens[..i]).filter(|name| FUNCTIONS.contains(name));
        let decremented = before.filter(|t| t.is("--")).map(|t| t.text);
        if let Some(how) = function.or(decremented).or_else(|| overwrite(&tokens[i + 1..])) {
            let what = format!("`{how}` sets the monotonic state `{}`, which may only grow", token.text);
            findings.push(Finding::at(token.at, Problem::new(Code::E0121, what)));
        }
    }
}

/// What follows a port: `.method(…)[…]` any number of times, then perhaps an assignment. Gives what overwrites.
fn overwrite<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        if token.is(".") || token.is("->") {
            let method = tokens.get(i + 1)?;
            if OVERWRITES.contains(&method.text) {
                return Some(method.text);
            }
            i += 2;
        } else if token.is("(") || token.is("[") {
            i += matching(&tokens[i..])?;
        } else {
            return ASSIGNMENTS.contains(&token.text).then_some(token.text);
        }
    }
    None
}

/// Tokens from a bracket to after its other half.
fn matching(tokens: &[Token<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        if token.is("(") || token.is("[") {
            depth += 1;
        } else if token.is(")") || token.is("]") {
            depth -= 1;
            if depth == 0 {
                return Some(i + 1);
            }
        }
    }
    None
}

/// The function that is called with the token after `tokens` as its first argument: `f(&`, `f(`.
fn caller<'a>(tokens: &[Token<'a>]) -> Option<&'a str> {
    let end = tokens.iter().rposition(|t| !t.is("&") && !t.is("*"))?;
    let name = tokens[end].is("(").then(|| end.checked_sub(1))??;
    Some(tokens[name].text)
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn found(source: &str) -> usize {
        let mut findings = Vec::new();
        check(&lex(source).tokens, &["s".to_string()], &mut findings);
        findings.len()
    }

    #[test]
    fn state_may_grow() {
        assert_eq!(
            found("s.at(0) += 1; s.advance(2); atomicAdd(&s.at(0), 1); if (s.at(0) == 3 || s.at(1) > 2) v.s = s[1]; s.at(0)++;"),
            0
        );
    }

    #[test]
    fn state_may_not_be_set() {
        assert_eq!(
            found("s.at(0) = 0; s[1] -= 1; s.set(0, 1); atomicExch(&s.at(0), 0); memset(s.row(0), 0, 8); --s.at(0); s[0] >>= 1;"),
            7
        );
    }
}

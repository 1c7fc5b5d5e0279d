//! Inline assembly: the instructions and registers that no body may name.

use super::lexer::{Kind, Token};
use crate::errors::{Code, Problem};

/// What is wrong with a text of assembly.
pub fn check(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut said = |found: Option<String>, code, what: &str| {
        problems.extend(found.map(|word| Problem::new(code, format!("`{word}` in the assembly of a role body {what}"))));
    };
    // `bar.warp.sync` joins a warp only, and may be used.
    let block_wide = ["bar.sync", "bar.arrive", "bar.red", "bar.cta", "barrier."];
    said(block_wide.iter().find_map(|word| instruction(text, word)), Code::E0112, "synchronises the whole block");
    let identity = [
        "%tid",
        "%ntid",
        "%ctaid",
        "%nctaid",
        "%smid",
        "%nsmid",
        "%warpid",
        "%nwarpid",
        "%clusterid",
        "%nclusterid",
        "%cluster_",
    ];
    said(identity.iter().find_map(|word| instruction(text, word)), Code::E0113, "is a place in the hardware, not in the task");
    said(text.contains("mbarrier").then(|| "mbarrier".into()), Code::E0114, "is a raw barrier operation");
    said(instruction(text, "setmaxnreg"), Code::E0111, "changes what another role has");
    // `ld.shared` is a read; `.shared` by itself declares.
    said(instruction(text, ".shared"), Code::E0130, "takes shared memory that is not declared");
    let ends = ["exit", "ret", "trap", "brkpt"].iter().find_map(|word| {
        let found = instruction(text, word)?;
        (found.split(['.', ':']).next() == Some(word)).then_some(found)
    });
    problems.extend(ends.map(|word| {
        let what = format!("`{word}` in the assembly of a role body ends more than the body");
        Problem::new(Code::E0101, what).help("leave the body by `return`")
    }));
    problems
}

/// The instruction or register in `text` that starts with `start`, not within a longer word.
fn instruction(text: &str, start: &str) -> Option<String> {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '%');
    text.match_indices(start).find_map(|(at, _)| {
        let within = text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        let end = text[at..].find(|c| !part(c)).map_or(text.len(), |end| at + end);
        (!within).then(|| text[at..end].to_string())
    })
}

/// The strings of a text, adjacent ones joined as the compiler does, as what they stand for.
pub fn strings(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut strings: Vec<(usize, String)> = Vec::new();
    let mut joins = false;
    for token in tokens {
        let is_string = token.kind == Kind::String;
        if is_string {
            let text = value(token.text);
            match strings.last_mut() {
                Some((_, last)) if joins => last.push_str(&text),
                _ => strings.push((token.written, text)),
            }
        }
        joins = is_string;
    }
    strings
}

/// What a literal stands for: without its quotes, escapes read.
fn value(literal: &str) -> String {
    let (prefix, quoted) = literal.split_at(literal.find('"').unwrap_or(0));
    let inner = quoted.strip_prefix('"').unwrap_or(quoted);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if prefix.ends_with('R') {
        // `tag(…)tag`.
        let open = inner.find('(').map_or(0, |at| at + 1);
        return inner.get(open..inner.len().saturating_sub(open)).unwrap_or(inner).to_string();
    }
    let mut out = String::new();
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (start, radix, most) = match rest.clone().next() {
            Some('x') => (1, 16, usize::MAX),
            Some('u') => (1, 16, 4),
            Some('U') => (1, 16, 8),
            Some('0'..='7') => (0, 8, 3),
            Some(other) => {
                rest.next();
                out.push(if "ntrvfab".contains(other) { ' ' } else { other });
                continue;
            }
            None => break,
        };
        let digits: String = rest.clone().skip(start).take_while(|c| c.is_digit(radix)).take(most).collect();
        rest = rest.as_str()[start + digits.len()..].chars();
        out.extend(u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn codes(source: &str) -> Vec<&'static str> {
        let strings = strings(&lex(source).tokens);
        strings.iter().flat_map(|(_, text)| check(text)).filter_map(|p| p.code()).map(|code| &code.id()[4..]).collect()
    }

    #[test]
    fn instructions_are_found_as_the_assembler_reads_them() {
        assert_eq!(codes(r#""{\n\tbar.sync 0;\n}""#), ["E0112"]);
        assert_eq!(codes(r#""b\x61r.sync 0; \142ar.arrive 1;""#), ["E0112"]);
        assert_eq!(codes(r#"R"x(bar.sync 0;)x""#), ["E0112"]);
        assert_eq!(codes(r#""cp.async.mbarrier.arrive.b64 [%0];""#), ["E0114"]);
        assert_eq!(codes(r#""mov.u32 %0, %%nclusterid.x;""#), ["E0113"]);
        assert_eq!(codes(r#""setmaxnreg.inc.sync.aligned.u32 240;""#), ["E0111"]);
        assert_eq!(codes(r#"".shared .align 4 .b8 buffer[16];""#), ["E0130"]);
        assert_eq!(codes(r#""exit;" , "@p ret.uni;", "trap;""#), ["E0101"; 3]);
    }

    #[test]
    fn other_instructions_are_fine() {
        let fine = r#""ld.shared.f32 %0, [%1];" , "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0};", "exit_loop: bra done;", "retry:", "bar.warp.sync 1;""#;
        assert_eq!(codes(fine), Vec::<&str>::new());
    }

    #[test]
    fn any_literal_has_a_value() {
        for literal in ["\"", "\"\\", "\"\\x\"", "\"\\u12\"", "R\"", "R\"(", "R\"ab(\"", "\"\\xffffffffff\"", "u8\"\\é\""] {
            value(literal);
        }
        assert_eq!(value(r#"u8"a\"b\\c\101""#), "a\"b\\cA");
    }
}

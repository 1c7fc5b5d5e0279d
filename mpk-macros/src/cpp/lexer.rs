//! CUDA C++ as tokens: enough of the language to judge a body, for inline text and files alike.

use super::scan::Scan;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Offset of its first byte.
    pub at: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    Number,
    /// A string with its quotes.
    String,
    Char,
    Punct,
    /// `#if…`: what follows may not be compiled.
    Conditional,
    /// `#endif`.
    EndConditional,
}

impl Token<'_> {
    /// Whether this is the punctuation or the word `text`.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Punct) && self.text == text
    }
}

/// A `#define`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro<'a> {
    pub name: &'a str,
    pub body: Vec<Token<'a>>,
}

/// A text as tokens.
#[derive(Debug, Default)]
pub struct Lexed<'a> {
    pub tokens: Vec<Token<'a>>,
    pub macros: Vec<Macro<'a>>,
    /// `#include`s, by offset: they would bring in text that nobody checked.
    pub includes: Vec<usize>,
    /// Where text ends inside of a comment, string or character.
    pub unfinished: Vec<(usize, &'static str)>,
}

/// Operators of several characters, longest first. `>>` is left apart: it may close two templates.
const OPERATORS: [&str; 24] = [
    "<<=", ">>=", "->*", "...", "<=>", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "++", "--", "##",
];

/// Reads `text`. Total: whatever can't be read is a token of one character.
pub fn lex(text: &str) -> Lexed<'_> {
    let mut lexed = Lexed::default();
    let mut scan = Scan::new(text);
    let mut line_start = true;
    while let Some(c) = scan.peek() {
        let at = scan.at();
        if c == '\n' {
            line_start = true;
            scan.bump();
        } else if scan.skip_blank(&mut lexed.unfinished) {
        } else if c == '#' && line_start {
            let line = scan.logical_line();
            directive(at, line, &mut lexed);
        } else {
            line_start = false;
            lexed.tokens.push(token(&mut scan, &mut lexed.unfinished));
        }
    }
    lexed
}

/// The token at the scanner, which stands on no blank.
fn token<'a>(scan: &mut Scan<'a>, unfinished: &mut Vec<(usize, &'static str)>) -> Token<'a> {
    let at = scan.at();
    let first = scan.peek().unwrap_or_default();
    let kind = if first == '"' {
        unfinished.extend(scan.quoted('"').then_some((at, "a string")));
        Kind::String
    } else if first == '\'' {
        unfinished.extend(scan.quoted('\'').then_some((at, "a character")));
        Kind::Char
    } else if first.is_ascii_digit() || (first == '.' && scan.second().is_some_and(|c| c.is_ascii_digit())) {
        scan.number();
        Kind::Number
    } else if is_word(first) {
        scan.take_while(|c| is_word(c) || c.is_ascii_digit());
        match (scan.since(at), scan.peek()) {
            ("R" | "LR" | "uR" | "UR" | "u8R", Some('"')) => {
                unfinished.extend(scan.raw_string().then_some((at, "a string")));
                Kind::String
            }
            ("L" | "u" | "U" | "u8", Some(quote @ ('"' | '\''))) => {
                unfinished.extend(scan.quoted(quote).then_some((at, "a string")));
                if quote == '"' { Kind::String } else { Kind::Char }
            }
            _ => Kind::Word,
        }
    } else {
        match OPERATORS.iter().find(|op| scan.rest().starts_with(**op)) {
            Some(op) => scan.skip(op.len()),
            None => scan.bump(),
        }
        Kind::Punct
    };
    Token { kind, text: scan.since(at), at }
}

/// A preprocessor line that starts at `at`.
fn directive<'a>(at: usize, line: &'a str, lexed: &mut Lexed<'a>) {
    let mut tokens = Vec::new();
    let mut scan = Scan::new(line);
    scan.bump();
    // A string that does not end is fine in `#error don't`.
    let mut ignored = Vec::new();
    while let Some(c) = scan.peek() {
        if c == '\n' {
            scan.bump();
        } else if !scan.skip_blank(&mut ignored) {
            let token = token(&mut scan, &mut ignored);
            tokens.push(Token { at: at + token.at, ..token });
        }
    }
    let marker = |kind| Token { kind, text: "", at };
    match tokens.first().map_or("", |token| token.text) {
        "if" | "ifdef" | "ifndef" => lexed.tokens.push(marker(Kind::Conditional)),
        "endif" => lexed.tokens.push(marker(Kind::EndConditional)),
        "include" => lexed.includes.push(at),
        "define" if tokens.len() > 1 => {
            let name = tokens[1];
            // Parameters follow the name without a blank.
            let has_parameters = tokens.get(2).is_some_and(|t| t.is("(") && t.at == name.at + name.text.len());
            let body = match tokens.iter().position(|t| t.is(")")) {
                Some(close) if has_parameters => close + 1,
                _ => 2,
            };
            lexed.macros.push(Macro { name: name.text, body: tokens.split_off(body) });
        }
        _ => {}
    }
}

/// Whether a word may start with `c`.
pub fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        lex(source).tokens.iter().map(|t| t.text).collect()
    }

    #[test]
    fn tokens_are_those_of_the_language() {
        assert_eq!(texts("y.store(t, n, 1.5e-3f);"), ["y", ".", "store", "(", "t", ",", "n", ",", "1.5e-3f", ")", ";"]);
        assert_eq!(texts("a->b::c <<= 1'000 >> 0x1p-3"), ["a", "->", "b", "::", "c", "<<=", "1'000", ">", ">", "0x1p-3"]);
        assert_eq!(
            texts(r#"asm("bar.sync \"0\";" "x") 'a' '\'' u8"z""#),
            ["asm", "(", r#""bar.sync \"0\";""#, "\"x\"", ")", "'a'", r"'\''", "u8\"z\""]
        );
        assert_eq!(texts("R\"x(a)\" )x\" b"), ["R\"x(a)\" )x\"", "b"]);
    }

    #[test]
    fn comments_are_blank() {
        assert_eq!(texts("a // __syncthreads();\nb /* c\n */ d // e \\\n f\ng"), ["a", "b", "d", "g"]);
    }

    #[test]
    fn directives_are_lines() {
        let lexed =
            lex("#define SYNC(x) \\\n  __syncthreads(x)\n  # if A\n#endif\n#include <x>\n#pragma unroll\na # b\n#define E (1)\n");
        assert_eq!(lexed.macros.len(), 2);
        assert_eq!(lexed.macros[0].name, "SYNC");
        assert_eq!(lexed.macros[0].body.iter().map(|t| t.text).collect::<Vec<_>>(), ["__syncthreads", "(", "x", ")"]);
        assert_eq!(lexed.macros[1].body.len(), 3);
        assert_eq!(lexed.includes.len(), 1);
        let kinds: Vec<_> = lexed.tokens.iter().map(|t| t.kind).collect();
        assert_eq!(kinds, [Kind::Conditional, Kind::EndConditional, Kind::Word, Kind::Punct, Kind::Word]);
    }

    #[test]
    fn offsets_are_those_of_the_text() {
        let source = "é a\n#define M \\\n  b\n'c' /*";
        for token in lex(source).tokens.iter().chain(&lex(source).macros[0].body) {
            assert_eq!(&source[token.at..token.at + token.text.len()], token.text);
        }
    }

    #[test]
    fn any_text_can_be_read() {
        for source in
            ["\"abc\nd", "'", "/* x", "R\"(", "R\"", "#define", "#", "\\", "\u{0}\u{feff}𝄞", "1e", "0x", ".", "#define F(", "'\\"]
        {
            lex(source);
        }
        assert_eq!(lex("\"abc\nd").unfinished, [(0, "a string")]);
        assert_eq!(lex("a /* b").unfinished, [(2, "a comment")]);
    }
}

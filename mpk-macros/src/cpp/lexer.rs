//! CUDA C++ as tokens: enough of the language to judge a body, for inline text and files alike.

use super::scan::Scan;

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Offset of its first byte; of what a macro stands for, that of the macro's name.
    pub at: usize,
    /// Offset where it is written: in the body of a macro, that of the definition.
    pub written: usize,
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
    /// Offset of its line: it stands for its body from there on.
    pub at: usize,
    /// Of a macro that is called; the last one is `__VA_ARGS__` if it takes any number.
    pub parameters: Option<Vec<&'a str>>,
    pub body: Vec<Token<'a>>,
}

/// What a text must not have: the checks could not see what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault<'a> {
    /// A comment, string or character without its end.
    Unfinished(&'static str),
    /// `#include` and its like: text that nobody checked, or a macro that is one thing here and another there.
    Directive(&'a str),
    /// A second `#define` of a name.
    Redefined(&'a str),
    /// A `#define` within an `#if`.
    Conditional(&'a str),
    /// `#` or `##` in a macro.
    Paste(&'a str),
    /// A `\` outside of strings, or a line continued within a word or a string.
    Splice,
    /// `<%` and its like.
    Digraph,
    /// Macros that stand for far too much.
    Endless,
}

/// A text as tokens.
#[derive(Debug, Default)]
pub struct Lexed<'a> {
    pub tokens: Vec<Token<'a>>,
    pub macros: Vec<Macro<'a>>,
    /// By offset.
    pub faults: Vec<(usize, Fault<'a>)>,
}

/// Operators of several characters, longest first. `>>` is left apart: it may close two templates.
const OPERATORS: [&str; 24] = [
    "<<=", ">>=", "->*", "...", "<=>", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "++", "--", "##",
];
/// Other spellings of brackets and `#`.
const DIGRAPHS: [&str; 5] = ["<%", "%>", "<:", ":>", "%:"];
/// Directives that are read or change nothing.
const DIRECTIVES: [&str; 11] = ["", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "pragma", "error"];

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
        } else if scan.skip_blank(&mut lexed.faults) {
        } else if c == '#' && line_start {
            let line = scan.logical_line();
            directive(at, line, &mut lexed);
        } else {
            line_start = false;
            let token = token(&mut scan, &mut lexed.faults);
            lexed.tokens.push(token);
        }
    }
    lexed
}

/// The token at the scanner, which stands on no blank.
fn token<'a>(scan: &mut Scan<'a>, faults: &mut Vec<(usize, Fault<'a>)>) -> Token<'a> {
    let at = scan.at();
    let first = scan.peek().unwrap_or_default();
    let kind = if first == '"' {
        faults.extend(scan.quoted('"').then_some((at, Fault::Unfinished("a string"))));
        Kind::String
    } else if first == '\'' {
        faults.extend(scan.quoted('\'').then_some((at, Fault::Unfinished("a character"))));
        Kind::Char
    } else if first.is_ascii_digit() || (first == '.' && scan.second().is_some_and(|c| c.is_ascii_digit())) {
        scan.number();
        Kind::Number
    } else if is_word(first) {
        scan.take_while(|c| is_word(c) || c.is_ascii_digit());
        match (scan.since(at), scan.peek()) {
            ("R" | "LR" | "uR" | "UR" | "u8R", Some('"')) => {
                faults.extend(scan.raw_string().then_some((at, Fault::Unfinished("a string"))));
                Kind::String
            }
            ("L" | "u" | "U" | "u8", Some(quote @ ('"' | '\''))) => {
                faults.extend(scan.quoted(quote).then_some((at, Fault::Unfinished("a string"))));
                if quote == '"' { Kind::String } else { Kind::Char }
            }
            _ => Kind::Word,
        }
    } else {
        faults.extend(punctuation(scan.rest()).map(|fault| (at, fault)));
        match OPERATORS.iter().find(|op| scan.rest().starts_with(**op)) {
            Some(op) => scan.skip(op.len()),
            None => scan.bump(),
        }
        Kind::Punct
    };
    let text = scan.since(at);
    if kind == Kind::String && (text.contains("\\\n") || text.contains("\\\r\n")) {
        faults.push((at, Fault::Splice));
    }
    Token { kind, text, at, written: at }
}

/// What is wrong with the punctuation that `rest` starts with.
fn punctuation<'a>(rest: &str) -> Option<Fault<'a>> {
    // `a<::b>` is `a< ::b>`.
    let template = rest.starts_with("<::") && !rest.starts_with("<:::") && !rest.starts_with("<::>");
    if rest.starts_with('\\') {
        Some(Fault::Splice)
    } else if !template && DIGRAPHS.iter().any(|digraph| rest.starts_with(digraph)) {
        Some(Fault::Digraph)
    } else {
        None
    }
}

/// A preprocessor line that starts at `at`.
fn directive<'a>(at: usize, line: &'a str, lexed: &mut Lexed<'a>) {
    let mut tokens = Vec::new();
    let mut scan = Scan::new(line);
    scan.bump();
    // A string that does not end is fine in `#error don't`, and a line may be continued.
    let mut ignored = Vec::new();
    let mut faults = Vec::new();
    while let Some(c) = scan.peek() {
        if c == '\n' {
            scan.bump();
        } else if !scan.skip_blank(&mut ignored) {
            let token = token(&mut scan, &mut faults);
            tokens.push(Token { at: at + token.at, written: at + token.at, ..token });
        }
    }
    let marker = |kind| Token { kind, text: "", at, written: at };
    let is_open = lexed.tokens.iter().filter(|t| t.kind == Kind::Conditional).count()
        > lexed.tokens.iter().filter(|t| t.kind == Kind::EndConditional).count();
    let name = tokens.first().map_or("", |token| token.text);
    match name {
        "if" | "ifdef" | "ifndef" => lexed.tokens.push(marker(Kind::Conditional)),
        "endif" => lexed.tokens.push(marker(Kind::EndConditional)),
        "define" if tokens.len() > 1 => {
            let found = definition(at, tokens);
            let mut said = |at, fault| lexed.faults.push((at, fault));
            if lexed.macros.iter().any(|other| other.name == found.name) {
                said(at, Fault::Redefined(found.name));
            }
            if is_open {
                said(at, Fault::Conditional(found.name));
            }
            for (fault_at, fault) in faults {
                said(at + fault_at, fault);
            }
            if let Some(splice) = spliced(line) {
                said(at + splice, Fault::Splice);
            }
            for token in found.body.iter().filter(|t| t.is("#") || t.is("##")) {
                said(token.at, Fault::Paste(token.text));
            }
            lexed.macros.push(found);
        }
        _ if DIRECTIVES.contains(&name) => {}
        _ => lexed.faults.push((at, Fault::Directive(name))),
    }
}

/// What follows `#` in `#define …`.
fn definition<'a>(at: usize, mut tokens: Vec<Token<'a>>) -> Macro<'a> {
    let name = tokens[1];
    // Parameters follow the name without a blank.
    let called = tokens.get(2).is_some_and(|t| t.is("(") && t.at == name.at + name.text.len());
    match tokens.iter().position(|t| t.is(")")) {
        Some(close) if called => {
            let body = tokens.split_off(close + 1);
            let names = tokens[3..close].iter().filter(|t| !t.is(","));
            let parameters = names.map(|t| if t.is("...") { "__VA_ARGS__" } else { t.text }).collect();
            Macro { name: name.text, at, parameters: Some(parameters), body }
        }
        _ => Macro { name: name.text, at, parameters: None, body: tokens.split_off(2) },
    }
}

/// Where a line is continued with no blank on either side: it may be within a word.
fn spliced(line: &str) -> Option<usize> {
    let parts: Vec<&str> = line.split('\n').collect();
    let mut at = 0;
    for pair in parts.windows(2) {
        at += pair[0].len() + 1;
        let before = pair[0].trim_end_matches('\r').strip_suffix('\\').and_then(|text| text.chars().next_back());
        let after = pair[1].chars().next();
        let joins = |c: char| is_word(c) || c.is_ascii_digit();
        if let (Some(before), Some(after)) = (before, after)
            && !before.is_whitespace()
            && !after.is_whitespace()
            && joins(before) == joins(after)
        {
            return Some(at - 1);
        }
    }
    None
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
        assert_eq!(lexed.macros[0].parameters, Some(vec!["x"]));
        assert_eq!(lexed.macros[1].parameters, None);
        assert_eq!(lexed.faults.iter().map(|(_, fault)| *fault).collect::<Vec<_>>(), [Fault::Directive("include")]);
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
        assert_eq!(lex("\"abc\nd").faults, [(0, Fault::Unfinished("a string"))]);
        assert_eq!(lex("a /* b").faults, [(2, Fault::Unfinished("a comment"))]);
    }

    fn faults(source: &str) -> Vec<Fault<'_>> {
        lex(source).faults.into_iter().map(|(_, fault)| fault).collect()
    }

    #[test]
    fn what_hides_text_is_found() {
        assert_eq!(faults("dep_\\\nwait();"), [Fault::Splice]);
        assert_eq!(faults("\\u0064ep_wait();"), [Fault::Splice]);
        assert_eq!(faults("asm(\"bar\\\n.sync 0;\");"), [Fault::Splice]);
        assert_eq!(faults("#define S __sync\\\nthreads()"), [Fault::Splice]);
        assert_eq!(faults("#define S(a) a ## b\n#define Q(a) #a"), [Fault::Paste("##"), Fault::Paste("#")]);
        assert_eq!(faults("#define S a\n#define S b"), [Fault::Redefined("S")]);
        assert_eq!(faults("#if A\n#define S a\n#endif"), [Fault::Conditional("S")]);
        assert_eq!(faults("#undef S\n#import <x>"), [Fault::Directive("undef"), Fault::Directive("import")]);
        assert_eq!(faults("<% a<:0:>; %>"), [Fault::Digraph; 4]);
    }

    #[test]
    fn what_hides_nothing_is_fine() {
        let fine = "#define A(x) \\\n  f(x);\\\n  g(x)\n#define B f();\\\ng()\n#pragma unroll\n#error don't\n// a \\\n b\n";
        assert_eq!(faults(fine), []);
        assert_eq!(faults("a<::b> c % d; \"\\n\\t\"; c = '\\\\';"), []);
    }
}

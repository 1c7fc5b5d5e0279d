//! The text of a body: rebuilt from the positions of its tokens, or read from a file.

use proc_macro2::{Delimiter, Ident, LineColumn, Span, TokenStream, TokenTree};

/// More lines than this between two tokens: they are not of one file (a macro put them together).
const FAR: usize = 10_000;

/// C++ text, and the way back from an offset in it to the Rust token it came from.
#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    /// The file it stands in, as `crate/relative/path`.
    pub file: String,
    /// The line of its first character, from 1.
    pub line: usize,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    /// Offset and span of every token, and the span of the whole.
    Tokens(Vec<(usize, Span)>, Span),
    /// The literal that names the file.
    File(Span),
}

impl Text {
    /// The text that `tokens` were read from, with the same lines and columns. Comments are blank: tokens do not carry them.
    pub fn from_tokens(tokens: TokenStream, whole: Span, file: String) -> Text {
        let first = tokens.clone().into_iter().next().map_or(whole, |token| open_of(&token));
        let line = first.start().line.max(1);
        let mut rebuild = Rebuild { text: String::new(), spans: Vec::new(), at: LineColumn { line, column: 0 }, glued: true };
        rebuild.stream(tokens);
        Text { text: rebuild.text, file, line, origin: Origin::Tokens(rebuild.spans, whole) }
    }

    /// The text of a file that `literal` names.
    pub fn from_file(text: String, literal: Span, file: String) -> Text {
        Text { text, file, line: 1, origin: Origin::File(literal) }
    }

    /// The Rust token at `offset`.
    pub fn span(&self, offset: usize) -> Span {
        match &self.origin {
            Origin::File(literal) => *literal,
            Origin::Tokens(spans, whole) => {
                let after = spans.partition_point(|(start, _)| *start <= offset);
                after.checked_sub(1).map_or(*whole, |i| spans[i].1)
            }
        }
    }

    /// Whether the text is a file of its own, so that a span can't point into it.
    pub fn is_file(&self) -> bool {
        matches!(self.origin, Origin::File(_))
    }
}

fn open_of(token: &TokenTree) -> Span {
    match token {
        TokenTree::Group(group) => group.span_open(),
        other => other.span(),
    }
}

struct Rebuild {
    text: String,
    spans: Vec<(usize, Span)>,
    /// Where the text ends, in the source.
    at: LineColumn,
    /// Whether the next token may stand without a space: at the start, and after the first half of `->`.
    glued: bool,
}

impl Rebuild {
    fn stream(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.put(open, group.span_open());
                    self.stream(group.stream());
                    self.put(close, group.span_close());
                }
                TokenTree::Punct(punct) => {
                    // A doc comment arrives as `#[doc = "…"]` or `#![doc = "…"]`, which is no C++: leave it blank.
                    if punct.as_char() == '#' {
                        let mut ahead = tokens.clone();
                        if matches!(ahead.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '!') {
                            ahead.next();
                        }
                        if ahead.next().is_some_and(|token| is_doc(&token)) {
                            tokens = ahead;
                            continue;
                        }
                    }
                    self.put(punct.as_char().encode_utf8(&mut [0; 4]), punct.span());
                    self.glued = punct.spacing() == proc_macro2::Spacing::Joint;
                }
                TokenTree::Ident(ident) => self.put(&ident.to_string(), ident.span()),
                TokenTree::Literal(literal) => self.put(&literal.to_string(), literal.span()),
            }
        }
    }

    fn put(&mut self, token: &str, span: Span) {
        if token.is_empty() {
            return;
        }
        self.pad(span.start());
        self.spans.push((self.text.len(), span));
        self.text.push_str(token);
        for c in token.chars() {
            if c == '\n' {
                self.at = LineColumn { line: self.at.line + 1, column: 0 };
            } else {
                self.at.column += 1;
            }
        }
        self.glued = false;
    }

    /// Fills with blanks up to `to`. Tokens without positions, or out of order, are kept apart by one blank.
    fn pad(&mut self, to: LineColumn) {
        let far = to.line.saturating_sub(self.at.line) > FAR;
        if (to.line, to.column) < (self.at.line, self.at.column) || far {
            if !self.glued {
                self.text.push(' ');
                self.at.column += 1;
            }
            return;
        }
        while self.at.line < to.line {
            self.text.push('\n');
            self.at = LineColumn { line: self.at.line + 1, column: 0 };
        }
        while self.at.column < to.column {
            self.text.push(' ');
            self.at.column += 1;
        }
    }
}

/// `[doc = "…"]`.
fn is_doc(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    let mut inner = group.stream().into_iter();
    let is_name = |token: TokenTree| matches!(token, TokenTree::Ident(name) if name == Ident::new("doc", name.span()));
    group.delimiter() == Delimiter::Bracket
        && inner.next().is_some_and(is_name)
        && matches!(inner.next(), Some(TokenTree::Punct(p)) if p.as_char() == '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebuilt(source: &str) -> Text {
        Text::from_tokens(source.parse().unwrap(), Span::call_site(), "crate/file.rs".into())
    }

    #[test]
    fn text_comes_back_as_it_was() {
        for source in [
            "dep_wait();\n  for (auto p : w.pages()) {\n\t\n    y.store(t, n, 1.0f * a->b[3] << 2);\n  }",
            "#pragma unroll\n#define TWICE(x) ((x) * 2)\nasm volatile(\"mov.u32 %0, %1;\" : \"=r\"(a) : \"r\"(b));",
            "auto s = u8\"ä\"; char c = 'x'; x = 0xFFu; y = 1e-5f; z = .5f; w = 1.f;",
            "template <class T> static T f(T a) { return a ? a : T{}; }",
        ] {
            // Tabs and blanks are the same to C++; columns count characters.
            assert_eq!(rebuilt(source).text.trim_end(), source.replace("\t\n", "\n"));
        }
    }

    #[test]
    fn comments_are_blank_and_lines_stay() {
        let text = rebuilt("/* one */ a(); // two\n/// three\n//! four\n/** five */ b();");
        assert_eq!(text.text, "          a();\n\n\n            b();");
        assert_eq!(text.line, 1);
    }

    #[test]
    fn offsets_lead_back_to_tokens() {
        let text = rebuilt("ab(\n  cd);");
        let offset = text.text.find("cd").unwrap();
        assert_eq!((text.span(offset).start().line, text.span(offset).start().column), (2, 2));
        assert_eq!(text.span(offset + 1).start(), text.span(offset).start());
    }

    #[test]
    fn tokens_without_positions_are_kept_apart() {
        let tokens: TokenStream = quote::quote!(int a = b->c(1, x <<= 2););
        let text = Text::from_tokens(tokens, Span::call_site(), String::new());
        assert_eq!(text.text, "int a = b -> c ( 1 , x <<= 2 ) ;");
    }

    #[test]
    fn nothing_is_no_failure() {
        let text = rebuilt("");
        assert_eq!((text.text.as_str(), text.line), ("", 1));
        let _ = text.span(0);
    }
}

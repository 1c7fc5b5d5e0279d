//! Steps over C++ text, character by character.

use super::lexer::Fault;

/// A position in a text.
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    /// At the start of `text`.
    pub fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0 }
    }

    /// The offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// What was read from offset `start` on.
    pub fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// The next character.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The one after it.
    pub fn second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    /// Steps over one character.
    pub fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    /// Steps over `bytes` bytes that were looked at.
    pub fn skip(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Steps over characters that fit.
    pub fn take_while(&mut self, fits: impl Fn(char) -> bool) {
        self.at += self.rest().find(|c| !fits(c)).unwrap_or(self.rest().len());
    }

    /// Steps over blanks, a comment or a continued line, and says whether there was one. Newlines are left.
    pub fn skip_blank(&mut self, faults: &mut Vec<(usize, Fault<'a>)>) -> bool {
        let start = self.at;
        self.take_while(|c| c != '\n' && c.is_whitespace());
        let rest = self.rest();
        if rest.starts_with("//") {
            self.line_comment();
        } else if let Some(inner) = rest.strip_prefix("/*") {
            match inner.find("*/") {
                Some(end) => self.at += 2 + end + 2,
                None => {
                    faults.push((self.at, Fault::Unfinished("a comment")));
                    self.at = self.text.len();
                }
            }
        } else if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") {
            faults.push((self.at, Fault::Splice));
            self.at += rest.find('\n').map_or(0, |end| end + 1);
        }
        self.at > start
    }

    /// Steps over the rest of the line, and over the next one where it is continued.
    fn line_comment(&mut self) {
        loop {
            let line = self.rest().find('\n').map_or(self.rest(), |end| &self.rest()[..end]);
            self.at += line.len();
            if !line.trim_end_matches('\r').ends_with('\\') || self.peek().is_none() {
                return;
            }
            self.bump();
        }
    }

    /// Steps over a preprocessor line with its continuations, and gives it. A comment over several lines belongs to it.
    pub fn logical_line(&mut self) -> &'a str {
        let start = self.at;
        let mut ignored = Vec::new();
        while self.peek().is_some_and(|c| c != '\n') {
            if self.skip_blank(&mut ignored) {
                continue;
            }
            match self.peek() {
                Some(quote @ ('"' | '\'')) => drop(self.quoted(quote)),
                _ => self.bump(),
            }
        }
        self.since(start)
    }

    /// Steps over a string or character up to its closing quote; says whether that is missing in its line.
    pub fn quoted(&mut self, quote: char) -> bool {
        self.bump();
        while let Some(c) = self.peek() {
            if c == '\n' {
                return true;
            }
            self.bump();
            if c == quote {
                return false;
            }
            if c == '\\' {
                self.bump();
            }
        }
        true
    }

    /// Steps over `"tag(…)tag"`; says whether its end is missing.
    pub fn raw_string(&mut self) -> bool {
        let rest = self.rest();
        let end = rest.find('(').and_then(|open| {
            let close = format!("){}\"", &rest[1..open]);
            rest[open..].find(&close).map(|end| open + end + close.len())
        });
        self.at += end.unwrap_or(rest.len());
        end.is_none()
    }

    /// Steps over a number as the preprocessor sees it: digits, letters, points, separators, and signs after an exponent.
    pub fn number(&mut self) {
        let mut before = ' ';
        while let Some(c) = self.peek() {
            let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P');
            let separator = c == '\'' && self.second().is_some_and(|next| next.is_ascii_alphanumeric());
            if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign || separator) {
                return;
            }
            before = c;
            self.bump();
        }
    }
}

//! The statements of a body: where it waits, what it touches, and how it leaves.

use super::lexer::{Kind, Token};

/// Blocks, brackets and braces within one another; the compiler's own limit is of this order.
const DEPTH: usize = 200;

/// Something a body does, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub at: usize,
    pub what: What<'a>,
}

/// What a body does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// `dep_wait(…)`, and what keeps it from the top level.
    Wait { ports: Vec<&'a str>, inside: Option<&'static str> },
    /// Names a port.
    Use(&'a str),
    /// `return` or `goto`.
    Jump(&'a str),
    /// `port.pages()`, and whether a `for (… : …)` runs over it.
    Pages { port: &'a str, looped: bool },
    /// `break`, `return` or `goto` out of a loop over pages.
    Leave(&'a str),
    /// `grid_barrier()`, and the branch or lambda it stands in.
    GridBarrier { inside: Option<&'static str> },
    /// A bracket without its other half, or far too many of them.
    Unbalanced,
}

/// Reads all statements; `ports` are the names that count as a use.
pub fn events<'a>(tokens: &[Token<'a>], ports: &[String]) -> Vec<Event<'a>> {
    let mut walk = Walk { tokens, ports, next: 0, conditionals: 0, depth: 0, looped: false, events: Vec::new() };
    let top = Context::default();
    while let Some(token) = walk.peek() {
        if token.is("}") {
            walk.unbalanced(token.at);
            walk.next += 1;
        } else {
            walk.statement(top);
        }
    }
    walk.events
}

/// Where a statement stands.
#[derive(Clone, Copy, Default)]
struct Context {
    /// A branch, loop or lambda.
    inside: Option<&'static str>,
    /// In a loop over pages, however deep.
    pages: bool,
    /// `break` leaves a loop over pages.
    breaks_pages: bool,
    /// In a lambda or a local type: `return` leaves only that.
    function: bool,
    /// In the brackets of a `for`.
    header: bool,
}

impl Context {
    fn branch(self) -> Context {
        Context { inside: self.inside.or(Some("a branch")), ..self }
    }

    fn switch(self) -> Context {
        Context { breaks_pages: false, ..self.branch() }
    }

    fn repeated(self, over_pages: bool) -> Context {
        Context { inside: self.inside.or(Some("a loop")), pages: self.pages || over_pages, breaks_pages: over_pages, ..self }
    }

    fn lambda() -> Context {
        Context { inside: Some("a lambda"), function: true, ..Context::default() }
    }
}

struct Walk<'t, 'a> {
    tokens: &'t [Token<'a>],
    ports: &'t [String],
    next: usize,
    /// `#if`s that are open.
    conditionals: usize,
    depth: usize,
    /// Whether the header just read runs over pages.
    looped: bool,
    events: Vec<Event<'a>>,
}

impl<'a> Walk<'_, 'a> {
    /// The next token; directives are counted and stepped over.
    fn peek(&mut self) -> Option<Token<'a>> {
        while let Some(token) = self.tokens.get(self.next) {
            match token.kind {
                Kind::Conditional => self.conditionals += 1,
                Kind::EndConditional => self.conditionals = self.conditionals.saturating_sub(1),
                _ => return Some(*token),
            }
            self.next += 1;
        }
        None
    }

    fn next_is(&mut self, text: &str) -> bool {
        self.peek().is_some_and(|token| token.is(text))
    }

    /// Steps over `text` if it is next.
    fn eat(&mut self, text: &str) -> bool {
        let found = self.next_is(text);
        self.next += usize::from(found);
        found
    }

    fn event(&mut self, at: usize, what: What<'a>) {
        self.events.push(Event { at, what });
    }

    fn unbalanced(&mut self, at: usize) {
        if !self.events.iter().any(|event| event.what == What::Unbalanced) {
            self.event(at, What::Unbalanced);
        }
    }

    /// One level down; gives up where there are too many.
    fn deeper(&mut self, at: usize, go: impl FnOnce(&mut Self)) {
        if self.depth == DEPTH {
            self.unbalanced(at);
            self.next = self.tokens.len();
            return;
        }
        self.depth += 1;
        go(self);
        self.depth -= 1;
    }

    /// The statements up to `}`; `open` is where the block starts.
    fn block(&mut self, open: usize, context: Context) {
        self.deeper(open, |walk| {
            loop {
                match walk.peek() {
                    None => return walk.unbalanced(open),
                    Some(token) if token.is("}") => {
                        walk.next += 1;
                        return;
                    }
                    Some(_) => walk.statement(context),
                }
            }
        });
    }

    /// One statement. Always steps over at least one token, but for a `}`, which belongs to the block around.
    fn statement(&mut self, context: Context) {
        let Some(token) = self.peek() else { return };
        let word = if matches!(token.kind, Kind::Word | Kind::Punct) { token.text } else { "" };
        match word {
            "{" => {
                self.next += 1;
                self.block(token.at, context);
            }
            ";" | "else" | "try" => self.next += 1,
            "if" | "switch" | "catch" | "for" | "while" | "do" => self.deeper(token.at, |walk| walk.control(word, context)),
            "case" => {
                while self.peek().is_some_and(|t| !t.is(":") && !t.is(";") && !t.is("{") && !t.is("}")) {
                    self.next += 1;
                }
                self.eat(":");
            }
            "return" | "goto" | "break" => {
                self.jump(token, context);
                self.next += 1;
                self.expression(context);
            }
            _ => {
                let after = self.tokens.get(self.next + 1);
                if token.kind == Kind::Word && after.is_some_and(|t| t.is(":")) {
                    // A label.
                    self.next += 2;
                } else {
                    self.expression(Context { header: false, ..context });
                }
            }
        }
    }

    /// A branch or loop, at its first word.
    fn control(&mut self, word: &str, context: Context) {
        self.next += 1;
        self.looped = false;
        let body = match word {
            "do" => {
                self.statement(context.repeated(false));
                if self.eat("while") {
                    self.brackets(context);
                }
                return;
            }
            "for" => {
                self.brackets(Context { header: true, ..context });
                context.repeated(std::mem::take(&mut self.looped))
            }
            "while" => {
                self.brackets(context);
                context.repeated(false)
            }
            "switch" => {
                self.brackets(context);
                context.switch()
            }
            _ => {
                let _ = self.eat("constexpr") || self.eat("consteval");
                self.brackets(context);
                context.branch()
            }
        };
        self.statement(body);
        if word == "if" && self.eat("else") {
            self.statement(body);
        }
    }

    fn jump(&mut self, token: Token<'a>, context: Context) {
        let leaves = if token.text == "break" { context.breaks_pages } else { context.pages };
        if leaves {
            self.event(token.at, What::Leave(token.text));
        }
        if token.text != "break" && !context.function {
            self.event(token.at, What::Jump(token.text));
        }
    }

    /// `( … )` if it is next.
    fn brackets(&mut self, context: Context) {
        if let Some(open) = self.peek()
            && open.is("(")
        {
            self.next += 1;
            self.group(open.at, ")", context);
        }
    }

    /// Tokens up to `close`.
    fn group(&mut self, open: usize, close: &str, context: Context) {
        self.deeper(open, |walk| {
            while let Some(token) = walk.peek() {
                if token.is(close) {
                    walk.next += 1;
                    return;
                }
                if token.is("}") || token.is(")") || token.is("]") {
                    break;
                }
                walk.part(token, context, false);
            }
            walk.unbalanced(open);
        });
    }

    /// An expression or declaration up to its `;`, which is missing in the header of a loop and at the end of a body.
    fn expression(&mut self, context: Context) {
        let mut first = true;
        while let Some(token) = self.peek() {
            if token.is("}") {
                return;
            }
            if token.is(")") || token.is("]") {
                self.unbalanced(token.at);
            }
            self.part(token, context, first);
            first = false;
            if token.is(";") {
                return;
            }
        }
    }

    /// One token of an expression, with all that stands in its brackets; `first` if it begins a statement.
    fn part(&mut self, token: Token<'a>, context: Context, first: bool) {
        let before = self.next.checked_sub(1).map(|i| self.tokens[i]);
        self.next += 1;
        if token.is("(") || token.is("[") {
            let close = if token.is("(") { ")" } else { "]" };
            self.group(token.at, close, Context { header: false, ..context });
        } else if token.is("{") {
            // `({ … })` runs in place; every other brace is a lambda, a local type or a list of values.
            let in_place = before.is_some_and(|t| t.is("("));
            let inner = if in_place {
                Context { inside: context.inside.or(Some("an expression")), ..context }
            } else {
                Context::lambda()
            };
            self.block(token.at, inner);
        } else if token.kind == Kind::Word {
            self.word(token, before, context, first);
        }
    }

    fn word(&mut self, token: Token<'a>, before: Option<Token<'a>>, context: Context, first: bool) {
        if before.is_some_and(|t| t.is(".") || t.is("->")) {
            return;
        }
        let conditional = (self.conditionals > 0).then_some("an `#if`");
        let inside = context.inside.or(conditional);
        match token.text {
            "dep_wait" => {
                let ports = self.arguments();
                let alone = first && self.peek().is_none_or(|t| t.is(";"));
                self.event(token.at, What::Wait { ports, inside: inside.or((!alone).then_some("an expression")) });
            }
            "grid_barrier" => {
                // All workers run the same loops; a branch or a lambda may be for some of them only.
                self.event(token.at, What::GridBarrier { inside: inside.filter(|place| *place != "a loop") });
            }
            name if self.ports.iter().any(|port| port == name) && before.is_none_or(|t| !t.is("::")) => {
                self.named(token, before, context)
            }
            _ => {}
        }
    }

    /// The words in the brackets after `dep_wait`, which name ports without using them.
    fn arguments(&mut self) -> Vec<&'a str> {
        let mut words = Vec::new();
        if self.eat("(") {
            while let Some(token) = self.peek() {
                if token.is(";") || token.is("}") || self.eat(")") {
                    break;
                }
                self.next += 1;
                if token.kind == Kind::Word {
                    words.push(token.text);
                }
            }
        }
        words
    }

    fn named(&mut self, token: Token<'a>, before: Option<Token<'a>>, context: Context) {
        self.event(token.at, What::Use(token.text));
        let ahead: Vec<_> = self.tokens[self.next..].iter().take(3).collect();
        if let [dot, name, open] = ahead[..]
            && dot.is(".")
            && name.is("pages")
            && open.is("(")
        {
            let looped = context.header && before.is_some_and(|t| t.is(":"));
            self.looped |= looped;
            self.event(token.at, What::Pages { port: token.text, looped });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn of(source: &str) -> Vec<String> {
        let ports = ["x".to_string(), "w".to_string(), "y".to_string()];
        events(&lex(source).tokens, &ports)
            .into_iter()
            .map(|event| match event.what {
                What::Wait { ports, inside } => format!("wait({}) {}", ports.join(","), inside.unwrap_or("top")),
                What::Use(port) => port.to_string(),
                What::Jump(word) => word.to_string(),
                What::Pages { port, looped } => format!("{port}.pages {looped}"),
                What::Leave(word) => format!("leave {word}"),
                What::GridBarrier { inside } => format!("grid {}", inside.unwrap_or("top")),
                What::Unbalanced => "unbalanced".to_string(),
            })
            .collect()
    }

    #[test]
    fn waits_know_where_they_stand() {
        assert_eq!(of("{ dep_wait(); } dep_wait(x)"), ["wait() top", "wait(x) top"]);
        assert_eq!(of("if (a) dep_wait(); else { dep_wait(x); }"), ["wait() a branch", "wait(x) a branch"]);
        assert_eq!(of("for (;;) { dep_wait(); }"), ["wait() a loop"]);
        assert_eq!(of("do dep_wait(); while (a); dep_wait();"), ["wait() a loop", "wait() top"]);
        assert_eq!(of("switch (a) { case 1: dep_wait(); default: dep_wait(); }"), ["wait() a branch", "wait() a branch"]);
        assert_eq!(of("auto f = [&](int a) -> int { dep_wait(); return 1; }; dep_wait();"), ["wait() a lambda", "wait() top"]);
        assert_eq!(of("a ? b : dep_wait(); int b = (dep_wait(), 1);"), ["wait() an expression", "wait() an expression"]);
        assert_eq!(of("#if A\ndep_wait();\n#endif\ndep_wait();"), ["wait() an `#if`", "wait() top"]);
        assert_eq!(of("mine: dep_wait();"), ["wait() top"]);
    }

    #[test]
    fn members_are_no_ports() {
        assert_eq!(of("float4 v; v.x = p->y + a::w; x.at(0, 1); y.store(x.y);"), ["x", "y", "x"]);
    }

    #[test]
    fn pages_are_left_only_at_their_end() {
        assert_eq!(of("for (auto p : w.pages()) { if (a) break; }"), ["w", "w.pages true", "leave break"]);
        assert_eq!(
            of("for (auto p : w.pages()) { for (;;) break; switch (a) { default: break; } continue; }"),
            ["w", "w.pages true"]
        );
        assert_eq!(of("for (auto p : w.pages()) for (;;) goto out;"), ["w", "w.pages true", "leave goto", "goto"]);
        assert_eq!(of("for (auto p : w.pages()) { auto f = [] { return 1; }; } return;"), ["w", "w.pages true", "return"]);
        assert_eq!(of("auto it = w.pages().begin(); for (;;) break;"), ["w", "w.pages false"]);
    }

    #[test]
    fn any_text_has_statements() {
        for source in [
            "",
            "}",
            "{",
            ")",
            "for",
            "for (",
            "if",
            "if ()",
            "do",
            "case",
            "a[",
            "f(}",
            "x.",
            "dep_wait(",
            "else else",
            "return",
        ] {
            of(source);
        }
        assert_eq!(of("} }"), ["unbalanced"]);
        assert!(of(&"({".repeat(100_000)).contains(&"unbalanced".to_string()));
        assert!(of(&"if (a) ".repeat(100_000)).contains(&"unbalanced".to_string()));
    }
}

//! The statements of a body: where it waits, what it touches, and how it leaves.

#[cfg(test)]
mod tests;

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
    /// Names a port, and a member of it.
    Use { port: &'a str, member: Option<&'a str> },
    /// `return` out of the body.
    Return,
    /// `port.pages()` in a `for (… : …)`, and what keeps the loop from the top level.
    Pages { port: &'a str, inside: Option<&'static str> },
    /// `.pages()` of something else, or elsewhere.
    LoosePages,
    /// `break` or `return` out of a loop over pages.
    Leave(&'a str),
    /// `grid_barrier()`, and what keeps some workers from it.
    GridBarrier { inside: Option<&'static str> },
    /// A loop that does nothing but ask.
    Spin,
    /// A bracket without its other half, or far too many of them.
    Unbalanced,
}

/// Reads all statements; `ports` are the names that count as a use, `matrices` those of them that have pages.
pub fn events<'a>(tokens: &[Token<'a>], ports: &[String], matrices: &[String]) -> Vec<Event<'a>> {
    let mut walk = Walk { tokens, ports, matrices, next: 0, conditionals: 0, depth: 0, looped: false, events: Vec::new() };
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
    /// The outermost branch, loop, lambda or expression around.
    inside: Option<&'static str>,
    /// The same without loops, which all workers run alike.
    split: Option<&'static str>,
    /// In a loop over pages, however deep.
    pages: bool,
    /// `break` leaves a loop over pages.
    breaks_pages: bool,
    /// In a lambda or a local type: `return` leaves only that.
    function: bool,
    /// In a local type, whose members have names of their own and no ports.
    local_type: bool,
    /// In the brackets of a `for`, which start at this token.
    header: Option<usize>,
}

impl Context {
    fn within(self, place: &'static str) -> Context {
        Context { inside: self.inside.or(Some(place)), split: self.split.or(Some(place)), ..self }
    }

    fn branch(self) -> Context {
        self.within("a branch")
    }

    fn switch(self) -> Context {
        Context { breaks_pages: false, ..self.branch() }
    }

    fn repeated(self, over_pages: bool) -> Context {
        Context { inside: self.inside.or(Some("a loop")), pages: self.pages || over_pages, breaks_pages: over_pages, ..self }
    }

    fn lambda(self) -> Context {
        Context { function: true, local_type: self.local_type, ..Context::default().within("a lambda") }
    }

    fn local_type(self) -> Context {
        Context { local_type: true, ..self.lambda() }
    }
}

/// What an expression has said so far of the next brace in it.
#[derive(Default)]
struct Said {
    /// The list of captures of a lambda.
    captures: bool,
    /// `struct` or its like.
    local_type: bool,
}

struct Walk<'t, 'a> {
    tokens: &'t [Token<'a>],
    ports: &'t [String],
    matrices: &'t [String],
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

    /// Whether the token `ahead` of the next one is `text`.
    fn ahead_is(&self, ahead: usize, text: &str) -> bool {
        self.tokens.get(self.next + ahead).is_some_and(|token| token.is(text))
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
        while self.prefix() {}
        let Some(token) = self.peek() else { return };
        match if is_name_or_sign(&token) { token.text } else { "" } {
            "}" => {}
            "{" => {
                self.next += 1;
                self.block(token.at, context);
            }
            ";" => self.next += 1,
            "else" => {
                self.next += 1;
                self.deeper(token.at, |walk| walk.statement(context.branch()));
            }
            word @ ("if" | "switch" | "catch" | "for" | "while" | "do") => {
                self.deeper(token.at, |walk| walk.control(word, context));
            }
            "return" | "break" => {
                self.jump(token, context);
                self.next += 1;
                self.expression(context, false);
            }
            _ => self.expression(Context { header: None, ..context }, true),
        }
    }

    /// Steps over what may stand before a statement: a label, a `case`, an attribute, a pragma.
    fn prefix(&mut self) -> bool {
        let Some(token) = self.peek() else { return false };
        if token.is("try") {
            self.next += 1;
        } else if token.is("case") {
            while self.peek().is_some_and(|t| !t.is(":") && !t.is(";") && !t.is("{") && !t.is("}")) {
                self.next += 1;
            }
            self.eat(":");
        } else if token.kind == Kind::Word && self.ahead_is(1, ":") {
            self.next += 2;
        } else {
            return self.attribute(token);
        }
        true
    }

    /// Steps over `[[…]]`, `__attribute__((…))` or `_Pragma(…)`, if it is next.
    fn attribute(&mut self, token: Token<'a>) -> bool {
        let start = match token.text {
            "[" if self.ahead_is(1, "[") => self.next,
            "__attribute__" | "_Pragma" | "__pragma" if self.ahead_is(1, "(") => self.next + 1,
            _ => return false,
        };
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(start) {
            if token.is("[") || token.is("(") {
                depth += 1;
            } else if token.is("]") || token.is(")") {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                self.next = i + 1;
                return true;
            }
        }
        false
    }

    /// A branch or loop, at its first word.
    fn control(&mut self, word: &str, context: Context) {
        let start = self.next;
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
                self.brackets(Context { header: Some(self.next + 1), ..context });
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
        let header = self.next;
        self.statement(body);
        if matches!(word, "for" | "while") && self.waits(start, header) {
            self.event(self.tokens[start].at, What::Spin);
        }
        if word == "if" && self.eat("else") {
            self.statement(body);
        }
    }

    /// Whether a loop, whose body is from `body` up to here, changes nothing that it asks for.
    fn waits(&self, start: usize, body: usize) -> bool {
        const IDLE: [&str; 6] = ["__nanosleep", "__threadfence", "__threadfence_block", "__syncwarp", "_Pragma", "continue"];
        let changes = |t: &Token<'_>| t.kind == Kind::Punct && (t.is("++") || t.is("--") || is_assignment(t.text));
        let ranged = self.tokens[start..body].iter().any(|t| t.is(":"));
        let idle = |t: &Token<'_>| t.kind != Kind::Word || IDLE.contains(&t.text);
        !ranged && !self.tokens[start..self.next].iter().any(changes) && self.tokens[body..self.next].iter().all(idle)
    }

    fn jump(&mut self, token: Token<'a>, context: Context) {
        let leaves = if token.text == "break" { context.breaks_pages } else { context.pages };
        if leaves {
            self.event(token.at, What::Leave(token.text));
        }
        if token.text == "return" && !context.function {
            self.event(token.at, What::Return);
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
            let mut said = Said::default();
            while let Some(token) = walk.peek() {
                if token.is(close) {
                    walk.next += 1;
                    return;
                }
                if token.is("}") || token.is(")") || token.is("]") {
                    break;
                }
                walk.part(token, context, false, &mut said);
            }
            walk.unbalanced(open);
        });
    }

    /// An expression or declaration up to its `;`, which is missing in the header of a loop and at the end of a body. It may be the
    /// `whole` of a statement.
    fn expression(&mut self, context: Context, whole: bool) {
        let mut first = true;
        let mut said = Said::default();
        while let Some(token) = self.peek() {
            // A word before a control word is an attribute by a name that is not known here.
            if token.is("}") || (!first && is_control(&token)) {
                return;
            }
            if token.is(")") || token.is("]") {
                self.unbalanced(token.at);
            }
            self.part(token, context, first && whole, &mut said);
            first = false;
            if token.is(";") {
                return;
            }
        }
    }

    /// One token of an expression, with all that stands in its brackets; `first` if it begins a statement.
    fn part(&mut self, token: Token<'a>, context: Context, first: bool, said: &mut Said) {
        if self.attribute(token) {
            return;
        }
        let before = self.next.checked_sub(1).map(|i| self.tokens[i]);
        self.next += 1;
        if token.is("(") || token.is("[") {
            said.captures |= token.is("[") && (first || !before.is_some_and(|t| is_operand(&t)));
            let close = if token.is("(") { ")" } else { "]" };
            self.group(token.at, close, Context { header: None, ..context });
        } else if token.is("{") {
            // Every other brace runs in place, as far as can be seen: `({ … })`, or a list of values.
            let inner = match *said {
                Said { captures: true, .. } => context.lambda(),
                Said { local_type: true, .. } => context.local_type(),
                _ => context.within("an expression"),
            };
            *said = Said::default();
            self.block(token.at, inner);
        } else if token.kind == Kind::Word {
            said.local_type |= matches!(token.text, "struct" | "class" | "union" | "enum");
            self.word(token, before, context, first);
        }
    }

    fn word(&mut self, token: Token<'a>, before: Option<Token<'a>>, context: Context, first: bool) {
        let member = before.is_some_and(|t| t.is(".") || t.is("->"));
        let qualified = before.is_some_and(|t| t.is("::") || t.is("template"));
        if token.text == "pages" && (member || qualified) {
            self.event(token.at, What::LoosePages);
        }
        if member {
            return;
        }
        let conditional = (self.conditionals > 0).then_some("an `#if`");
        match token.text {
            "dep_wait" => {
                let ports = self.arguments();
                let inside = context.inside.or(conditional).or(self.part_of_more(first));
                self.event(token.at, What::Wait { ports, inside });
            }
            "grid_barrier" => {
                self.arguments();
                let inside = context.split.or(conditional).or(self.part_of_more(first));
                self.event(token.at, What::GridBarrier { inside });
            }
            name if self.ports.iter().any(|port| port == name) && !qualified && !context.local_type => {
                self.named(token, before, context, conditional);
            }
            _ => {}
        }
    }

    /// Whether a call that has just been read is not a statement of its own.
    fn part_of_more(&mut self, first: bool) -> Option<&'static str> {
        let alone = first && self.peek().is_none_or(|t| t.is(";") || t.is("}"));
        (!alone).then_some("an expression")
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

    fn named(&mut self, token: Token<'a>, before: Option<Token<'a>>, context: Context, conditional: Option<&'static str>) {
        let dotted = self.ahead_is(0, ".");
        let member = self.tokens.get(self.next + 1 + usize::from(self.ahead_is(1, "template")));
        let member = member.filter(|name| dotted && name.kind == Kind::Word).map(|name| name.text);
        self.event(token.at, What::Use { port: token.text, member });
        // The range of a `for`, whole: no part of an expression in it, nor of an ordinary loop.
        let is_range = |start: usize| !self.tokens[start..self.next].iter().any(|t| t.is(";") || t.is("?"));
        let ends = dotted && self.ahead_is(1, "pages") && self.ahead_is(2, "(") && self.ahead_is(3, ")") && self.ahead_is(4, ")");
        if ends
            && before.is_some_and(|t| t.is(":"))
            && context.header.is_some_and(is_range)
            && self.matrices.iter().any(|port| port == token.text)
        {
            self.looped = true;
            self.event(token.at, What::Pages { port: token.text, inside: context.inside.or(conditional) });
            self.next += 4;
        }
    }
}

fn is_name_or_sign(token: &Token<'_>) -> bool {
    matches!(token.kind, Kind::Word | Kind::Punct)
}

/// Whether an operator gives its left side a value.
pub fn is_assignment(sign: &str) -> bool {
    sign.ends_with('=') && !["==", "!=", "<=", ">=", "<=>"].contains(&sign)
}

/// Whether a statement begins with this word, wherever it stands.
fn is_control(token: &Token<'_>) -> bool {
    let words = ["if", "switch", "for", "while", "do", "return", "break", "case", "else"];
    token.kind == Kind::Word && words.contains(&token.text)
}

/// Whether `[` after this token is an index.
fn is_operand(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Word => !matches!(token.text, "return" | "case" | "else" | "do"),
        Kind::Punct => token.is(")") || token.is("]") || token.is("}"),
        _ => true,
    }
}

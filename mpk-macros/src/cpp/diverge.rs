//! Barriers that not all threads come by alike: MPK-E0112.
//!
//! A value differs from thread to thread if what it is made of does: the thread's own index, activations, states and scratch. So do
//! branches and loops over it, what is assigned in them, and all that comes after a jump out of them. Names are those of C++, by
//! block; the body is walked until nothing new differs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::checker::Finding;
use super::lexer::{Kind, Token};
use super::structure::is_assignment;
use super::team::Team;

/// Walks at most: each finds something new, few bodies need more than three.
const WALKS: usize = 64;

/// Judges a body whose brackets fit; `varying` are the ports and regions whose values may differ.
pub fn check(tokens: &[Token<'_>], varying: &[String], findings: &mut Vec<Finding>) {
    for team in [Team::Threads, Team::Lanes] {
        if !tokens.iter().any(|token| team.barriers().iter().any(|name| token.is(name))) {
            continue;
        }
        let mut walk = Walk { tokens, varying, team, ..Walk::default() };
        for _ in 0..WALKS {
            let known = walk.known();
            walk.body();
            if walk.known() == known {
                break;
            }
        }
        for (at, (name, why)) in &walk.found {
            // One error for what is wrong with its place anyway.
            if !findings.iter().any(|finding| finding.at == Some(*at)) {
                findings.push(Finding::at(*at, team.problem(name, why)));
            }
        }
    }
}

/// The name by which something differs from thread to thread.
type Why<'a> = Option<&'a str>;

#[derive(Default)]
struct Walk<'t, 'a> {
    tokens: &'t [Token<'a>],
    varying: &'t [String],
    team: Team,
    /// Names in scope, each with the token that declares it, which is what it is known by.
    names: Vec<(&'a str, usize)>,
    /// Variables that differ.
    differ: BTreeMap<usize, &'a str>,
    /// Loops that threads leave at different times, by their first token.
    left: BTreeMap<usize, &'a str>,
    /// Lambdas that come by a barrier.
    joins: BTreeSet<usize>,
    /// The parameters of lambdas.
    parameters: BTreeMap<usize, Vec<usize>>,
    /// Loops around, and `None` for a `switch`.
    around: Vec<Option<usize>>,
    /// Some threads have left the function before.
    returned: Why<'a>,
    /// Some threads have left this turn of the loop before.
    skipped: Why<'a>,
    /// Whether a barrier has been met.
    met: bool,
    /// Barriers by offset.
    found: BTreeMap<usize, (&'a str, &'a str)>,
}

impl<'a> Walk<'_, 'a> {
    fn known(&self) -> usize {
        self.differ.len() + self.left.len() + self.joins.len() + self.parameters.len()
    }

    fn body(&mut self) {
        self.names.clear();
        (self.returned, self.skipped) = (None, None);
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.statement(at, None);
        }
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn word(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).filter(|token| token.kind == Kind::Word).map(|token| token.text)
    }

    /// The token after the bracket that closes the one at `at`.
    fn after(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(at) {
            depth += usize::from(["(", "[", "{"].iter().any(|open| token.is(open)));
            if [")", "]", "}"].iter().any(|close| token.is(close)) {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
        }
        self.tokens.len()
    }

    /// The first of `signs` from `at` on that stands in no bracket, before `end`.
    fn find(&self, at: usize, end: usize, signs: &[&str]) -> Option<usize> {
        let mut at = at;
        while at < end {
            if signs.iter().any(|sign| self.is(at, sign)) {
                return Some(at);
            }
            at = if ["(", "[", "{"].iter().any(|open| self.is(at, open)) { self.after(at) } else { at + 1 };
        }
        None
    }

    /// Why threads come differently to where `inside` is what the branches around depend on.
    fn here(&self, inside: Why<'a>) -> Why<'a> {
        inside.or(self.skipped).or(self.returned)
    }

    /// Walks the statement at `at`, and gives where the next one is.
    fn statement(&mut self, at: usize, inside: Why<'a>) -> usize {
        let at = self.prefix(at);
        let scope = self.names.len();
        let next = match self.word(at).or_else(|| self.tokens.get(at).filter(|t| t.kind == Kind::Punct).map(|t| t.text)) {
            None if at >= self.tokens.len() => at,
            Some("{") => self.block(at, inside),
            Some("}" | ";" | "else" | "try") => at + 1,
            Some("if" | "switch") => self.branch(at, inside),
            Some("for" | "while" | "do") => self.repeat(at, inside),
            Some(jump @ ("return" | "break" | "continue")) => {
                self.jump(jump, inside);
                self.expression(at + 1, inside)
            }
            _ => return self.expression(at, inside),
        };
        self.names.truncate(scope);
        next
    }

    /// Steps over attributes, pragmas, labels and what `#if` leaves.
    fn prefix(&self, mut at: usize) -> usize {
        loop {
            at = match self.tokens.get(at) {
                Some(token) if matches!(token.kind, Kind::Conditional | Kind::EndConditional) => at + 1,
                Some(token) if token.is("[") && self.is(at + 1, "[") => self.after(at),
                Some(token) if ["_Pragma", "__pragma", "__attribute__"].contains(&token.text) => self.after(at + 1),
                Some(token) if token.is("case") => {
                    self.find(at, self.tokens.len(), &[":", ";"]).map_or(self.tokens.len(), |i| i + 1)
                }
                Some(token) if token.kind == Kind::Word && self.is(at + 1, ":") => at + 2,
                _ => return at,
            };
        }
    }

    /// `{ … }`.
    fn block(&mut self, open: usize, inside: Why<'a>) -> usize {
        let (scope, end) = (self.names.len(), self.after(open));
        let mut at = open + 1;
        while at + 1 < end {
            at = self.statement(at, inside);
        }
        self.names.truncate(scope);
        end
    }

    fn branch(&mut self, at: usize, inside: Why<'a>) -> usize {
        let switch = self.is(at, "switch");
        let open = at + 1 + usize::from(self.is(at + 1, "constexpr"));
        let close = self.after(open);
        let inner = self.here(inside).or(self.value(open + 1, close - 1, inside));
        let skipped = self.skipped;
        if switch {
            self.around.push(None);
        }
        let mut next = self.statement(close, inner);
        if !switch && self.is(next, "else") {
            next = self.statement(next + 1, inner);
        }
        if switch {
            self.around.pop();
            self.skipped = skipped;
        }
        next
    }

    fn repeat(&mut self, at: usize, inside: Why<'a>) -> usize {
        let skipped = self.skipped;
        let inside = self.here(inside).or(self.left.get(&at).copied());
        self.around.push(Some(at));
        self.skipped = None;
        let next = if self.is(at, "do") {
            let next = self.statement(at + 1, inside);
            let close = self.after(next + 1);
            self.skipped = None;
            if let Some(why) = self.value(next + 2, close - 1, inside) {
                self.left.insert(at, why);
            }
            close
        } else {
            let (open, close) = (at + 1, self.after(at + 1));
            let end = close - 1;
            let signs: Vec<usize> =
                std::iter::successors(self.find(open + 1, end, &[";"]), |i| self.find(i + 1, end, &[";"])).collect();
            match signs[..] {
                [first, second] => {
                    self.value(open + 1, first, inside);
                    let inner = inside.or(self.value(first + 1, second, inside));
                    let next = self.statement(close, inner);
                    // Who has left this turn takes the step too.
                    self.skipped = None;
                    self.value(second + 1, end, inner);
                    next
                }
                _ => {
                    let range = self.find(open + 1, end, &[":"]).filter(|_| self.is(at, "for"));
                    let why = self.value(range.map_or(open, |colon| colon) + 1, end, inside);
                    match range {
                        Some(colon) => {
                            for i in open + 1..colon {
                                self.declare(i, why.or(inside));
                            }
                            self.statement(close, inside)
                        }
                        None => self.statement(close, inside.or(why)),
                    }
                }
            }
        };
        self.around.pop();
        self.skipped = skipped;
        next
    }

    fn jump(&mut self, word: &str, inside: Why<'a>) {
        let Some(why) = self.here(inside) else { return };
        match word {
            "return" => {
                self.returned = Some(why);
                self.left.extend(self.around.iter().flatten().map(|at| (*at, why)));
            }
            "break" => self.left.extend(self.around.last().into_iter().flatten().map(|at| (*at, why))),
            _ => {}
        }
        self.skipped = self.skipped.or(Some(why));
    }

    /// An expression or declaration up to its `;`, or up to a word that begins a statement.
    fn expression(&mut self, at: usize, inside: Why<'a>) -> usize {
        let control = ["if", "switch", "for", "while", "do", "return", "break", "continue", "case", "else"];
        let signs = [&control[..], &[";", "}", ")", "]"]].concat();
        let end = self.find(at, self.tokens.len(), &signs).unwrap_or(self.tokens.len());
        self.value(at, end, inside);
        match self.word(end) {
            // It belongs to the same statement: what stood before it was an attribute by a name that is not known here.
            Some(word) if end > at && word != "else" => self.statement(end, inside),
            _ if self.is(end, "}") => end.max(at),
            _ => end + 1,
        }
    }

    /// Walks the tokens of an expression or declaration, and says whether its value differs.
    fn value(&mut self, at: usize, end: usize, inside: Why<'a>) -> Why<'a> {
        let mut all = None;
        let mut declares = false;
        let mut start = at;
        while start < end {
            let stop = self.find(start, end, &[","]).unwrap_or(end);
            let why = self.mentioned(start, stop);
            all = all.or(why);
            let why = why.or(self.here(inside));
            let targets = self.targets(start, stop, &mut declares);
            for (target, new) in &targets {
                if *new { self.declare(*target, why) } else { self.assign(*target, why) }
            }
            let owner = targets.first().and_then(|(target, _)| self.declared(self.tokens[*target].text));
            self.visit(start, stop, inside, owner);
            start = stop + 1;
        }
        all
    }

    /// Why the value of these tokens differs.
    fn mentioned(&self, at: usize, end: usize) -> Why<'a> {
        (at..end).find_map(|i| {
            // The size of something is the same whatever it holds.
            let sized = i > 1 && self.is(i - 1, "(") && self.is(i - 2, "sizeof");
            let name = self.word(i).filter(|_| !self.is_member(i) && !sized)?;
            // The index of the warp.
            let warp = name == "role_warp"
                || (name == "role_thread" && self.is(i + 3, "/") && self.tokens.get(i + 4).is_some_and(|t| t.text == "32"));
            if warp && self.team == Team::Lanes {
                return None;
            }
            if ["role_thread", "role_warp", "lane", "asm", "clock", "clock64", "__activemask"].contains(&name)
                || name.starts_with("atomic")
            {
                return Some(name);
            }
            match self.declared(name) {
                Some(declared) => self.differ.contains_key(&declared).then_some(name),
                // What a warp loads by the same index is the same.
                None => (self.team == Team::Threads && self.varying.iter().any(|port| port == name)).then_some(name),
            }
        })
    }

    fn is_member(&self, at: usize) -> bool {
        at > 0 && (self.is(at - 1, ".") || self.is(at - 1, "->") || self.is(at - 1, "::"))
    }

    fn declared(&self, name: &str) -> Option<usize> {
        self.names.iter().rev().find(|(other, _)| *other == name).map(|(_, at)| *at)
    }

    fn declare(&mut self, at: usize, why: Why<'a>) {
        if let Some(name) = self.word(at) {
            self.names.push((name, at));
            self.differ.extend(why.map(|why| (at, why)));
        }
    }

    fn assign(&mut self, at: usize, why: Why<'a>) {
        match self.word(at).and_then(|name| self.declared(name)) {
            Some(declared) => drop(why.map(|why| self.differ.entry(declared).or_insert(why))),
            None => self.declare(at, why),
        }
    }

    /// The tokens of the names that a piece of a statement declares or assigns, and whether they are new.
    fn targets(&self, start: usize, end: usize, declares: &mut bool) -> Vec<(usize, bool)> {
        let assembly = (start..end).any(|i| self.is(i, "asm"));
        if assembly {
            return (start..end).filter(|i| self.word(*i).is_some()).map(|i| (i, false)).collect();
        }
        if *declares {
            return (start..end).find(|i| self.word(*i).is_some()).map(|i| (i, true)).into_iter().collect();
        }
        let ends_type = |i: usize| i >= start && (self.word(i).is_some() || self.is(i, ">"));
        let typed = |i: usize| {
            i > start && (ends_type(i - 1) || (i > start + 1 && (self.is(i - 1, "&") || self.is(i - 1, "*")) && ends_type(i - 2)))
        };
        let mut found = Vec::new();
        let mut at = start;
        while at < end {
            let sign = self.tokens[at].text;
            let opens = ["(", "[", "{"].contains(&sign);
            let assigns = is_assignment(sign);
            let steps = sign == "++" || sign == "--";
            if found.is_empty()
                && self.word(at).is_some()
                && typed(at)
                && (at + 1 == end || ["(", "[", "{", "="].iter().any(|s| self.is(at + 1, s)))
            {
                *declares = true;
                found.push((at, true));
            } else if found.is_empty()
                && sign == "["
                && at > start
                && (self.is(at - 1, "auto") || (at > start + 1 && self.is(at - 2, "auto")))
            {
                // `auto [a, b] = …`.
                found.extend((at + 1..self.after(at) - 1).filter(|i| self.word(*i).is_some()).map(|i| (i, true)));
            } else if (assigns || steps) && !*declares {
                let target = if steps && self.word(at + 1).is_some() { Some(at + 1) } else { self.base(start, at) };
                found.extend(target.map(|target| (target, false)));
            }
            at = if opens { self.after(at) } else { at + 1 };
        }
        found
    }

    /// The name at the left of `at`, without its indices and members.
    fn base(&self, start: usize, at: usize) -> Option<usize> {
        let mut at = at;
        let mut depth = 0usize;
        while at > start {
            at -= 1;
            depth += usize::from(self.is(at, "]") || self.is(at, ")"));
            if self.is(at, "[") || self.is(at, "(") {
                depth = depth.saturating_sub(1);
            } else if depth == 0 && self.word(at).is_some() && !self.is_member(at) {
                return Some(at);
            }
        }
        None
    }

    /// Looks for barriers and lambdas in a piece of a statement; `owner` is the variable that it gives a value to.
    fn visit(&mut self, start: usize, end: usize, inside: Why<'a>, owner: Option<usize>) {
        let mut at = start;
        while at < end {
            let operand = at > start && (self.word(at - 1).is_some() || self.is(at - 1, ")") || self.is(at - 1, "]"));
            if self.is(at, "[") && !operand {
                at = self.lambda(at, end, inside, owner);
                continue;
            }
            if self.is(at, "{") {
                at = self.function(at, &[], inside);
                continue;
            }
            if let Some(name) = self.word(at).filter(|_| !self.is_member(at)) {
                let declared = self.declared(name);
                if let Some(parameters) = declared.and_then(|declared| self.parameters.get(&declared)).cloned()
                    && let Some(why) = self.mentioned(at + 1, if self.is(at + 1, "(") { self.after(at + 1) } else { at + 1 })
                {
                    self.differ.extend(parameters.into_iter().map(|parameter| (parameter, why)));
                }
                if declared.map_or_else(|| self.is_barrier(at, name), |declared| self.joins.contains(&declared)) {
                    self.met = true;
                    let chosen = (start..at).any(|i| ["?", "&&", "||"].iter().any(|sign| self.is(i, sign)));
                    let why = self.here(inside).or(if chosen { self.mentioned(start, at) } else { None });
                    self.found.extend(why.map(|why| (self.tokens[at].at, (name, why))));
                }
            }
            at += 1;
        }
    }

    /// Whether the name at `at` is that of a barrier. One that says which lanes it waits for is left to the author.
    fn is_barrier(&self, at: usize, name: &str) -> bool {
        let masked = match name {
            "__syncwarp" => !self.is(at + 2, ")"),
            _ => name.starts_with("__shfl") && !self.is(at + 2, "ALL_LANES"),
        };
        self.team.barriers().contains(&name) && !masked
    }

    /// `[captures](parameters) { … }`, or an index.
    fn lambda(&mut self, open: usize, end: usize, inside: Why<'a>, owner: Option<usize>) -> usize {
        let mut at = self.after(open);
        let mut parameters = Vec::new();
        if self.is(at, "(") {
            let close = self.after(at);
            parameters
                .extend((at + 1..close - 1).filter(|i| self.word(*i).is_some() && (self.is(i + 1, ",") || self.is(i + 1, ")"))));
            at = close;
        }
        let Some(body) = self.find(at, end, &["{"]) else { return at };
        match owner {
            // What they are is known where it is called.
            Some(owner) => drop(self.parameters.insert(owner, parameters.clone())),
            None => self.differ.extend(parameters.iter().map(|i| (*i, self.tokens[*i].text))),
        }
        let met = std::mem::replace(&mut self.met, false);
        let next = self.function(body, &parameters, inside);
        if self.met {
            self.joins.extend(owner);
        }
        self.met |= met;
        next
    }

    /// A block that `return` leaves by itself.
    fn function(&mut self, open: usize, parameters: &[usize], inside: Why<'a>) -> usize {
        let inside = self.here(inside);
        let (returned, skipped) = (self.returned.take(), self.skipped.take());
        let around = std::mem::take(&mut self.around);
        let scope = self.names.len();
        for parameter in parameters {
            self.declare(*parameter, None);
        }
        let next = self.block(open, inside);
        self.names.truncate(scope);
        (self.returned, self.skipped, self.around) = (returned, skipped, around);
        next
    }
}

use super::super::lexer::lex;
use super::*;

fn of(source: &str) -> Vec<String> {
    let ports = ["x", "w", "y"].map(str::to_string);
    let inside = |place: Option<&'static str>| place.unwrap_or("top");
    events(&lex(source).tokens, &ports, &ports[1..2])
        .into_iter()
        .map(|event| match event.what {
            What::Wait { ports, inside: place } => format!("wait({}) {}", ports.join(","), inside(place)),
            What::Use { port, member } => member.map_or(port.to_string(), |member| format!("{port}.{member}")),
            What::Return => "return".to_string(),
            What::Pages { port, inside: place } => format!("pages of {port} {}", inside(place)),
            What::LoosePages => "loose pages".to_string(),
            What::Leave(word) => format!("leave {word}"),
            What::GridBarrier { inside: place } => format!("grid {}", inside(place)),
            What::Spin => "spin".to_string(),
            What::Unbalanced => "unbalanced".to_string(),
        })
        .collect()
}

#[test]
fn waits_know_where_they_stand() {
    assert_eq!(of("{ dep_wait(); } dep_wait(x, y)"), ["wait() top", "wait(x,y) top"]);
    assert_eq!(of("if (a) dep_wait(); else { dep_wait(x); }"), ["wait() a branch", "wait(x) a branch"]);
    assert_eq!(of("for (;;) { dep_wait(); }"), ["wait() a loop"]);
    assert_eq!(of("do dep_wait(); while (a); dep_wait();"), ["wait() a loop", "wait() top"]);
    assert_eq!(of("switch (a) { case 1: dep_wait(); default: dep_wait(); }"), ["wait() a branch", "wait() a branch"]);
    assert_eq!(of("switch (a) case 1: dep_wait();"), ["wait() a branch"]);
    assert_eq!(of("if (a) mine: dep_wait();"), ["wait() a branch"]);
    assert_eq!(of("auto f = [&](int a) -> int { dep_wait(); return 1; }; dep_wait();"), ["wait() a lambda", "wait() top"]);
    assert_eq!(of("a ? b : dep_wait(); int b = (dep_wait(), 1);"), ["wait() an expression", "wait() an expression"]);
    assert_eq!(of("#if A\ndep_wait();\n#endif\ndep_wait();"), ["wait() an `#if`", "wait() top"]);
    assert_eq!(of("mine: dep_wait();"), ["wait() top"]);
}

#[test]
fn attributes_hide_nothing() {
    assert_eq!(of("if (a) [[likely]] { f(); } dep_wait();"), ["wait() top"]);
    assert_eq!(of("if (a) [[likely]] dep_wait();"), ["wait() a branch"]);
    assert_eq!(of("if (a) {} else [[unlikely]] { dep_wait(); }"), ["wait() a branch"]);
    assert_eq!(of("_Pragma(\"unroll\") for (;;) dep_wait();"), ["wait() a loop"]);
    assert_eq!(of("__attribute__((nothing)) if (a) { return; }"), ["return"]);
    assert_eq!(of("UNKNOWN for (;;) dep_wait();"), ["wait() a loop"]);
    assert_eq!(of("for (auto p : w.pages()) if (p.last) [[unlikely]] { break; }"), ["w.pages", "pages of w top", "leave break"]);
    assert_eq!(of("[[maybe_unused]] int a [[maybe_unused]] = 1; dep_wait();"), ["wait() top"]);
}

#[test]
fn braces_are_what_stands_before_them() {
    assert_eq!(of("float a[2] = {1, 2}; f({ 3 }); T{}; return;"), ["return"]);
    assert_eq!(
        of("struct S { int f() { return 1; } }; auto f = g([] { return 2; }); f([a = T{}](T b) -> T { return b; });"),
        [""; 0]
    );
    assert_eq!(of("struct P { float x, y; float sum() { return [&] { return x; }(); } } p; x.at(0);"), ["x.at"]);
    assert_eq!(of("int a = ({ return; 1; });"), ["return"]);
    assert_eq!(of("auto [a, b] = f(x[0]); [&] { return; }();"), ["x"]);
}

#[test]
fn members_are_no_ports() {
    assert_eq!(of("float4 v; v.x = p->y + a::w; x.at(0, 1); y.template store<2>(x.y);"), ["x.at", "y.store", "x.y"]);
}

#[test]
fn pages_are_left_only_at_their_end() {
    assert_eq!(of("for (auto p : w.pages()) { if (a) break; }"), ["w.pages", "pages of w top", "leave break"]);
    assert_eq!(
        of("for (auto p : w.pages()) { for (;;) break; switch (a) { default: break; } continue; }"),
        ["w.pages", "pages of w top"]
    );
    assert_eq!(of("for (auto p : w.pages()) for (;;) return;"), ["w.pages", "pages of w top", "leave return", "return"]);
    assert_eq!(of("for (auto p : w.pages()) { auto f = [] { return 1; }; } return;"), ["w.pages", "pages of w top", "return"]);
}

#[test]
fn loops_over_pages_know_where_they_stand() {
    assert_eq!(of("if (a) for (auto p : w.pages()) {}"), ["w.pages", "pages of w a branch"]);
    assert_eq!(of("for (;;) { for (auto p : w.pages()) {} }"), ["w.pages", "pages of w a loop"]);
    assert_eq!(of("auto f = [&] { for (auto p : w.pages()) {} };"), ["w.pages", "pages of w a lambda"]);
    assert_eq!(of("#if 0\nfor (auto p : w.pages()) {}\n#endif"), ["w.pages", "pages of w an `#if`"]);
}

#[test]
fn pages_of_anything_else_are_loose() {
    assert_eq!(of("auto it = w.pages().begin(); for (;;) break;"), ["w.pages", "loose pages"]);
    assert_eq!(of("for (auto p : (w).pages()) {}"), ["w", "loose pages"]);
    assert_eq!(of("for (auto p : m.pages()) {}"), ["loose pages"]);
    assert_eq!(of("for (auto p : m->pages()) {}"), ["loose pages"]);
    assert_eq!(of("for (auto p : x.pages()) {}"), ["x.pages", "loose pages"]);
    assert_eq!(of("for (;; a ? 1 : w.pages()) {}"), ["w.pages", "loose pages"]);
    assert_eq!(of("for (auto p : w.pages().first()) {}"), ["w.pages", "loose pages"]);
    assert_eq!(of("auto f = &Matrix::pages; uint32_t pages = 3;"), ["loose pages"]);
}

#[test]
fn loops_that_only_ask_are_found() {
    assert_eq!(of("while (f() < 4) {} for (;;); while (f()) { __nanosleep(20); }"), ["spin", "spin", "spin"]);
    assert_eq!(
        of("while (n--) {} for (int i = 0; i < 4; ++i) {} while (f()) { g(); } do { g(); } while (f()); for (a : b) {}"),
        [""; 0]
    );
}

#[test]
fn grid_barriers_know_what_keeps_workers_away() {
    assert_eq!(of("for (;;) grid_barrier();"), ["grid top"]);
    assert_eq!(of("for (;;) { if (a) grid_barrier(); }"), ["grid a branch"]);
    assert_eq!(of("a && (grid_barrier(), true);"), ["grid an expression"]);
    assert_eq!(of("a && grid_barrier();"), ["grid an expression"]);
    assert_eq!(of("[&] { grid_barrier(); }();"), ["grid a lambda"]);
    assert_eq!(of("#if A\ngrid_barrier();\n#endif"), ["grid an `#if`"]);
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
        "[[",
        "_Pragma(",
        "a:",
        "if (a) }",
        "else }",
        "case 1: }",
        "for (x : w.pages(",
    ] {
        of(source);
    }
    assert_eq!(of("} }"), ["unbalanced"]);
    for part in ["({", "if (a) ", "else ", "a: ", "[[x]] ", "do "] {
        of(&part.repeat(100_000));
    }
    assert!(of(&"({".repeat(100_000)).contains(&"unbalanced".to_string()));
    assert!(of(&"if (a) ".repeat(100_000)).contains(&"unbalanced".to_string()));
}

use super::super::lexer::lex;
use super::*;

/// The names by which barriers are not reached by all threads alike.
fn of(source: &str) -> Vec<String> {
    let mut findings = Vec::new();
    check(&lex(source).tokens, &["x", "kv", "part"].map(str::to_string), &mut findings);
    let name = |finding: Finding| finding.problem.to_string().split('`').nth(3).map(str::to_string);
    findings.into_iter().filter_map(name).collect()
}

#[test]
fn branches_and_loops_by_thread_are_found() {
    assert_eq!(of("if (role_thread() < 32) groups_sync();"), ["role_thread"]);
    assert_eq!(of("if (T > 1) {} else if (lane() == 0) {} else { role_sync(); }"), ["lane"]);
    assert_eq!(of("const uint32_t warp = role_warp(); const bool first = warp == 0; if (first) { groups_sync(); }"), ["first"]);
    assert_eq!(of("for (uint32_t i = role_thread(); i < N; i += role_threads()) groups_sync();"), ["i"]);
    assert_eq!(of("uint32_t i(lane()); while (i < N) { i += 32; role_sync(); }"), ["i"]);
    assert_eq!(of("uint32_t i{lane()}; do { role_sync(); ++i; } while (i < N);"), ["i"]);
    assert_eq!(of("switch (role_warp()) { case 0: groups_sync(); break; }"), ["role_warp"]);
    assert_eq!(of("if (x.at(0, 0) > 0) groups_sync(); if (part[0] > 0) groups_sync();"), ["x", "part"]);
    assert_eq!(of("lane() == 0 ? groups_sync() : f(); lane() && (role_sync(), 1);"), ["lane", "lane"]);
    assert_eq!(of("if (lane() == 0) [[likely]] { _Pragma(\"unroll\") for (;;) groups_sync(); }"), ["lane"]);
    assert_eq!(of("for (uint32_t i = lane(); i < 4; ++i) grid_barrier();"), ["i"]);
}

#[test]
fn what_is_assigned_by_thread_differs() {
    assert_eq!(of("bool b = false; if (lane() == 0) b = true; if (b) groups_sync();"), ["b"]);
    assert_eq!(of("uint32_t n = 0; for (int k = 0; k < 2; ++k) { if (n) groups_sync(); n = lane(); }"), ["n"]);
    assert_eq!(of("uint32_t n = 0; for (uint32_t i = lane(); i < 9; ++i) ++n; if (n) groups_sync();"), ["n"]);
    assert_eq!(of("float v[4]; v[0] = x.at(0, 0); if (v[0] > 1) groups_sync();"), ["v"]);
    assert_eq!(of("auto [a, b] = f(lane()); if (a) groups_sync();"), ["a"]);
    assert_eq!(of("uint32_t id; asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(id)); if (id) groups_sync();"), ["id"]);
    assert_eq!(of("uint32_t a = 1, b = lane(); if (a) groups_sync(); if (b) groups_sync();"), ["b"]);
}

#[test]
fn jumps_by_thread_are_found() {
    assert_eq!(of("if (lane() != 0) return; groups_sync();"), ["lane"]);
    assert_eq!(of("for (int k = 0; k < 2; ++k) { if (lane()) continue; groups_sync(); } role_sync();"), ["lane"]);
    assert_eq!(of("for (int k = 0; k < 2; ++k) { groups_sync(); if (lane()) break; } role_sync();"), ["lane"]);
    assert_eq!(of("for (int k = 0; k < 2; ++k) { groups_sync(); if (lane()) return; }"), ["lane"]);
    assert_eq!(of("for (auto p : w.pages()) { groups_sync(); if (lane()) continue; f(); } groups_sync();"), [""; 0]);
    assert_eq!(of("for (;;) { switch (a) { case 1: if (lane()) break; g(); } groups_sync(); }"), [""; 0]);
    assert_eq!(of("if (T == 0) return; groups_sync();"), [""; 0]);
}

#[test]
fn lambdas_are_what_they_do() {
    assert_eq!(of("auto join = [&] { groups_sync(); }; join(); if (lane()) join();"), ["lane"]);
    assert_eq!(of("if (lane()) sum.join([&] { groups_sync(); });"), ["lane"]);
    assert_eq!(of("sum.join([&] { groups_sync(); });"), [""; 0]);
    assert_eq!(of("auto f = [&](uint32_t n) { if (n) groups_sync(); }; f(T);"), [""; 0]);
    assert_eq!(of("auto f = [&](uint32_t n) { if (n) groups_sync(); }; f(lane());"), ["n"]);
    assert_eq!(of("each([&](uint32_t n) { if (n) groups_sync(); });"), ["n"]);
    assert_eq!(of("auto f = [&](uint32_t t) { if (lane()) return; part[t] = 1; }; f(0); groups_sync();"), [""; 0]);
}

#[test]
fn lanes_are_a_team_of_their_own() {
    assert_eq!(of("if (lane() < 16) v = lane_sum<16>(v);"), ["lane"]);
    assert_eq!(
        of("for (uint32_t i = role_thread(); i < N; i += 256) v = lane_max(x.at(0, i)); if (lane() == 0) __syncwarp();"),
        ["i", "lane"]
    );
    assert_eq!(of("const bool live = lane() < N; if (!live) return; v = __shfl_xor_sync(ALL_LANES, v, 1);"), ["live"]);
    let fine =
        "for (uint32_t t = role_warp(); t < T; t += role_warps()) { if (x.at(t, 0) > 0) v = lane_sum<32>(v); __syncwarp(); }
        const uint32_t warp = role_thread() / 32; if (warp == 0) v = lane_sum<32>(lane());
        if (lane() < 8) { __syncwarp(0xff); v = __shfl_sync(0xff, v, 0); }";
    assert_eq!(of(fine), [""; 0]);
}

#[test]
fn what_is_the_same_for_all_threads_is_fine() {
    let fine = "const uint32_t end = smaller(task.first_tile + task.tiles, T);
        for (uint32_t t = task.first_tile; t < end; ++t) {
            for (uint32_t i = role_thread(); i < N; i += role_threads()) part[i] = x.at(t, i);
            groups_sync();
            for (uint32_t i = 0; i < 4; ++i) { if (i == eps) continue; role_sync(); }
            for (uint32_t n = 0; n < rows.cached(t); n += 64) { if (w.at(0, 0) > 0) groups_sync(); }
        }
        for (auto page : w.pages()) {
            sum.add(page, x.load(w));
            if (!page.last) continue;
            if (page.row % 2 == 0 && b) { groups_sync(); }
        }
        constexpr uint32_t FIT = sizeof(part) / 4;
        for (uint32_t i = 0; i < FIT; ++i) groups_sync();
        struct Pair { uint32_t lane; } p{1};
        if (p.lane) groups_sync();";
    assert_eq!(of(fine), [""; 0]);
}

#[test]
fn any_text_can_be_walked() {
    for source in [
        "groups_sync",
        "} groups_sync",
        "{ groups_sync",
        "if groups_sync",
        "for ( groups_sync",
        "for (;; groups_sync",
        "do groups_sync",
        "do ; while groups_sync",
        "switch ( groups_sync )",
        "[ groups_sync",
        "[](groups_sync",
        "[]( groups_sync ) {",
        "else groups_sync",
        "= groups_sync ++ --",
        "auto [ groups_sync",
        "case groups_sync",
        "_Pragma groups_sync",
        "if (a) } groups_sync",
        "return groups_sync ) ] }",
        "a: groups_sync",
        "if constexpr groups_sync",
        "asm groups_sync (",
        "while ( groups_sync",
        "for ( a : groups_sync",
        "f(,,) , groups_sync",
        "[[ groups_sync",
    ] {
        of(source);
    }
}

//! Words that no body may say: block-wide synchronisation, hardware identity, raw barriers, shared memory of its own.

use super::checker::Finding;
use super::lexer::{Kind, Lexed, Token};
use crate::errors::{Code, Problem};

/// Judges the text word by word, bodies of macros too; `volatile_ports` are those whose memory other tasks write.
pub fn check(lexed: &Lexed<'_>, volatile_ports: &[String], findings: &mut Vec<Finding>) {
    let macros = lexed.macros.iter().map(|m| &m.body);
    for tokens in std::iter::once(&lexed.tokens).chain(macros) {
        for (i, token) in tokens.iter().enumerate() {
            let found = match token.kind {
                Kind::Word => word(token.text, i.checked_sub(2).map(|i| &tokens[i..i + 2])),
                _ => None,
            };
            findings.extend(found.map(|problem| Finding::at(token.at, problem)));
        }
        for (at, text) in strings(tokens) {
            findings.extend(assembly(&text).into_iter().map(|problem| Finding::at(at, problem)));
        }
        for statement in tokens.split(|t| t.is(";") || t.is("{") || t.is("}")) {
            stale(statement, volatile_ports, findings);
        }
    }
}

/// What is wrong with a word; `before` are the two tokens before it.
fn word(text: &str, before: Option<&[Token<'_>]>) -> Option<Problem> {
    let said = |code, what: &str| Some(Problem::new(code, format!("`{text}` in a role body {what}")));
    match text {
        "cooperative_groups" | "this_thread_block" | "this_grid" | "this_cluster" | "thread_block" | "grid_group" => {
            // One error for `cooperative_groups::this_thread_block()`.
            if before.is_some_and(|b| b[0].is("cooperative_groups") && b[1].is("::")) {
                None
            } else {
                said(Code::E0112, "joins threads of other roles")
            }
        }
        _ if text.starts_with("__syncthreads") || text.starts_with("__barrier_sync") || text.starts_with("__cluster_barrier") => {
            said(Code::E0112, "synchronises the whole block")
        }
        "threadIdx" | "blockIdx" | "gridDim" | "blockDim" | "clusterIdx" | "clusterDim" => {
            said(Code::E0113, "is a place in the hardware, not in the task")
        }
        "__shared__" => said(Code::E0130, "takes shared memory that is not declared"),
        _ if text.contains("mbarrier") => said(Code::E0114, "is a raw barrier operation"),
        "barrier" | "pipeline" if before.is_some_and(|b| b[0].is("cuda") && b[1].is("::")) => {
            said(Code::E0114, "is a raw barrier operation")
        }
        _ => None,
    }
}

/// The strings, adjacent ones joined as the compiler does, without quotes.
fn strings(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut strings: Vec<(usize, String)> = Vec::new();
    let mut joins = false;
    for token in tokens {
        let is_string = token.kind == Kind::String;
        if is_string {
            let text = token.text.trim_start_matches(|c| c != '"').trim_matches('"');
            match strings.last_mut() {
                Some((_, last)) if joins => last.push_str(text),
                _ => strings.push((token.at, text.to_string())),
            }
        }
        joins = is_string;
    }
    strings
}

/// What is wrong with inline assembly.
fn assembly(text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut said = |found: Option<String>, code, what: &str| {
        problems.extend(found.map(|word| Problem::new(code, format!("`{word}` in the assembly of a role body {what}"))));
    };
    // `bar.warp.sync` joins a warp only, and may be used.
    let block_wide = ["bar.sync", "bar.arrive", "bar.red", "bar.cta", "barrier."];
    said(block_wide.iter().find_map(|word| instruction(text, word)), Code::E0112, "synchronises the whole block");
    let identity = ["%tid", "%ntid", "%ctaid", "%nctaid", "%smid", "%nsmid", "%warpid", "%nwarpid", "%clusterid", "%cluster_"];
    said(identity.iter().find_map(|word| instruction(text, word)), Code::E0113, "is a place in the hardware, not in the task");
    said(instruction(text, "mbarrier"), Code::E0114, "is a raw barrier operation");
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

/// Reads that may give an old value, in a statement about memory that other tasks write.
fn stale(statement: &[Token<'_>], volatile_ports: &[String], findings: &mut Vec<Finding>) {
    let Some(port) = statement.iter().find(|t| t.kind == Kind::Word && volatile_ports.iter().any(|p| p == t.text)) else {
        return;
    };
    for token in statement {
        let word = match token.kind {
            Kind::Word if matches!(token.text, "__restrict__" | "__restrict" | "__ldg") => token.text,
            Kind::String if token.text.contains("ld.global.nc") => "ld.global.nc",
            _ => continue,
        };
        let what = format!("`{word}` on `{}`, which other tasks write", port.text);
        let problem = Problem::new(Code::E0113, what)
            .gpu("the read would go through the non-coherent cache and may give the value of an earlier step")
            .help(format!("read through the port: `{0}.load(…)`, `{0}.at(…)` or `{0}.row(…)`", port.text));
        findings.push(Finding::at(token.at, problem));
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexer::lex;
    use super::*;

    fn codes(source: &str) -> Vec<&'static str> {
        let mut findings = Vec::new();
        check(&lex(source), &["x".to_string(), "kv".to_string()], &mut findings);
        findings.iter().filter_map(|f| f.problem.code()).map(|code| &code.id()[4..]).collect()
    }

    #[test]
    fn forbidden_words_are_found_wherever_they_hide() {
        assert_eq!(codes("__syncthreads(); __syncthreads_or(1);"), ["E0112", "E0112"]);
        assert_eq!(codes("#define S __syncthreads()\nS;"), ["E0112"]);
        assert_eq!(codes("asm volatile(\"bar\" \".sync 1, 128;\");"), ["E0112"]);
        assert_eq!(codes("asm(\"barrier.cta.sync 0;\"); namespace cg = cooperative_groups;"), ["E0112", "E0112"]);
        assert_eq!(codes("int a = threadIdx.x; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(s));"), ["E0113", "E0113"]);
        assert_eq!(codes("asm(\"mbarrier.arrive.shared::cta.b64 _, [%0];\"); cuda::barrier<> b;"), ["E0114", "E0114"]);
        assert_eq!(codes("extern __shared__ float s[];"), ["E0130"]);
        assert_eq!(codes("auto* __restrict__ p = x.row(0); v = __ldg(&kv.at(0));"), ["E0113", "E0113"]);
    }

    #[test]
    fn other_words_are_fine() {
        let fine = "__syncwarp(); asm(\"bar.warp.sync 1;\"); const bf16* __restrict__ p = w.row(0); asm(\"ld.global.nc.v4 %0;\" : : \"l\"(p));
            // __syncthreads() and threadIdx
            lane(); role_sync(); auto crossbar_sync = 1; asm(\"mov.u32 %0, %%laneid;\"); std::barrier;";
        assert_eq!(codes(fine), Vec::<&str>::new());
    }
}

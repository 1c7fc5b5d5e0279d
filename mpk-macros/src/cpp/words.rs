//! Words that no body may say: block-wide synchronisation, hardware identity, raw barriers, shared memory of its own, and the
//! insides of the kernel around it.

use super::checker::Finding;
use super::lexer::{Kind, Token};
use super::{assembly, this};
use crate::errors::{Code, Problem};

/// Judges the text word by word; `changing` are the ports whose memory other tasks write, and how each is read.
pub fn check(tokens: &[Token<'_>], changing: &[(String, String)], findings: &mut Vec<Finding>) {
    let mut found: Vec<Finding> = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let problem = if token.kind == Kind::Word { word(tokens, i).or_else(|| inside(tokens, i)) } else { None };
        found.extend(problem.map(|problem| Finding::at(token.written, problem)));
    }
    for (at, text) in assembly::strings(tokens) {
        found.extend(assembly::check(&text).into_iter().map(|problem| Finding::at(at, problem)));
    }
    for statement in tokens.split(|t| t.is(";") || t.is("{") || t.is("}")) {
        stale(statement, changing, &mut found);
    }
    // A macro that is used twice is wrong once.
    for finding in found {
        let known = |other: &Finding| other.at == finding.at && other.problem.to_string() == finding.problem.to_string();
        if !findings.iter().any(known) {
            findings.push(finding);
        }
    }
}

fn said(text: &str, code: Code, what: &str) -> Problem {
    Problem::new(code, format!("`{text}` in a role body {what}"))
}

/// What is wrong with the word at `i`.
fn word(tokens: &[Token<'_>], i: usize) -> Option<Problem> {
    let text = tokens[i].text;
    let of = |name: &str| i >= 2 && tokens[i - 1].is("::") && tokens[i - 2].is(name);
    let found = match text {
        // One error for `cooperative_groups::this_thread_block()`.
        _ if of("cooperative_groups") => return None,
        "cooperative_groups" | "this_thread_block" | "this_grid" | "this_cluster" | "thread_block" | "grid_group" => {
            said(text, Code::E0112, "joins threads of other roles")
        }
        _ if ["__syncthreads", "__barrier_sync", "__cluster_barrier"].iter().any(|start| text.starts_with(start)) => {
            said(text, Code::E0112, "synchronises the whole block")
        }
        "threadIdx" | "blockIdx" | "gridDim" | "blockDim" | "clusterIdx" | "clusterDim" => {
            said(text, Code::E0113, "is a place in the hardware, not in the task")
        }
        "__shared__" => said(text, Code::E0130, "takes shared memory that is not declared"),
        _ if text.contains("mbarrier") => said(text, Code::E0114, "is a raw barrier operation"),
        "barrier" | "pipeline" if of("cuda") => said(text, Code::E0114, "is a raw barrier operation"),
        "__trap" | "__brkpt" | "__exit" => said(text, Code::E0101, "ends more than the body").help("leave the body by `return`"),
        "goto" => said(text, Code::E0102, "may go past a wait or a page, or back over it")
            .gpu("what is waited for never, or twice, is a deadlock")
            .help("use a loop, and an `if` around the work"),
        "this" if !this::is_captured(tokens, i) => said(text, Code::E0103, "hands its ports on under other names")
            .gpu("what is touched by them could not be checked: stale data, or a deadlock")
            .help("name each port itself"),
        _ => return None,
    };
    Some(found)
}

/// The names by which a body has the kernel around it: never its own.
pub const INSIDES: [&str; 11] =
    ["Body", "Consumer", "Worker", "Packet", "Params", "Segment", "Pages", "worker", "packet", "shared_memory", "wait_ports"];

/// Functions of the kernel around a body that it must not call, what they are, and what to do instead.
const FUNCTIONS: [(Code, &str, &[&str]); 7] = [
    (Code::E0102, "is the wait of the kernel itself", &["wait_for", "report", "aborted", "step_begins", "begin_step"]),
    (
        Code::E0111,
        "is the work of another role",
        &["load_packets", "control", "next_command", "tell", "consume", "dispatch", "finish"],
    ),
    (Code::E0111, "changes what another role has", &["take_registers", "give_registers"]),
    (Code::E0112, "synchronises more than the task", &["barrier", "consumers_sync"]),
    (Code::E0113, "is a place in the hardware, not in the task", &["thread", "warp"]),
    (Code::E0130, "is shared memory that is not declared", &["shared", "page_at", "packet_at", "init_shared"]),
    (Code::E0133, "is how the ring is filled", &["load_pages", "bulk_copy", "segment", "route"]),
];

/// What is wrong with the word at `i`, if it is of the kernel around.
fn inside(tokens: &[Token<'_>], i: usize) -> Option<Problem> {
    let text = tokens[i].text;
    if i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->")) {
        return None;
    }
    if INSIDES.contains(&text) {
        let problem = said(text, Code::E0103, "is of the kernel around it")
            .gpu("what is touched or waited for through it could not be checked: stale data, or a deadlock")
            .help("use the ports, `task`, `dep_wait()` and the barriers of the task; a name of your own is another one");
        return Some(problem);
    }
    let called = tokens.get(i + 1).is_some_and(|t| t.is("(") || t.is("<"));
    // A lambda of the body's own may have such a name.
    let own = || tokens.windows(2).any(|pair| pair[0].kind == Kind::Word && pair[0].text == text && pair[1].is("="));
    let (code, what, _) = FUNCTIONS.iter().find(|(_, _, names)| called && names.contains(&text))?;
    (!own()).then(|| said(text, *code, what))
}

/// Reads that may give an old value, in a statement about memory that other tasks write.
fn stale(statement: &[Token<'_>], changing: &[(String, String)], findings: &mut Vec<Finding>) {
    let named = |token: &Token<'_>| changing.iter().find(|(name, _)| token.kind == Kind::Word && name == token.text);
    let Some((port, how)) = statement.iter().find_map(named) else { return };
    for token in statement {
        let word = match token.kind {
            Kind::Word if matches!(token.text, "__restrict__" | "__restrict" | "__ldg") => token.text,
            Kind::String if token.text.contains("ld.global.nc") => "ld.global.nc",
            _ => continue,
        };
        let what = format!("`{word}` on `{port}`, which other tasks write");
        let problem = Problem::new(Code::E0113, what)
            .gpu("the read would go through the non-coherent cache and may give the value of an earlier step")
            .help(how.clone());
        findings.push(Finding::at(token.written, problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(source: &str) -> Vec<&'static str> {
        let mut findings = Vec::new();
        let changing = ["x", "kv"].map(|name| (name.to_string(), format!("read `{name}`")));
        check(&super::super::read(source).tokens, &changing, &mut findings);
        findings.iter().filter_map(|f| f.problem.code()).map(|code| &code.id()[4..]).collect()
    }

    #[test]
    fn forbidden_words_are_found_wherever_they_hide() {
        assert_eq!(codes("__syncthreads(); __syncthreads_or(1);"), ["E0112", "E0112"]);
        assert_eq!(codes("#define S __syncthreads()\nS; S;"), ["E0112"]);
        assert_eq!(codes("#define C cuda\nC::barrier<> b;"), ["E0114"]);
        assert_eq!(codes("asm volatile(\"bar\" \".sync 1, 128;\");"), ["E0112"]);
        assert_eq!(codes("#define T \".sync 0;\"\nasm(\"bar\" T);"), ["E0112"]);
        assert_eq!(codes("asm(\"barrier.cta.sync 0;\"); namespace cg = cooperative_groups;"), ["E0112", "E0112"]);
        assert_eq!(codes("int a = threadIdx.x; asm(\"mov.u32 %0, %%smid;\" : \"=r\"(s));"), ["E0113", "E0113"]);
        assert_eq!(codes("asm(\"mbarrier.arrive.shared::cta.b64 _, [%0];\"); cuda::barrier<> b;"), ["E0114", "E0114"]);
        assert_eq!(codes("extern __shared__ float s[];"), ["E0130"]);
        assert_eq!(codes("auto* __restrict__ p = x.row(0); v = __ldg(&kv.at(0));"), ["E0113", "E0113"]);
        assert_eq!(codes("again: goto again; __trap();"), ["E0102", "E0101"]);
        assert_eq!(codes("auto& self = *this; f(this);"), ["E0103", "E0103"]);
    }

    #[test]
    fn the_kernel_around_is_closed() {
        assert_eq!(codes("barrier(0, 384); consumers_sync();"), ["E0112", "E0112"]);
        assert_eq!(codes("thread(); warp() + 1;"), ["E0113", "E0113"]);
        assert_eq!(codes("worker.epoch; packet.at<Wait>(0); shared_memory[0] = 1;"), ["E0103"; 3]);
        assert_eq!(codes("shared().full[0]; page_at(1);"), ["E0130", "E0130"]);
        assert_eq!(codes("wait_for(a); report(a); load_pages(b); take_registers<8>();"), ["E0102", "E0102", "E0133", "E0111"]);
    }

    #[test]
    fn other_words_are_fine() {
        let fine = "__syncwarp(); asm(\"bar.warp.sync 1;\"); const bf16* __restrict__ p = w.row(0); asm(\"ld.global.nc.v4 %0;\" : : \"l\"(p));
            // __syncthreads() and threadIdx
            lane(); role_sync(); auto crossbar_sync = 1; asm(\"mov.u32 %0, %%laneid;\"); std::barrier;
            uint32_t thread = role_thread(), segment = 1, route; auto finish = [&, this] { a.report(1); }; finish();
            asm(\"st.shared.f32 [%0], %1;\"); Vector(k_norm);";
        assert_eq!(codes(fine), Vec::<&str>::new());
    }
}

//! Whole tasks, through the library function behind the attribute.

use proc_macro2::TokenStream;

use super::expand;

fn expanded(attribute: &str, item: &str) -> String {
    let tokens: TokenStream = expand(attribute.parse().unwrap(), item.parse().unwrap());
    // What is written must be Rust, whatever came in.
    syn::parse2::<syn::File>(tokens.clone()).unwrap();
    tokens.to_string()
}

fn errors(text: &str) -> usize {
    text.matches("compile_error").count()
}

const OPTIONS: &str = "roles(consumer), tiles = N / 16";
const SIGNATURE: &str = "/// Docs.\npub fn t(x: In<[bf16; (T, N)]>, y: Out<[bf16; (T, N)]>)";

#[test]
fn a_good_task_has_its_text_and_reference() {
    let text = expanded(
        OPTIONS,
        &format!("{SIGNATURE} {{ consumer! {{ dep_wait(); y.store(0, 0, 0.0f); }} reference! {{ mine(); }} }}"),
    );
    assert_eq!(errors(&text), 0, "{text}");
    assert!(text.contains("broken : false") && text.contains("mine ()") && text.contains("dep_wait();"));
    assert!(text.contains("Docs.") && !text.contains("The task `t`"));
}

#[test]
fn a_broken_task_is_a_stub() {
    let text = expanded(
        OPTIONS,
        &format!("{SIGNATURE} {{ consumer! {{ __syncthreads(); y.store(0, 0, 0.0f); }} reference! {{ mine(); }} }}"),
    );
    assert_eq!(errors(&text), 2, "{text}");
    // The reference is compiled by itself: what it imports is used, and its own errors are found in the same run.
    assert!(text.contains("broken : true") && text.contains("mine ()") && text.contains("struct t"));
    let text = expanded(OPTIONS, "fn t(x: In<[bf16; (T, -1)]>) { consumer! { dep_wait(); } reference! { mine(); } }");
    assert!(text.contains("broken : true") && !text.contains("mine ()"));
}

#[test]
fn an_item_that_can_not_be_read_is_a_stub_too() {
    let text = expanded(OPTIONS, "#[cfg(a)] pub fn t(x: In<[bf16; (T,, N)]>) { consumer! {} }");
    assert_eq!((errors(&text), text.matches("cfg (a)").count()), (1, 3), "{text}");
    assert!(text.contains("broken : true") && text.contains("pub struct t") && !text.contains("consumer"));
}

#[test]
fn what_can_not_be_read_makes_no_second_error() {
    let text =
        expanded(OPTIONS, "fn t(x: In<[fp16; (T, N)]>, y: Out<[bf16; (T, N)]>) { consumer! { dep_wait(x); } reference! {} }");
    assert_eq!(errors(&text), 1, "{text}");
    let text = expanded(
        "roles(consumer), tile = N",
        &format!("{SIGNATURE} {{ consumer! {{ dep_wait(); y.store(0, 0, 0.0f); }} reference! {{}} }}"),
    );
    assert_eq!(errors(&text), 1, "{text}");
}

#[test]
fn no_input_is_a_panic() {
    let items = [
        "fn t() {}",
        "struct S;",
        "fn t(self) { consumer! {} reference! {} }",
        "async unsafe fn t<A>(_: In, (a, b): In<u8>, x: Option<Option<In>>, y: In<'a, 3>) -> u8 { 1 + 1; a::b! {} }",
        "fn t(x: In<[bf16; ()]>, x: [bf16; 3], y: Weight<[W; (((1)), a.b(), -c)]>) { consumer!(\"\"); consumer!(); storer![1, 2]; }",
        "fn t(r#type: Rows) { consumer! { #[doc = \"x\"] # ! } reference! { phase {} phase } reference! {} }",
    ];
    let attributes = [
        "",
        "roles",
        "roles()",
        "roles(consumer(groups))",
        "smem(scratch(a: f32), align)",
        "tiles",
        "grid = 3, grid",
        "fuses()",
        "1 + 1",
    ];
    for item in items {
        for attribute in attributes {
            assert!(errors(&expanded(attribute, item)) > 0);
        }
    }
}

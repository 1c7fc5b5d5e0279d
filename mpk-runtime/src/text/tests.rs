//! Tokenizers, templates and streaming, against the fixtures that transformers made.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Message, TextError, Tokenizer};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

#[derive(Deserialize)]
struct Goldens {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    prompt: String,
    messages: Option<Vec<Message>>,
    prompt_ids: Vec<u32>,
    output_ids: Vec<u32>,
    output_text: String,
}

/// Every case of every fixture, with its tokenizer.
fn for_each_case(mut check: impl FnMut(&Tokenizer, &Case)) {
    for name in ["tiny-qwen3", "tiny-llama"] {
        let dir = fixture(name);
        let tokenizer = Tokenizer::open(&dir).unwrap();
        let goldens = fs::read(dir.join("goldens.json")).unwrap();
        let goldens: Goldens = serde_json::from_slice(&goldens).unwrap();
        assert_eq!(goldens.cases.len(), 5, "{name}");
        for case in &goldens.cases {
            check(&tokenizer, case);
        }
    }
}

#[test]
fn prompts_give_the_reference_ids() {
    let mut chats = 0;
    for_each_case(|tokenizer, case| {
        let ids = match &case.messages {
            Some(messages) => {
                chats += 1;
                assert_eq!(tokenizer.chat(messages).unwrap(), case.prompt, "{}", case.id);
                tokenizer.encode_chat(messages).unwrap()
            }
            None => tokenizer.encode(&case.prompt, true).unwrap(),
        };
        assert_eq!(ids, case.prompt_ids, "{}", case.id);
    });
    assert_eq!(chats, 2);
}

#[test]
fn outputs_stream_to_the_reference_text() {
    for_each_case(|tokenizer, case| {
        for prompt in [case.prompt_ids.as_slice(), &[]] {
            let mut stream = tokenizer.stream(prompt, false);
            let mut text = String::new();
            for &id in &case.output_ids {
                text.extend(stream.push(id));
            }
            text.extend(stream.finish());
            assert_eq!(text, case.output_text, "{}", case.id);
        }
    });
}

#[test]
fn special_tokens_can_be_left_out() {
    for_each_case(|tokenizer, case| {
        if case.id == "chat" {
            let text = tokenizer.decode(&case.output_ids, true).unwrap();
            assert_eq!(Some(text.as_str()), case.output_text.strip_suffix("<|im_end|>"));
        }
    });
}

#[test]
fn a_character_of_several_tokens_comes_out_whole() {
    let tokenizer = Tokenizer::open(&fixture("tiny-qwen3")).unwrap();
    let text = "naïve 名 🦀🦀, e\u{301} end";
    let ids = tokenizer.encode(text, false).unwrap();
    let mut stream = tokenizer.stream(&[], true);
    let pieces: Vec<String> = ids.iter().filter_map(|&id| stream.push(id)).collect();
    assert!(pieces.len() < ids.len(), "no character was split by this tokenizer: {pieces:?}");
    assert!(pieces.iter().all(|piece| !piece.contains('\u{fffd}')), "{pieces:?}");
    // The tokenizer composes characters (NFC).
    assert_eq!(pieces.concat(), "naïve 名 🦀🦀, é end");
    assert_eq!(stream.finish(), None);
}

#[test]
fn an_incomplete_character_comes_at_the_end_only() {
    let tokenizer = Tokenizer::open(&fixture("tiny-qwen3")).unwrap();
    let ids = tokenizer.encode("a🦀", false).unwrap();
    let mut stream = tokenizer.stream(&[], true);
    let pieces: Vec<String> = ids[..ids.len() - 1].iter().filter_map(|&id| stream.push(id)).collect();
    assert_eq!(pieces, ["a"]);
    assert_eq!(stream.finish().as_deref(), Some("\u{fffd}"));
}

#[test]
fn a_character_that_the_prompt_begins_is_completed() {
    let (_dir, bytes) = sentence_piece();
    for (tokenizer, text) in [(Tokenizer::open(&fixture("tiny-qwen3")).unwrap(), "a🦀"), (bytes, "你好🦀")] {
        let ids = tokenizer.encode(text, false).unwrap();
        for cut in 1..=3 {
            let (prompt, rest) = ids.split_at(ids.len() - cut);
            let mut stream = tokenizer.stream(prompt, true);
            let given: Vec<String> = rest.iter().filter_map(|id| stream.push(*id)).collect();
            assert_eq!(given, ["🦀"], "{text} without {cut}");
            assert_eq!(stream.finish(), None);
        }
    }
}

#[test]
fn what_never_becomes_a_character_is_not_held_for_ever() {
    let tokenizer = Tokenizer::open(&fixture("tiny-qwen3")).unwrap();
    let id = *tokenizer.encode("🦀", false).unwrap().last().unwrap();
    let mut stream = tokenizer.stream(&[], true);
    let text: String = (0..1000).filter_map(|_| stream.push(id)).collect();
    assert_eq!(text, "\u{fffd}".repeat(996));
    let pieces: Vec<String> = tokenizer.encode("🦀", false).unwrap().iter().filter_map(|id| stream.push(*id)).collect();
    assert!(pieces.concat().ends_with('🦀'), "{pieces:?}");
}

#[test]
fn what_a_tokenizer_cut_or_filled_up_in_training_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = fs::read(fixture("tiny-qwen3").join("tokenizer.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&file).unwrap();
    let plain = Tokenizer::open(&fixture("tiny-qwen3")).unwrap().encode("In the beginning God created", true).unwrap();
    let truncation = serde_json::json!({ "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0 });
    let padding = serde_json::json!({ "strategy": { "Fixed": 64 }, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "x" });
    for (field, value) in [("truncation", truncation), ("padding", padding)] {
        json[field] = value;
        fs::write(dir.path().join("tokenizer.json"), json.to_string()).unwrap();
        let ids = Tokenizer::open(dir.path()).unwrap().encode("In the beginning God created", true).unwrap();
        assert_eq!(ids, plain, "{field}");
        json[field] = serde_json::Value::Null;
    }
}

/// A tokenizer of the SentencePiece kind: `▁` for a space, bytes as tokens, the first space of a text dropped.
fn sentence_piece() -> (tempfile::TempDir, Tokenizer) {
    let bytes = "你好🦀".bytes().map(|byte| format!("<0x{byte:02X}>"));
    let vocab: serde_json::Map<String, serde_json::Value> =
        ["<unk>", "▁Hi", "▁you"].map(str::to_owned).into_iter().chain(bytes).zip((0..).map(Into::into)).collect();
    let json = serde_json::json!({
        "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
        "decoder": { "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "▁" }, "content": " " },
            { "type": "ByteFallback" }, { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 },
        ]},
        "model": { "type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "vocab": vocab, "merges": [] },
    });
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokenizer.json"), json.to_string()).unwrap();
    let tokenizer = Tokenizer::open(dir.path()).unwrap();
    (dir, tokenizer)
}

#[test]
fn bytes_as_tokens_and_leading_spaces_stream_as_they_decode() {
    let (_dir, tokenizer) = sentence_piece();
    let bytes = tokenizer.encode("你好🦀", false).unwrap();
    assert_eq!(bytes.len(), 10, "one id a byte");
    let ids: Vec<u32> = [2].into_iter().chain(bytes).chain([1]).collect();
    let pieces = |prompt: &[u32]| {
        let mut stream = tokenizer.stream(prompt, true);
        ids.iter().filter_map(|&id| stream.push(id)).collect::<Vec<_>>()
    };
    assert_eq!(pieces(&[]), ["you", "你", "好", "🦀", " Hi"]);
    assert_eq!(pieces(&[1]), [" you", "你", "好", "🦀", " Hi"]);
}

#[test]
fn an_id_without_a_token_gives_no_text() {
    let tokenizer = Tokenizer::open(&fixture("tiny-qwen3")).unwrap();
    let mut stream = tokenizer.stream(&[], true);
    assert_eq!(stream.push(2303), None);
    assert_eq!(stream.push(499).as_deref(), Some("And"));
    assert!(tokenizer.vocab_size() <= 2304);
}

/// A folder with the tokenizer of a fixture and this `tokenizer_config.json`.
fn with_config(config: &serde_json::Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(fixture("tiny-qwen3").join("tokenizer.json"), dir.path().join("tokenizer.json")).unwrap();
    fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    dir
}

/// What a template makes of a conversation.
fn render(template: &str) -> Result<String, String> {
    let dir = with_config(&serde_json::json!({
        "chat_template": template, "bos_token": { "content": "<s>" }, "eos_token": "</s>", "pad_token": null,
    }));
    let messages = [
        Message::new("system", "Be <brief>."),
        Message::new("user", "Hello "),
        Message::new("assistant", "<think>\nhm\n</think>\n\nHi"),
    ];
    let rendered = Tokenizer::open(dir.path()).and_then(|tokenizer| tokenizer.chat(&messages));
    rendered.map_err(|error| error.to_string().replace(&dir.path().display().to_string(), "DIR"))
}

/// Expected is what Python's Jinja2 renders, set up as transformers sets it up for chat templates.
#[test]
fn templates_render_as_in_transformers() {
    let cases = [
        // Blocks take their line with them.
        (
            "{% for m in messages %}\n  {% if true %}\n{{ m.role }}\n  {% endif %}\n{% endfor %}\nend",
            "system\nuser\nassistant\nend",
        ),
        ("{{ bos_token }}|{{ eos_token }}|{{ pad_token }}|{{ unk_token }}", "<s>|</s>||"),
        ("{% if add_generation_prompt %}go{% endif %}{% if tools %}tools{% endif %}", "go"),
        // Python's string methods and slices.
        ("{{ messages[-1].content.split('</think>')[-1].lstrip('\\n') }}", "Hi"),
        ("{{ messages[1]['content'].strip().upper() }}{{ messages[1].content | trim }}", "HELLOHello"),
        ("{% for m in messages[::-1] %}{{ m.role[0] }}{{ loop.index0 }}{% endfor %}", "a0u1s2"),
        ("{{ messages[0].content.startswith('Be') and messages[1:] | length == 2 }}", "True"),
        ("{%- set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "3"),
        ("{{ enable_thinking is defined and enable_thinking is false }}", "False"),
        ("{{ messages[0] | tojson }}", "{\"role\": \"system\", \"content\": \"Be <brief>.\"}"),
        ("{{ [1, 'é'] | tojson(indent=2) }}", "[\n  1,\n  \"é\"\n]"),
        ("{{ strftime_now('%Y') | int > 2024 }}", "True"),
        ("{% for m in messages %}{{ m.role }}{% break %}{% endfor %}", "system"),
        ("{% macro f(x) %}({{ x }}){% endmacro %}{{ f(messages[1].role) }}", "(user)"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(template).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn a_template_without_end_is_stopped() {
    let nested =
        "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
    let error = render(nested).unwrap_err();
    assert!(error.contains("ran out of fuel"), "{error}");
    let error = render("{{ [1] | tojson(indent=9000000000000000000) }}").unwrap_err();
    assert!(error.contains("indent"), "{error}");
}

#[test]
fn a_template_that_fails_says_why() {
    let error = render("{{ raise_exception('roles must alternate') }}").unwrap_err();
    let expected = "the chat template of DIR failed: invalid operation: roles must alternate";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("\nhelp: check the order and roles of the messages"), "{error}");
    let error = render("{% if %}").unwrap_err();
    assert!(error.starts_with("the chat template of DIR failed: syntax error"), "{error}");
}

#[test]
fn templates_come_from_three_places() {
    let messages = [Message::new("user", "x")];
    let named = |name| serde_json::json!({ "chat_template": [{ "name": name, "template": "named" }] });
    let dir = with_config(&named("default"));
    assert_eq!(Tokenizer::open(dir.path()).unwrap().chat(&messages).unwrap(), "named");
    fs::write(dir.path().join("chat_template.jinja"), "of a file").unwrap();
    assert_eq!(Tokenizer::open(dir.path()).unwrap().chat(&messages).unwrap(), "of a file");

    let dir = with_config(&named("tool_use"));
    let error = Tokenizer::open(dir.path()).unwrap().chat(&messages).unwrap_err();
    assert!(error.to_string().contains("(only the named tool_use)"), "{error}");
    let dir = with_config(&serde_json::json!({}));
    let error = Tokenizer::open(dir.path()).unwrap().chat(&messages).unwrap_err();
    assert!(matches!(error, TextError::NoTemplate { .. }), "{error}");
    let dir = with_config(&serde_json::json!({ "chat_template": 3 }));
    // A template that cannot be used is no reason to refuse plain text.
    let error = Tokenizer::open(dir.path()).unwrap().chat(&messages).unwrap_err().to_string();
    assert!(error.contains("tokenizer_config.json: chat_template: neither"), "{error}");
}

#[test]
fn a_missing_tokenizer_points_to_ids() {
    let dir = tempfile::tempdir().unwrap();
    let error = Tokenizer::open(dir.path()).unwrap_err().to_string();
    let expected = format!(
        "no tokenizer.json in {}\nhelp: put the checkpoint's tokenizer.json there, or give the prompt as token \
         ids instead of text",
        dir.path().display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_damaged_tokenizer_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for damaged in ["", "{\"model\": 3}", "{\"decoder\": {\"type\": ByteLevel}}", "{\"decoder\": 1e999}"] {
        fs::write(dir.path().join("tokenizer.json"), damaged).unwrap();
        let error = Tokenizer::open(dir.path()).unwrap_err().to_string();
        assert!(error.starts_with("MPK-L0304: ") && error.contains("tokenizer.json: not a tokenizer: "), "{error}");
    }
}

//! MPK-L0304: malformed files give an error that names the file and the field.

use safetensors::SafeTensors;

use super::{file, open_bytes};

/// A header entry.
fn entry(name: &str, dtype: &str, shape: &str, offsets: &str) -> String {
    format!("\"{name}\":{{\"dtype\":{dtype},\"shape\":{shape},\"data_offsets\":{offsets}}}")
}

/// A file of one tensor `a` with these fields and 8 bytes of data.
fn one(dtype: &str, shape: &str, offsets: &str) -> Vec<u8> {
    file(format!("{{{}}}", entry("a", dtype, shape, offsets)), &[0; 8])
}

/// A file of the entries, with `len` bytes of data.
fn many(entries: &[String], len: usize) -> Vec<u8> {
    file(format!("{{{}}}", entries.join(",")), &vec![0; len])
}

fn with_length(length: u64, rest: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), rest].concat()
}

#[test]
fn the_right_file_opens() {
    open_bytes(&one("\"BF16\"", "[2,2]", "[0,8]")).unwrap();
    open_bytes(&file("{}  ", &[])).unwrap();
    // A later version may add fields; a scalar has no dimensions; an empty tensor no bytes.
    let more = r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":[{}]},
                   "b":{"dtype":"I64","shape":[3,0],"data_offsets":[4,4]}}"#;
    open_bytes(&file(more, &[0; 4])).unwrap();
}

#[test]
fn malformed_files_are_refused_by_field() {
    let bf16 = "\"BF16\"";
    let cases: Vec<(Vec<u8>, &str)> = vec![
        // The length of the header.
        (vec![], "header length: the file has 0 bytes; the length takes 8"),
        (vec![1; 7], "header length: the file has 7 bytes; the length takes 8"),
        (with_length(3, b"{}"), "header length: 3 bytes, but only 2 follow in the file"),
        (with_length(99_999_999, b"{}"), "header length: 99999999 bytes, but only 2 follow in the file"),
        (
            with_length(u64::MAX, b"{}"),
            "header length: 18446744073709551615 bytes, more than the 100000000 allowed: \
             this is no safetensors file",
        ),
        // The header as a text.
        (file(b"{\"a\xff\":1}", &[]), "header: is not UTF-8 from its byte 3 on"),
        (file("", &[]), "header: is not the JSON expected: EOF while parsing a value at line 1 column 0"),
        (file("{\"a\":", &[]), "header: is not the JSON expected: EOF while parsing a value at line 1 column 5"),
        (file("{}{}", &[]), "header: is not the JSON expected: trailing characters at line 1 column 3"),
        (
            file("[]", &[]),
            "header: is not the JSON expected: invalid type: sequence, expected an object of tensors at line 1 column 0",
        ),
        (
            file(format!("{{\"a\":{}", "[".repeat(100_000)), &[]),
            "header: is not the JSON expected: recursion limit exceeded at line 1 column 132",
        ),
        // Entries of the wrong form.
        (file("{\"a\":null}", &[]), "a: is null, not an object"),
        (file("{\"a\":[1]}", &[]), "a: is a list, not an object"),
        (file("{\"__metadata__\":7}", &[]), "__metadata__: is a number, not an object"),
        (file("{\"__metadata__\":{\"k\":{}}}", &[]), "__metadata__.k: is an object; metadata are strings"),
        (file("{\"__metadata__\":{},\"__metadata__\":{}}", &[]), "__metadata__: given twice"),
        // dtype.
        (one("\"BF17\"", "[4]", "[0,8]"), "a.dtype: \"BF17\" is no type of this format"),
        (one("16", "[4]", "[0,8]"), "a.dtype: is a number, not the name of a type"),
        // shape.
        (one(bf16, "{}", "[0,8]"), "a.shape: is an object, not a list"),
        (one(bf16, "[-4]", "[0,8]"), "a.shape: holds a negative number"),
        (one(bf16, "[4.0]", "[0,8]"), "a.shape: holds not a whole number of 64 bits"),
        (one(bf16, "[1,1,1,1,1,1,1,1,4]", "[0,8]"), "a.shape: has 9 dimensions; at most 8 are read"),
        (
            one(bf16, "[4294967296,4294967296]", "[0,8]"),
            "a.shape: [4294967296, 4294967296] BF16 is no whole number of bytes in memory",
        ),
        (one("\"F4\"", "[3]", "[0,8]"), "a.shape: [3] F4 is no whole number of bytes in memory"),
        // data_offsets.
        (one(bf16, "[4]", "8"), "a.data_offsets: is a number, not a list"),
        (one(bf16, "[4]", "[0,8,16]"), "a.data_offsets: has 3 elements, not 2"),
        (one(bf16, "[4]", "[-8,0]"), "a.data_offsets: does not hold two byte positions"),
        (one(bf16, "[4]", "[0,1e99]"), "a.data_offsets: does not hold two byte positions"),
        (one(bf16, "[4]", "[8,0]"), "a.data_offsets: begins at 8, after its end at 0"),
        (one(bf16, "[4]", "[8,16]"), "a.data_offsets: ends at byte 16 of the data, but the file has only 8"),
        (
            one(bf16, "[4]", "[18446744073709551608,18446744073709551615]"),
            "a.data_offsets: ends at byte 18446744073709551615 of the data, but the file has only 8",
        ),
        (one(bf16, "[3]", "[0,8]"), "a.data_offsets: 8 bytes, but BF16 [3] takes 6"),
        // Tensors that do not tile the data.
        (
            many(&[entry("a", bf16, "[4]", "[0,8]"), entry("b", bf16, "[4]", "[6,14]")], 14),
            "b.data_offsets: bytes 6..14 overlap those of a, 0..8",
        ),
        (
            many(&[entry("a", bf16, "[2]", "[0,4]"), entry("b", bf16, "[2]", "[6,10]")], 10),
            "b.data_offsets: bytes 4..6 before it belong to no tensor",
        ),
        (many(&[entry("a", bf16, "[2]", "[0,4]")], 9), "data: bytes 4..9 at its end belong to no tensor"),
    ];
    assert!(cases.len() >= 15);
    for (bytes, expected) in cases {
        let error = open_bytes(&bytes).unwrap_err();
        assert_eq!(error.lines().next(), Some(&*format!("MPK-L0304: model.safetensors: {expected}")));
        assert!(error.contains("\nhelp: "), "{error}");
        // The reference refuses them too, but for many dimensions.
        let differs = expected.contains("dimensions");
        assert_eq!(SafeTensors::deserialize(&bytes).is_ok(), differs, "{expected}");
    }
}

#[test]
fn a_name_given_twice_is_refused() {
    let bytes = many(&[entry("a", "\"U8\"", "[4]", "[0,4]"), entry("a", "\"U8\"", "[4]", "[4,8]")], 8);
    let error = open_bytes(&bytes).unwrap_err();
    let expected = "MPK-L0304: DIR: a: two tensors have this name, in model.safetensors and in model.safetensors\n";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn every_problem_is_reported_at_once() {
    let entries = [
        entry("a", "\"BF17\"", "7", "[0]"),
        "\"b\":{}".to_owned(),
        entry("c\\u001b[31m", "\"U8\"", "[4]", "[0,4]"),
        entry("d", "\"U8\"", "[4]", "[2,6]"),
    ];
    let expected = "\
MPK-L0304: the checkpoint's files have these problems:
  model.safetensors: a.dtype: \"BF17\" is no type of this format
  model.safetensors: a.shape: is a number, not a list
  model.safetensors: a.data_offsets: has 1 elements, not 2
  model.safetensors: b.dtype: is absent, not the name of a type
  model.safetensors: b.shape: is absent, not a list
  model.safetensors: b.data_offsets: is absent, not a list
  model.safetensors: d.data_offsets: bytes 2..6 overlap those of c\\u{1b}[31m, 0..4
help: the files are damaged, incomplete, or were not written by safetensors: fetch the checkpoint again and \
compare its checksums";
    assert_eq!(open_bytes(&many(&entries, 8)).unwrap_err(), expected);
}

#[test]
fn a_flood_of_problems_is_counted_and_not_kept() {
    let entries: Vec<String> = (0..20_000).map(|i| format!("\"{i}\":0")).collect();
    let error = open_bytes(&many(&entries, 0)).unwrap_err();
    assert_eq!(error.lines().count(), 53);
    assert!(error.contains("and more: 19950 problems like these"), "{error}");
}

#[test]
fn a_truncated_checkpoint_is_refused_at_every_length() {
    let whole = std::fs::read(super::fixture("tiny-qwen3").join("logits.safetensors")).unwrap();
    open_bytes(&whole).unwrap();
    for length in (0..whole.len()).step_by(97) {
        open_bytes(&whole[..length]).unwrap_err();
    }
}

#[test]
fn a_folder_in_the_place_of_the_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("model.safetensors")).unwrap();
    let error = super::Checkpoint::open(dir.path()).unwrap_err();
    let error = super::message(&error, dir.path());
    assert!(error.starts_with("MPK-L0304: model.safetensors: file: cannot be read: it is not a regular file"));
}

/// Changes bytes of a header at random. Nothing may panic, and what opens must open in the reference as the same.
#[test]
fn changed_headers_never_panic() {
    let header = format!(
        "{{\"__metadata__\":{{\"format\":\"pt\"}},{},{},{}}}",
        entry("a.weight", "\"BF16\"", "[2,3]", "[0,12]"),
        entry("b.bias", "\"F32\"", "[4]", "[12,28]"),
        entry("c", "\"U8\"", "[]", "[28,29]")
    );
    let right = file(&header, &[7; 29]);
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let alphabet = b"0123456789-.eE[]{}:,\" \\ABFU\x00\x80\xff";
    let mut opened = 0;
    for _ in 0..2000 {
        let mut bytes = right.clone();
        for _ in 0..1 + random(3) {
            let at = random(8 + header.len());
            bytes[at] = match random(3) {
                0 => random(256) as u8,
                _ => alphabet[random(alphabet.len())],
            };
        }
        if let Ok(checkpoint) = open_bytes(&bytes) {
            opened += 1;
            let reference = SafeTensors::deserialize(&bytes).unwrap();
            assert_eq!(checkpoint.ids().count(), reference.len());
            for id in checkpoint.ids() {
                let (ours, theirs) = (checkpoint.tensor(id), reference.tensor(checkpoint.tensor(id).name()).unwrap());
                assert_eq!((ours.shape(), ours.dtype(), ours.bytes()), (theirs.shape(), theirs.dtype(), theirs.data()));
            }
        }
    }
    assert!(opened > 20, "only {opened} of the changed files opened: nothing was compared");
}

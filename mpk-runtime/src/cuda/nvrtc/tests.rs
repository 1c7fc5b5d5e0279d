use super::*;

/// Whether NVRTC is there; says so if not, since the test then shows nothing.
fn present(test: &str) -> bool {
    load().inspect_err(|error| eprintln!("{test} skipped: {error}")).is_ok()
}

#[test]
fn a_missing_library_is_an_error_that_lists_the_search() {
    let error = load_from(vec!["/nowhere/lib64".into()]).unwrap_err();
    assert!(matches!(&error, NvrtcError::Missing { searched, .. } if searched.len() == 1));
    let text = error.to_string();
    assert!(text.contains("/nowhere/lib64") && text.contains("MPK_NVRTC"), "{text}");
}

#[test]
fn a_file_that_is_no_library_is_rejected_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libnvrtc.so.13"), "not an ELF file").unwrap();
    let Err(NvrtcError::Missing { rejected, .. }) = load_from(vec![folder.path().into()]) else { panic!("loaded") };
    assert!(rejected.len() == 1 && rejected[0].contains("libnvrtc.so.13: "), "{rejected:?}");
}

#[test]
fn a_source_with_headers_becomes_a_cubin() {
    if !present("a_source_with_headers_becomes_a_cubin") {
        return;
    }
    let headers = [("mpk/one.cuh".to_string(), "__device__ float one() { return 1.0f; }".to_string())];
    let source = "#include \"mpk/one.cuh\"\nextern \"C\" __global__ void k(float* y) { *y = one(); }";
    let cubin = compile(source, &headers, "sm_90a").unwrap();
    assert_eq!(&cubin.bytes[..4], b"\x7fELF");
    assert_eq!(cubin.resources.len(), 1);
    assert!(cubin.resources[0].registers > 0 && cubin.resources[0].spill_stores == 0);
}

#[test]
fn an_error_is_at_the_file_and_line_of_its_author() {
    if !present("an_error_is_at_the_file_and_line_of_its_author") {
        return;
    }
    let source = "extern \"C\" __global__ void k() {\n#line 7 \"crate/src/body.cuh\"\n\nint y = undefined_name;\n}";
    let Err(NvrtcError::Source { diagnostics, .. }) = compile(source, &[], "sm_90a") else { panic!("compiled") };
    assert_eq!((diagnostics[0].file.as_str(), diagnostics[0].line), ("crate/src/body.cuh", 8));
    assert!(diagnostics[0].message.contains("undefined_name"));
}

#[test]
fn a_virtual_architecture_gives_no_code_and_an_error() {
    if !present("a_virtual_architecture_gives_no_code_and_an_error") {
        return;
    }
    let result = compile("extern \"C\" __global__ void k() {}", &[], "compute_90a");
    assert!(matches!(result, Err(NvrtcError::Empty(_))), "{result:?}");
}

#[test]
fn zero_bytes_are_refused() {
    if !present("zero_bytes_are_refused") {
        return;
    }
    assert!(matches!(compile("int\0x;", &[], "sm_90a"), Err(NvrtcError::ZeroByte(_))));
}

//! From a config to a proven plan: Qwen3-8B for the 132 multiprocessors of an H200.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use models::FAMILIES;
use mpk_runtime::engine::{PlanOptions, Proven};
use mpk_runtime::load::Config;
use mpk_runtime::verify::verify;

fn planning(criterion: &mut Criterion) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/configs/Qwen3-8B.json");
    let options = PlanOptions {
        families: FAMILIES,
        workers: 132,
        rows: 16,
        slots: 16,
        ranks: 1,
        context: Some(4096),
        layers: None,
        chain: false,
    };
    let proven = || Config::read(&file).map_err(Into::into).and_then(|config| Proven::new(&config, options.clone()));
    let plan = match proven() {
        Ok(proven) => proven.plan,
        Err(error) => panic!("{error}"),
    };
    criterion.bench_function("Qwen3-8B: graph, plan and proof", |b| b.iter(|| black_box(proven().is_ok())));
    criterion.bench_function("Qwen3-8B: proof", |b| b.iter(|| black_box(verify(&plan).is_ok())));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = planning
}
criterion_main!(benches);

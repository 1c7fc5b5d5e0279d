//! Random weights as the device makes them against the definition, on a GPU; without one there is nothing to run, which is then said.

// The lints allow `unwrap` in test functions, and not in what they call.
#![allow(clippy::unwrap_used)]

use benches::random::{Generator, Roles, Tensor, Weights};
use half::bf16;
use mpk_runtime::cuda::driver::Device;
use mpk_runtime::cuda::weights::Source;
use mpk_runtime::cuda::{nvrtc, pack};
use mpk_runtime::graph::WeightExpr;
use mpk_runtime::plan::Packed;

const ROLES: Roles = Roles { layers: 4, hidden: 40, tied: true, qwen3: true };
const SEED: u32 = 7;

/// The GPU; `None` with a word of why if there is none that can run the kernel, or no NVRTC.
fn gpu(test: &str) -> Option<Device> {
    let gpu = nvrtc::load().map_err(|error| error.to_string()).and_then(|_| Device::open().map_err(|error| error.to_string()));
    gpu.map_err(|why| eprintln!("{test} skipped: {why}")).ok()
}

/// The elements of a tensor, row-major.
fn expected(name: &str, shape: &[usize]) -> Vec<bf16> {
    let tensor = Tensor::new(name, SEED, ROLES.of_tensor(name, shape));
    (0..shape.iter().product::<usize>()).map(|i| tensor.element(i as u64)).collect()
}

/// The elements that the device has for a weight, as they lie there.
fn loaded(device: &Device, weight: &WeightExpr, packed: &Packed) -> Vec<bf16> {
    let generator = Generator::new(device).unwrap();
    let memory = device.memory::<u8>("weights", packed.bytes, 0).unwrap();
    Weights { generator: &generator, roles: ROLES, seed: SEED }.load(device, weight, packed, &memory).unwrap();
    let mut bytes = vec![0u8; packed.bytes];
    device.read(&memory, 0, &mut bytes).unwrap();
    bytes.chunks_exact(2).map(bytemuck::pod_read_unaligned).collect()
}

#[test]
fn a_stack_of_odd_sizes_is_what_its_tensors_are() {
    let Some(device) = gpu("a_stack_of_odd_sizes_is_what_its_tensors_are") else { return };
    let shapes = [("layer.q_proj", [23, 40]), ("layer.k_proj", [17, 40]), ("layer.o_proj", [600, 40])];
    let parts = shapes.map(|(name, shape)| WeightExpr::module(name.into(), shape.to_vec()));
    let packed = Packed { rows: 640, cols: 40, fragments: true, parts: 1, bytes: pack::packed_len(640, 40) * 2 };
    let ours = loaded(&device, &WeightExpr::Stack(parts.to_vec()), &packed);
    let whole: Vec<bf16> = shapes.iter().flat_map(|(name, shape)| expected(&format!("{name}.weight"), shape)).collect();
    assert_eq!(pack::unpack(&ours, 640, 40), whole);
    // What fills up the last units of a strip stays zero.
    assert_eq!(ours.len() - 640 * 40, 640 * 8);
    assert!(ours.iter().filter(|v| v.to_bits() == 0).count() >= 640 * 8);
}

#[test]
fn vectors_are_row_major() {
    let Some(device) = gpu("vectors_are_row_major") else { return };
    for name in ["layer.input_layernorm", "layer.q_proj.bias"] {
        let weight = WeightExpr::module(name.into(), vec![777]);
        let packed = Packed { rows: 777, cols: 1, fragments: false, parts: 1, bytes: 777 * 2 };
        let tensor = weight.sources()[0].names[0].clone();
        assert_eq!(loaded(&device, &weight, &packed), expected(&tensor, &[777]));
    }
}

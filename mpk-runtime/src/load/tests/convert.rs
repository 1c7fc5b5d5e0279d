//! Reading as bf16 and f32.

use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::{file, fixture, open_bytes};
use crate::load::{Checkpoint, LoadError};

/// A checkpoint of one tensor `w`.
fn tensor(dtype: Dtype, shape: Vec<usize>, bytes: &[u8]) -> Checkpoint {
    let view = TensorView::new(dtype, shape, bytes).unwrap();
    open_bytes(&safetensors::serialize([("w", view)], None).unwrap()).unwrap()
}

#[test]
fn bf16_is_read_in_place() {
    let checkpoint = Checkpoint::open(&fixture("tiny-qwen3")).unwrap();
    for id in checkpoint.ids() {
        let tensor = checkpoint.tensor(id);
        let values = tensor.bf16().unwrap();
        assert_eq!(values.as_ptr().cast(), tensor.bytes().as_ptr());
        assert_eq!(values.len(), tensor.shape().iter().product::<usize>());
    }
    let ids: Vec<_> = checkpoint.ids().collect();
    let notices = checkpoint.round(&ids, &mut |_, _| panic!("nothing is to be rounded")).unwrap();
    assert!(notices.is_empty());
}

#[test]
fn bf16_at_an_odd_address_is_copied() {
    let header =
        r#"{"pad":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"BF16","shape":[2],"data_offsets":[1,5]}}"#;
    // Two headers of lengths that differ by one: in one of the files the tensor is misaligned.
    for header in [header.to_owned(), format!("{header} ")] {
        let checkpoint = open_bytes(&file(header, &[9, 0x80, 0x3f, 0x00, 0xc0])).unwrap();
        let tensor = checkpoint.tensor(checkpoint.find("w").unwrap());
        assert_eq!(tensor.bf16().unwrap(), [bf16::from_f32(1.0), bf16::from_f32(-2.0)]);
        assert_eq!(*tensor.f32().unwrap(), [1.0, -2.0]);
        let ids: Vec<_> = checkpoint.find("w").into_iter().collect();
        assert!(checkpoint.round(&ids, &mut |_, _| ()).unwrap().is_empty(), "a copy is no rounding");
    }
}

#[test]
fn f32_is_rounded_to_nearest_even() {
    // bf16 keeps the upper half of an f32: below, at and above the middle, from an even and from an odd half.
    let cases = [
        (0x3f80_7fff_u32, 0x3f80_u16),
        (0x3f80_8000, 0x3f80),
        (0x3f80_8001, 0x3f81),
        (0x3f81_8000, 0x3f82),
        (0xbf81_7fff, 0xbf81),
        (0xbf81_8000, 0xbf82),
        (0x0000_0000, 0x0000),
        (0x8000_0000, 0x8000),
        (0x7f7f_ffff, 0x7f80),
        (0x7f80_0000, 0x7f80),
        (0x0000_8001, 0x0001),
    ];
    let bytes: Vec<u8> = cases.iter().flat_map(|(bits, _)| bits.to_le_bytes()).collect();
    let checkpoint = tensor(Dtype::F32, vec![cases.len()], &bytes);
    let id = checkpoint.find("w").unwrap();
    let rounded = checkpoint.tensor(id).bf16().unwrap();
    for ((bits, expected), value) in cases.iter().zip(rounded) {
        assert_eq!(value.to_bits(), *expected, "{bits:#x}");
    }
    assert_eq!(checkpoint.tensor(id).f32().unwrap()[0].to_bits(), cases[0].0);
}

#[test]
fn every_f16_is_rounded_once() {
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let checkpoint = tensor(Dtype::F16, vec![256, 256], &bytes);
    let tensor = checkpoint.tensor(checkpoint.find("w").unwrap());
    for (bits, value) in (0..=u16::MAX).zip(tensor.bf16().unwrap()) {
        let exact = f64::from(f16::from_bits(bits));
        if !exact.is_finite() {
            assert_eq!(value.to_f64().to_string(), exact.to_string(), "{bits:#x}");
            continue;
        }
        // No neighbour is nearer, and of two equally near ones the even one was taken.
        let error = (f64::from(*value) - exact).abs();
        for next in [value.to_bits().wrapping_sub(1), value.to_bits().wrapping_add(1)] {
            let other = (f64::from(bf16::from_bits(next)) - exact).abs();
            assert!(other.is_nan() || other >= error, "{bits:#x}");
            assert!(other != error || value.to_bits() % 2 == 0, "{bits:#x}");
        }
    }
}

#[test]
fn rounding_reports_progress_and_one_line() {
    let (wide, half) = (vec![0; 5 << 20], vec![0; 6]);
    let views = [
        ("a", TensorView::new(Dtype::F32, vec![5 << 18], &wide).unwrap()),
        ("b", TensorView::new(Dtype::F16, vec![3], &half).unwrap()),
        ("c", TensorView::new(Dtype::BF16, vec![3], &half).unwrap()),
    ];
    let checkpoint = open_bytes(&safetensors::serialize(views, None).unwrap()).unwrap();
    let ids: Vec<_> = checkpoint.ids().chain(checkpoint.ids()).collect();
    let mut reports = Vec::new();
    let notices = checkpoint.round(&ids, &mut |done, total| reports.push((done, total))).unwrap();
    let total = (5 << 20) + 6;
    assert_eq!(reports, [(4 << 20, total), (5 << 20, total), (total, total)]);
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    let expected = ": rounded 1 F32 tensor and 1 F16 tensor to BF16 (to nearest even): the kernels compute with \
                    BF16 weights";
    assert!(notice.ends_with(expected), "{notice}");
}

#[test]
fn other_types_are_refused() {
    let checkpoint = tensor(Dtype::F8_E4M3, vec![4], &[0; 4]);
    let tensor = checkpoint.tensor(checkpoint.find("w").unwrap());
    let error = tensor.bf16().unwrap_err();
    assert!(matches!(error, LoadError::Type { dtype: Dtype::F8_E4M3, wanted: Dtype::BF16, .. }));
    let text = error.to_string();
    assert!(text.starts_with("MPK-L0301: "), "{text}");
    assert!(text.contains("model.safetensors: tensor w is F8_E4M3 and cannot be read as BF16\nhelp: "), "{text}");
    assert!(tensor.f32().is_err());
}

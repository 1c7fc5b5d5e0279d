//! Why a plan does not run on the GPU.

use std::time::Duration;

use thiserror::Error;

use super::codegen::CodegenError;
use super::driver::DeviceError;
use super::fault::Fault;
use super::nvrtc::NvrtcError;
use crate::host::WeightError;
use crate::plan::PlanError;
use crate::rope::NoMemory;

/// Why a plan does not run on the GPU.
#[derive(Debug, Error)]
pub enum CudaError {
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The compiler.
    #[error(transparent)]
    Nvrtc(#[from] NvrtcError),
    /// The source.
    #[error(transparent)]
    Codegen(#[from] CodegenError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The rope table.
    #[error(transparent)]
    Rope(#[from] NoMemory),
    /// A weight.
    #[error(transparent)]
    Weight(#[from] WeightError),
    /// More ranks than one.
    #[error("{0} ranks on one GPU: the CUDA executor runs one rank\nhelp: run on the host (`--backend host`)")]
    Ranks(usize),
    /// Rows that the plan does not hold.
    #[error("a step of {rows} rows; the plan holds 1 to {most}")]
    Rows {
        /// Rows of the step.
        rows: usize,
        /// Rows of the plan.
        most: usize,
    },
    /// A wait did not end (MPK-R0401). The executor can go on with another command.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// More steps than the kernel can run before the host reads what they gave, or none.
    #[error("a command of {steps} steps; the executor takes 1 to {most}")]
    Steps {
        /// Steps asked for.
        steps: usize,
        /// Steps that a command may have.
        most: usize,
    },
    /// The kernel does not answer.
    #[error("the kernel has not answered for {0:?}; the process has to end")]
    Silent(Duration),
}

//! The CUDA executor: everything is allocated and loaded before the launch; afterwards the host only writes commands and reads
//! outputs, through memory that both sides see.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use half::bf16;
use thiserror::Error;

use super::abi;
use super::codegen::{self, CodegenError, KERNEL, Source};
use super::driver::{Device, DeviceError, Kernel, Mapped, Memory};
use super::nvrtc::{self, NvrtcError};
use super::tables::{self, Addresses, COUNTER_STRIDE};
use super::weights;
use crate::graph::{NodeArg, TensorId};
use crate::host::WeightError;
use crate::plan::{Plan, PlanError};
use crate::shape::Elem;
use crate::step::StepRows;

/// Architecture of the generated code.
pub const ARCHITECTURE: &str = "sm_90a";
/// Outputs that the kernel can be ahead of the host.
const OUTPUTS: usize = 16;
/// Longest wait inside of a step.
const WATCHDOG: Duration = Duration::from_secs(2);
/// Longest wait for a command, after which the kernel ends.
const IDLE: Duration = Duration::from_millis(1);

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
    /// A weight.
    #[error(transparent)]
    Weight(#[from] WeightError),
    /// More ranks than one.
    #[error("{0} ranks on one GPU: the CUDA executor runs one rank; use `--backend host`")]
    Ranks(usize),
    /// Rows that the plan does not hold.
    #[error("a step of {rows} rows; the plan holds 1 to {most}")]
    Rows {
        /// Rows of the step.
        rows: usize,
        /// Rows of the plan.
        most: usize,
    },
    /// A wait did not end, or a counter was further than it can be (MPK-R0401).
    #[error("MPK-R0401: {task} on worker {worker}, consumer: {what} {site}, wanted {wanted}, seen {seen}, in step {epoch}")]
    Fault {
        /// The waiting task.
        task: String,
        /// Its worker.
        worker: u32,
        /// `waited too long for` or `was overrun by`.
        what: &'static str,
        /// The counter.
        site: String,
        /// Arrivals wanted.
        wanted: u32,
        /// Arrivals seen.
        seen: u32,
        /// The step, from 1.
        epoch: u32,
    },
    /// The kernel does not answer.
    #[error("the kernel has not answered for {0:?}; the process has to end")]
    Silent(Duration),
}

/// Runs steps of one plan on one GPU.
pub struct Executor {
    plan: Arc<Plan>,
    source: Source,
    /// The compiler's log, empty for a kernel from the cache.
    pub log: String,
    kernel: Kernel,
    params: abi::Params,
    inbox: Mapped<abi::Inbox>,
    outbox: Mapped<abi::Outbox>,
    /// Kept for the kernel: where it writes what each step gave.
    _outputs: Mapped<abi::Output>,
    posted: u32,
    running: bool,
    tables: Vec<u32>,
    buffers: Vec<Memory<u8>>,
    states: Vec<Memory<u8>>,
    poison: bool,
    head: Memory<u64>,
    fault: Memory<abi::Fault>,
    pages: Memory<u32>,
    /// Kept for the kernel.
    _memory: Vec<Memory<u8>>,
    device: Device,
}

impl Executor {
    /// Loads the weights, compiles the kernel and allocates all memory; nothing runs yet.
    ///
    /// # Errors
    /// See [`CudaError`].
    pub fn new(device: Device, plan: Arc<Plan>, weights: &dyn weights::Source) -> Result<Executor, CudaError> {
        if plan.ranks != 1 {
            return Err(CudaError::Ranks(plan.ranks));
        }
        let source = codegen::generate(&plan)?;
        let cubin = nvrtc::compile(&source.text, &source.headers, ARCHITECTURE)?;
        let kernel = device.kernel(&cubin.bytes, KERNEL, source.launch.shared)?;

        let mut memory: Vec<Memory<u8>> = Vec::new();
        let mut keep = |m: Memory<u8>| {
            let address = m.address();
            memory.push(m);
            address
        };
        let mut at = Addresses::default();
        let ops = plan.graph.ops.len();
        at.counters = keep(device.memory("counters", ops * COUNTER_STRIDE as usize, 0)?);
        let buffers: Result<Vec<Memory<u8>>, DeviceError> =
            plan.buffers.iter().map(|b| device.memory("activations", b.total(), 0)).collect();
        let buffers = buffers?;
        at.buffers = buffers.iter().map(Memory::address).collect();
        let states: Result<Vec<Memory<u8>>, DeviceError> =
            plan.states.iter().map(|s| device.memory("the KV cache", s.bytes(), 0)).collect();
        let states = states?;
        at.states = states.iter().map(Memory::address).collect();
        for (weight, packed) in plan.graph.weights.iter().zip(&plan.weights) {
            let m = device.memory::<u8>("weights", packed.bytes, 0)?;
            weights.load(&device, weight, packed, &m)?;
            at.weights.push(keep(m));
        }
        let mut ropes: Vec<(&crate::rope::Rope, u64)> = Vec::new();
        for node in &plan.graph.ops {
            let rope = node.args.iter().find_map(|arg| if let NodeArg::Rope(rope) = arg { Some(rope) } else { None });
            at.ropes.push(match rope {
                None => 0,
                Some(rope) => match ropes.iter().find(|(other, _)| *other == rope) {
                    Some((_, address)) => *address,
                    None => {
                        let table = rope.table(plan.options.context);
                        let address = keep(device.upload("rope tables", bytemuck::cast_slice(table.values()))?);
                        ropes.push((rope, address));
                        address
                    }
                },
            });
        }
        let slot_pages = plan.options.context.div_ceil(crate::step::PAGE_POSITIONS);
        let pages = device.memory::<u32>("page tables", plan.options.slots * slot_pages, 0)?;
        at.pages = pages.address();

        let mut queues = Vec::new();
        for queue in 0..plan.queues.len() {
            let table = tables::queue(&plan, &source, &at, queue)?;
            let packet_count = plan.queues[queue].tasks.len() as u32;
            let segment_count = table.segments.len() as u32;
            queues.push(abi::Queue {
                packets: keep(device.upload("queues", &table.packets)?),
                segments: keep(device.upload("queues", bytemuck::cast_slice(&table.segments))?),
                packet_count,
                segment_count,
                unused: [0; 2],
            });
        }
        let boundary = at.boundary(&plan);
        let output = plan.graph.output;
        let sampled = if plan.graph.tensors[output].elem == Elem::U32 { at.buffers[plan.tensors[output]] } else { 0 };
        let of = plan.buffer(output);
        let head = device.memory("the step record", 1, 0)?;
        let fault = device.memory("the fault record", 1, 0)?;
        let (inbox, outbox, outputs) = (Mapped::new(1)?, Mapped::new(1)?, Mapped::new(OUTPUTS)?);
        let params = abi::Params {
            queues: keep(device.upload("queues", bytemuck::cast_slice(&queues))?),
            head: head.address(),
            records: keep(device.memory("the step record", 2 * size_of::<abi::Record>(), 0)?),
            boundary: keep(device.upload("queues", bytemuck::cast_slice(&boundary))?),
            sampled,
            grid_barrier: keep(device.memory("counters", 128, 0)?),
            fault: fault.address(),
            inbox: inbox.device(),
            outbox: outbox.device(),
            outputs: outputs.device(),
            watchdog_ns: WATCHDOG.as_nanos() as u64,
            idle_ns: IDLE.as_nanos() as u64,
            peers: [0; 8],
            boundary_count: boundary.len() as u32,
            sampled_parity: of.offset(0, 1) as u32,
            outputs_len: OUTPUTS as u32,
            epoch: 0,
            completed: 0,
            written: 0,
            rank: 0,
            ranks: 1,
        };
        Ok(Executor {
            plan,
            source,
            log: cubin.log,
            kernel,
            params,
            inbox,
            outbox,
            _outputs: outputs,
            posted: 0,
            running: false,
            tables: Vec::new(),
            buffers,
            states,
            poison: false,
            head,
            fault,
            pages,
            _memory: memory,
            device,
        })
    }

    /// The plan it runs.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The source of the kernel.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Fills all outputs with NaN before each step, so that an element that no task writes is found (MPK-R0403).
    pub fn set_poison(&mut self, poison: bool) {
        self.poison = poison;
    }

    /// Runs one step and waits for its end.
    ///
    /// # Errors
    /// See [`CudaError`].
    pub fn step(&mut self, rows: &StepRows) -> Result<(), CudaError> {
        if self.poison {
            self.end()?;
            let kept = self.plan.kept();
            for (_, buffer) in self.buffers.iter().enumerate().filter(|(id, _)| !kept.contains(id)) {
                self.device.fill(buffer, u8::MAX)?;
            }
        }
        self.post(rows)?;
        self.wait(self.posted)
    }

    /// Posts a command of one step with these rows.
    fn post(&mut self, rows: &StepRows) -> Result<(), CudaError> {
        let most = self.plan.options.rows;
        if rows.is_empty() || rows.len() > most {
            return Err(CudaError::Rows { rows: rows.len(), most });
        }
        let row = |t: usize| {
            let row = rows.get(t);
            let flags = if row.sample { abi::SAMPLE } else { 0 };
            abi::Row { slot: row.slot as u32, position: row.position as u32, token: row.token, flags }
        };
        let none = abi::Row { slot: 0, position: 0, token: 0, flags: 0 };
        let mut command = abi::Command {
            count: rows.len() as u32,
            steps: 1,
            stop_count: 0,
            unused: 0,
            stops: [0; 12],
            rows: [none; abi::MAX_ROWS],
        };
        for t in 0..rows.len() {
            command.rows[t] = row(t);
        }
        self.set_pages(rows)?;
        let slot = self.posted as usize % abi::COMMANDS;
        let inbox = self.inbox.place(0);
        // SAFETY: the inbox is live; the kernel does not read this slot before `posted` says so, since all commands before it are
        // complete (each is awaited).
        unsafe { (&raw mut (*inbox).commands[slot]).write_volatile(command) };
        // Release: the command is in memory before the count that makes it known.
        fence(Ordering::Release);
        self.posted = self.posted.wrapping_add(1);
        // SAFETY: as above; the host is the only writer of the word.
        unsafe { (&raw mut (*inbox).posted).write_volatile(self.posted) };
        Ok(())
    }

    /// Page tables are written between kernels only; they are known when a sequence begins.
    fn set_pages(&mut self, rows: &StepRows) -> Result<(), CudaError> {
        let tables: Vec<u32> = rows.pages().iter().flatten().map(|page| *page as u32).collect();
        if tables != self.tables {
            self.end()?;
            self.device.write(&self.pages, 0, &tables)?;
            self.tables = tables;
        }
        Ok(())
    }

    /// Waits until `command` commands are complete.
    fn wait(&mut self, command: u32) -> Result<(), CudaError> {
        let begin = Instant::now();
        let patience = WATCHDOG * 5;
        loop {
            if !self.running {
                self.launch()?;
            }
            for _ in 0..1000 {
                if self.completed() == command {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            // The kernel ends when it is idle: a command that it did not see any more is for the next launch.
            if self.device.is_done()? {
                self.running = false;
                self.check_fault()?;
            } else if begin.elapsed() > patience {
                return Err(CudaError::Silent(patience));
            }
        }
    }

    fn launch(&mut self) -> Result<(), CudaError> {
        let outbox = self.outbox.place(0);
        // SAFETY: the outbox is live and no kernel is running.
        let (epoch, written) =
            unsafe { ((&raw const (*outbox).epoch).read_volatile(), (&raw const (*outbox).written).read_volatile()) };
        // The last kernel left the end of its steps in the head: the next epoch is not decided yet.
        self.device.write(&self.head, 0, &[u64::from(epoch) << 32])?;
        self.params.epoch = epoch;
        self.params.completed = self.completed();
        self.params.written = written;
        let launch = self.source.launch;
        self.device.launch(&self.kernel, launch.blocks, launch.threads, launch.shared, &self.params)?;
        self.running = true;
        Ok(())
    }

    fn completed(&self) -> u32 {
        let outbox = self.outbox.place(0);
        // SAFETY: the outbox is live; the kernel is the only writer of the word.
        let completed = unsafe { (&raw const (*outbox).completed).read_volatile() };
        // Acquire: what the kernel wrote before it counted the command is visible after.
        fence(Ordering::Acquire);
        completed
    }

    fn check_fault(&mut self) -> Result<(), CudaError> {
        let mut fault = [bytemuck::Zeroable::zeroed()];
        self.device.read(&self.fault, 0, &mut fault)?;
        let [fault]: [abi::Fault; 1] = fault;
        if fault.kind == 0 {
            return Ok(());
        }
        let op = self.plan.graph.ops.get(fault.op as usize);
        let label = |op: usize| self.plan.ops.get(op).map_or("an op".to_string(), |o| o.label.clone());
        let share = self.plan.queues.get(fault.worker as usize).and_then(|q| q.tasks.iter().find(|s| s.op == fault.op as usize));
        let site = match share {
            Some(share) => share.waits.get(fault.site as usize).copied(),
            None => self.plan.boundary.get(fault.site as usize).copied(),
        };
        Err(CudaError::Fault {
            task: op.map_or("the controller".to_string(), |_| label(fault.op as usize)),
            worker: fault.worker,
            what: if fault.kind == abi::HANG { "waited too long for" } else { "was overrun by" },
            site: site.map_or("a counter".to_string(), label),
            wanted: fault.wanted,
            seen: fault.seen,
            epoch: fault.epoch,
        })
    }

    /// Row `t` of a tensor after the last step.
    ///
    /// # Errors
    /// The device can't be read.
    pub fn row(&self, tensor: TensorId, t: usize) -> Result<Vec<f32>, CudaError> {
        let of = &self.plan.graph.tensors[tensor];
        let mut bytes = vec![0u8; of.features() * of.elem.size()];
        self.device.read(&self.buffers[self.plan.tensors[tensor]], t * bytes.len(), &mut bytes)?;
        let values = bytes.chunks_exact(of.elem.size());
        Ok(match of.elem {
            Elem::F32 => values.map(bytemuck::pod_read_unaligned::<f32>).collect(),
            Elem::Bf16 => values.map(|b| bytemuck::pod_read_unaligned::<bf16>(b).to_f32()).collect(),
            Elem::U32 => values.map(|b| bytemuck::pod_read_unaligned::<u32>(b) as f32).collect(),
            Elem::U64 => values.map(|b| bytemuck::pod_read_unaligned::<u64>(b) as f32).collect(),
        })
    }

    /// The bytes of the first `rows` rows of a tensor after the last step.
    ///
    /// # Errors
    /// The device can't be read.
    pub fn bytes(&self, tensor: TensorId, rows: usize) -> Result<Vec<u8>, CudaError> {
        let of = &self.plan.graph.tensors[tensor];
        let mut bytes = vec![0u8; rows * of.rows * of.features() * of.elem.size()];
        self.device.read(&self.buffers[self.plan.tensors[tensor]], 0, &mut bytes)?;
        Ok(bytes)
    }

    /// The bytes of a state, by its index in [`Plan::states`].
    ///
    /// # Errors
    /// The device can't be read.
    pub fn state(&self, state: usize) -> Result<Vec<u8>, CudaError> {
        let mut bytes = vec![0u8; self.states[state].len()];
        let held = self.plan.states[state].held;
        let memory = held.map_or(&self.states[state], |tensor| &self.buffers[self.plan.tensors[tensor]]);
        self.device.read(memory, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes a state from its beginning, between two steps.
    ///
    /// # Errors
    /// It is longer than the state, or the device can't be written.
    pub fn set_state(&mut self, state: usize, bytes: &[u8]) -> Result<(), CudaError> {
        self.end()?;
        Ok(self.device.write(&self.states[state], 0, bytes)?)
    }

    /// Lets `write` change a state on the device itself, between two steps.
    ///
    /// # Errors
    /// The kernel does not end, or those of `write`.
    pub fn write_state(
        &mut self,
        state: usize,
        write: impl FnOnce(&Device, &Memory<u8>) -> Result<(), DeviceError>,
    ) -> Result<(), CudaError> {
        self.end()?;
        Ok(write(&self.device, &self.states[state])?)
    }

    /// Asks the kernel to end and awaits it.
    fn end(&mut self) -> Result<(), CudaError> {
        if !self.running {
            return Ok(());
        }
        let inbox = self.inbox.place(0);
        // SAFETY: the inbox is live; the host is the only writer of the word.
        unsafe { (&raw mut (*inbox).stop).write_volatile(1) };
        let begin = Instant::now();
        while !self.device.is_done()? {
            if begin.elapsed() > WATCHDOG * 5 {
                return Err(CudaError::Silent(WATCHDOG * 5));
            }
            std::hint::spin_loop();
        }
        self.running = false;
        // SAFETY: as above.
        unsafe { (&raw mut (*inbox).stop).write_volatile(0) };
        self.check_fault()
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Memory may not be freed under a running kernel. If it does not end, the driver ends it with the process.
        let _ = self.end();
    }
}

//! The CUDA executor: everything is allocated and loaded before the launch; afterwards the host only writes commands and reads
//! outputs, through memory that both sides see.

use std::sync::Arc;
use std::time::{Duration, Instant};

use half::bf16;

use super::abi;
use super::codegen::{self, KERNEL, Source};
use super::driver::{Device, DeviceError, Kernel, Memory};
use super::error::CudaError;
use super::fault::Fault;
use super::mailbox::Mailbox;
use super::nvrtc;
use super::tables::{self, Addresses, COUNTER_STRIDE};
use super::weights;
use crate::graph::{NodeArg, TensorId};
use crate::plan::Plan;
use crate::shape::Elem;
use crate::step::{Command, Sampled, StepRows};

/// Architecture of the generated code.
pub const ARCHITECTURE: &str = "sm_90a";
/// Most steps of a command: the kernel never waits for the host to read what they gave.
const MOST_STEPS: usize = 4096;
/// Longest wait inside of a step.
const WATCHDOG: Duration = Duration::from_secs(2);
/// The same where a sanitizer looks at every access.
const WATCHDOG_SANITIZED: Duration = Duration::from_secs(120);
/// Longest wait for a command, after which the kernel ends.
const IDLE: Duration = Duration::from_millis(1);

/// Runs steps of one plan on one GPU.
pub struct Executor {
    plan: Arc<Plan>,
    source: Source,
    /// The compiler's log, empty for a kernel from the cache.
    pub log: String,
    kernel: Kernel,
    params: abi::Params,
    mailbox: Mailbox,
    watchdog: Duration,
    /// Whether a kernel was launched that has not been seen to end, and whether its command has steps to come.
    running: bool,
    busy: bool,
    /// The last step that was run.
    epoch: usize,
    tables: Vec<u32>,
    buffers: Vec<Memory<u8>>,
    states: Vec<Memory<u8>>,
    poison: bool,
    head: Memory<u64>,
    counters: Memory<u8>,
    grid_barrier: Memory<u8>,
    faults: Memory<abi::Fault>,
    aborted: Memory<u32>,
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
        let counters = device.memory("counters", ops * COUNTER_STRIDE as usize, 0)?;
        at.counters = counters.address();
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
                        let table = rope.table(plan.options.context)?;
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
        let faults = device.memory("fault records", plan.queues.len() * abi::FAULT_ROLES, 0)?;
        let aborted = device.memory("fault records", 1, 0)?;
        let grid_barrier = device.memory("counters", 128, 0)?;
        let watchdog = if is_sanitized() { WATCHDOG_SANITIZED } else { WATCHDOG };
        let mailbox = Mailbox::new(plan.options.context.min(MOST_STEPS))?;
        let params = abi::Params {
            queues: keep(device.upload("queues", bytemuck::cast_slice(&queues))?),
            head: head.address(),
            records: keep(device.memory("the step record", 2 * size_of::<abi::Record>(), 0)?),
            boundary: keep(device.upload("queues", bytemuck::cast_slice(&boundary))?),
            sampled,
            grid_barrier: grid_barrier.address(),
            faults: faults.address(),
            aborted: aborted.address(),
            watchdog_ns: watchdog.as_nanos() as u64,
            idle_ns: IDLE.as_nanos() as u64,
            peers: [0; 8],
            boundary_count: boundary.len() as u32,
            sampled_parity: of.offset(0, 1) as u32,
            rank: 0,
            ranks: 1,
            // The mailbox's part is written at each launch.
            ..bytemuck::Zeroable::zeroed()
        };
        Ok(Executor {
            plan,
            source,
            log: cubin.log,
            kernel,
            params,
            mailbox,
            watchdog,
            running: false,
            busy: false,
            epoch: 0,
            tables: Vec::new(),
            buffers,
            states,
            poison: false,
            head,
            counters,
            grid_barrier,
            faults,
            aborted,
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

    /// Fills all outputs with NaN before each command, so that an element that no task writes is found (MPK-R0403).
    pub fn set_poison(&mut self, poison: bool) {
        self.poison = poison;
    }

    /// The steps that a command may have.
    pub fn most_steps(&self) -> usize {
        self.mailbox.most_steps()
    }

    /// Runs one step and waits for its end.
    ///
    /// # Errors
    /// See [`CudaError`].
    pub fn step(&mut self, rows: &StepRows) -> Result<(), CudaError> {
        self.start(&Command::once(rows.clone()))?;
        while self.receive()?.is_some() {}
        Ok(())
    }

    /// Lets the kernel run a command; a former one is abandoned. [`Executor::receive`] gives what comes of it.
    ///
    /// # Errors
    /// Rows or steps that the plan does not hold, or an error of the device.
    pub fn start(&mut self, command: &Command) -> Result<(), CudaError> {
        let (rows, steps) = (&command.rows, command.steps);
        let (most_rows, most_steps) = (self.plan.options.rows, self.most_steps());
        if rows.is_empty() || rows.len() > most_rows {
            return Err(CudaError::Rows { rows: rows.len(), most: most_rows });
        }
        if steps == 0 || steps > most_steps {
            return Err(CudaError::Steps { steps, most: most_steps });
        }
        self.abandon()?;
        if self.poison {
            self.end()?;
            let kept = self.plan.kept();
            for (_, buffer) in self.buffers.iter().enumerate().filter(|(id, _)| !kept.contains(id)) {
                self.device.fill(buffer, u8::MAX)?;
            }
        }
        self.set_pages(rows)?;
        let mut posted: abi::Command = bytemuck::Zeroable::zeroed();
        posted.count = rows.len() as u32;
        posted.steps = steps as u32;
        // Whoever asks looks at the tokens too, so that more stops than there is room for only come one command later.
        posted.stop_count = command.stops.len().min(abi::MAX_STOPS) as u32;
        for (to, token) in posted.stops.iter_mut().zip(&command.stops) {
            *to = *token;
        }
        for (t, to) in posted.rows.iter_mut().enumerate().take(rows.len()) {
            let row = rows.get(t);
            let flags = if row.sample { abi::SAMPLE } else { 0 };
            *to = abi::Row { slot: row.slot as u32, position: row.position as u32, token: row.token, flags };
        }
        self.mailbox.post(&posted);
        self.busy = true;
        if !self.running {
            self.launch()?;
        }
        Ok(())
    }

    /// Waits for the next step of the command: the tokens that it gave. `None` when the command is complete.
    ///
    /// # Errors
    /// See [`CudaError`]; after a [`Fault`] the next command starts anew.
    pub fn receive(&mut self) -> Result<Option<Vec<Sampled>>, CudaError> {
        let begin = Instant::now();
        while self.busy {
            if !self.running {
                self.launch()?;
            }
            for _ in 0..1000 {
                // In this order: what was written before the kernel ended is seen.
                let ended = self.mailbox.has_ended();
                if let Some(output) = self.mailbox.take() {
                    self.busy = output.last == 0;
                    self.epoch = output.epoch as usize;
                    let sampled =
                        |s: &abi::Sampled| Sampled { slot: s.slot as usize, position: s.position as usize, token: s.token };
                    return Ok(Some(output.tokens.iter().take(output.count as usize).map(sampled).collect()));
                }
                if ended {
                    // It was idle before the command came, or it gave up.
                    self.join()?;
                    break;
                }
                std::hint::spin_loop();
            }
            self.check_silence(begin)?;
        }
        Ok(None)
    }

    /// Ends the command, if there is one, after the step that runs.
    ///
    /// # Errors
    /// The step does not end.
    pub fn abandon(&mut self) -> Result<(), CudaError> {
        if self.busy {
            self.busy = false;
            self.end()?;
            self.mailbox.abandon();
        }
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

    fn launch(&mut self) -> Result<(), CudaError> {
        self.mailbox.begin(&mut self.params);
        // The last kernel left the end of its steps in the head: the next epoch is not decided yet.
        self.device.write(&self.head, 0, &[u64::from(self.params.epoch) << 32])?;
        let launch = self.source.launch;
        self.device.launch(&self.kernel, launch.blocks, launch.threads, launch.shared, &self.params)?;
        self.running = true;
        Ok(())
    }

    /// Asks the kernel to end after its step and awaits it.
    fn end(&mut self) -> Result<(), CudaError> {
        if !self.running {
            return Ok(());
        }
        self.mailbox.set_stop(true);
        let begin = Instant::now();
        while !self.mailbox.has_ended() {
            self.check_silence(begin)?;
            std::hint::spin_loop();
        }
        self.join()
    }

    /// Awaits a kernel that has said that it ends, and looks for its fault.
    fn join(&mut self) -> Result<(), CudaError> {
        self.device.wait()?;
        self.running = false;
        self.mailbox.set_stop(false);
        let mut aborted = [0];
        self.device.read(&self.aborted, 0, &mut aborted)?;
        if aborted == [0] {
            return Ok(());
        }
        let mut records = vec![bytemuck::Zeroable::zeroed(); self.plan.queues.len() * abi::FAULT_ROLES];
        self.device.read(&self.faults, 0, &mut records)?;
        self.reset()?;
        Fault::first(&self.plan, &records).map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// After a fault: steps are counted from the beginning, and so is what counts them. Caches are written anew by the next prompt.
    fn reset(&mut self) -> Result<(), CudaError> {
        self.busy = false;
        self.mailbox.abandon();
        self.mailbox.reset_epoch();
        self.device.fill(&self.counters, 0)?;
        self.device.fill(&self.grid_barrier, 0)?;
        self.device.fill(&self.faults, 0)?;
        Ok(self.device.fill(&self.aborted, 0)?)
    }

    /// A kernel that was killed by the driver, or that does not come to its own limits, says nothing any more.
    fn check_silence(&self, begin: Instant) -> Result<(), CudaError> {
        let silence = begin.elapsed();
        if silence > Duration::from_millis(100) && self.device.is_done()? && !self.mailbox.has_ended() && self.running {
            return Err(CudaError::Silent(silence));
        }
        if silence > self.watchdog * 5 { Err(CudaError::Silent(silence)) } else { Ok(()) }
    }

    /// Row `t` of a tensor after the last step.
    ///
    /// # Errors
    /// The device can't be read.
    pub fn row(&self, tensor: TensorId, t: usize) -> Result<Vec<f32>, CudaError> {
        let of = &self.plan.graph.tensors[tensor];
        let mut bytes = vec![0u8; of.features() * of.elem.size()];
        let first = self.plan.buffer(tensor).offset(0, self.epoch) + t * bytes.len();
        self.device.read(&self.buffers[self.plan.tensors[tensor]], first, &mut bytes)?;
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
        let first = self.plan.buffer(tensor).offset(0, self.epoch);
        self.device.read(&self.buffers[self.plan.tensors[tensor]], first, &mut bytes)?;
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
}

/// Whether compute-sanitizer has put its library into this process, under which a step takes far longer.
fn is_sanitized() -> bool {
    std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("libsanitizer"))
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Memory may not be freed under a running kernel. If it does not end, the driver ends it with the process.
        let _ = self.end();
    }
}
